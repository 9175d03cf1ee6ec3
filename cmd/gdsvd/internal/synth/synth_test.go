package synth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	m.Run()
}

type rating struct {
	user, item int
	value      float64
	time       int64
}

var linePattern = regexp.MustCompile(`^([1-9][0-9]*)::([1-9][0-9]*)::([1-5]|[0-4]\.5)::([1-9][0-9]{8,9})$`)

// parse parses a ratings file and fails on any deviation from the format.
func parse(t interface{ Fatalf(string, ...any) }, text string) []rating {
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] != "" {
		t.Fatalf("the last line is not ended")
	}
	var all []rating
	for i, line := range lines[:len(lines)-1] {
		m := linePattern.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d: %q", i+1, line)
		}
		var r rating
		r.user, _ = strconv.Atoi(m[1])
		r.item, _ = strconv.Atoi(m[2])
		r.value, _ = strconv.ParseFloat(m[3], 64)
		r.time, _ = strconv.ParseInt(m[4], 10, 64)
		all = append(all, r)
	}
	return all
}

// matrix returns ratings as a dense matrix with rows and columns in the order of the ids.
func matrix(t *testing.T, all []rating) *mat.Dense {
	users, items := map[int]int{}, map[int]int{}
	for _, r := range all {
		users[r.user], items[r.item] = 0, 0
	}
	for _, ids := range []map[int]int{users, items} {
		var sorted []int
		for id := range ids {
			sorted = append(sorted, id)
		}
		slices.Sort(sorted)
		for i, id := range sorted {
			ids[id] = i
		}
	}
	a := mat.NewDense(len(users), len(items), nil)
	for _, r := range all {
		if a.At(users[r.user], items[r.item]) != 0 {
			t.Fatalf("user %d rates item %d twice", r.user, r.item)
		}
		a.Set(users[r.user], items[r.item], r.value)
	}
	return a
}

// TestKroneckerTruth: a dense decomposition of the written file has the values that Singular returns.
func TestKroneckerTruth(t *testing.T) {
	for seed := range uint64(3) {
		k := NewKronecker(12, 11, seed)
		var text bytes.Buffer
		must.Do(t, k.WriteRatings(&text))
		all := parse(t, text.String())
		if len(all) != k.NNZ() {
			t.Errorf("seed %d: %d lines, NNZ %d", seed, len(all), k.NNZ())
		}
		a := matrix(t, all)
		r, c := a.Dims()
		if users, items := k.Dims(); r != users || c != items {
			t.Fatalf("seed %d: a %d×%d matrix, want %d×%d", seed, r, c, users, items)
		}
		want := dense(a)
		got := k.Singular(math.MaxInt)
		if len(got) > len(want) {
			t.Fatalf("seed %d: %d values, want at most %d", seed, len(got), len(want))
		}
		// The factors may have fewer values than the matrix; the others are zeros.
		got = append(got, make([]float64, len(want)-len(got))...)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*want[0] {
				t.Errorf("seed %d: value %d is %v, want %v", seed, i, got[i], want[i])
			}
		}
	}
}

func TestSingularIsCut(t *testing.T) {
	k := NewKronecker(12, 11, 1)
	if all, few := k.Singular(1000), k.Singular(5); len(few) != 5 || !slices.Equal(few, all[:5]) {
		t.Errorf("the 5 largest are %v, of all %v", few, all[:5])
	}
}

func write(t interface{ Fatalf(string, ...any) }, g Ratings) string {
	var text bytes.Buffer
	if err := g.Write(context.Background(), &text, nil); err != nil {
		t.Fatalf("%v", err)
	}
	return text.String()
}

func TestRatingsHaveTheWantedShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		users := rapid.IntRange(1, 30).Draw(t, "users")
		items := rapid.IntRange(MinPerUser, 120).Draw(t, "items")
		least := max(users*MinPerUser, items)
		if least > users*items {
			t.Skip("not enough places")
		}
		n := rapid.IntRange(least, users*items).Draw(t, "ratings")
		g := Ratings{Users: users, Items: items, Ratings: int64(n), Seed: rapid.Uint64().Draw(t, "seed")}
		all := parse(t, write(t, g))
		if len(all) != n {
			t.Fatalf("%d ratings, want %d", len(all), n)
		}
		perUser, seen := map[int]int{}, map[int]bool{}
		for i, r := range all {
			perUser[r.user]++
			seen[r.item] = true
			if i == 0 {
				continue
			}
			p := all[i-1]
			if r.user < p.user || r.user == p.user && r.item <= p.item {
				t.Fatalf("line %d is out of order: %v after %v", i+1, r, p)
			}
		}
		if len(perUser) != users || len(seen) != items {
			t.Fatalf("%d users and %d items, want %d and %d", len(perUser), len(seen), users, items)
		}
		for u, n := range perUser {
			if n < MinPerUser {
				t.Fatalf("user %d has %d ratings", u, n)
			}
		}
	})
}

// TestRatingsLookReal compares statistics with those of MovieLens 10M: share of half stars, skew, mean and deviation.
func TestRatingsLookReal(t *testing.T) {
	g := Ratings{Users: 2000, Items: 2000, Ratings: 280000, Seed: 7}
	all := parse(t, write(t, g))
	perUser, perItem := map[int]int{}, map[int]int{}
	var sum, squares float64
	half := 0
	for _, r := range all {
		perUser[r.user]++
		perItem[r.item]++
		sum += r.value
		squares += r.value * r.value
		if r.value != math.Trunc(r.value) {
			half++
		}
	}
	n := float64(len(all))
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	within := func(name string, x, low, high float64) {
		if !(x >= low && x <= high) {
			t.Errorf("%s is %v, want between %v and %v", name, x, low, high)
		}
	}
	within("mean", mean, 3.3, 3.7)
	within("deviation", deviation, 0.9, 1.2)
	within("share of half stars", float64(half)/n, 0.1, 0.35)
	within("median of a user's ratings over the mean", median(perUser)/(n/float64(g.Users)), 0.3, 0.7)
	within("median of an item's ratings over the mean", median(perItem)/(n/float64(g.Items)), 0.1, 0.5)
	within("largest user id", float64(all[len(all)-1].user), float64(g.Users), 1.1*float64(g.Users))
}

func median(counts map[int]int) float64 {
	var all []int
	for _, n := range counts {
		all = append(all, n)
	}
	slices.Sort(all)
	return float64(all[len(all)/2])
}

func TestSameSeedSameBytes(t *testing.T) {
	g := Ratings{Users: 100, Items: 50, Ratings: 3000, Seed: 1}
	other := g
	other.Seed = 2
	first, again := write(t, g), write(t, g)
	if first != again {
		t.Error("the same seed gives different files")
	}
	if first == write(t, other) {
		t.Error("different seeds give the same file")
	}
}

func TestMovieLens10MIds(t *testing.T) {
	g := MovieLens10M(0)
	must.Do(t, g.Validate())
	users, items := spreadIDs(g.Users, 71567./69878, 1), spreadIDs(g.Items, 65133./10677, 8)
	if users(0) != 1 || users(g.Users-1) != 71567 || items(0) != 1 || items(g.Items-1) != 65133 {
		t.Errorf("ids go from %d to %d and from %d to %d", users(0), users(g.Users-1), items(0), items(g.Items-1))
	}
}

func TestImpossibleRatings(t *testing.T) {
	for _, c := range []struct {
		g    Ratings
		want string
	}{
		{Ratings{Users: 0, Items: 100, Ratings: 100}, "at least"},
		{Ratings{Users: 1, Items: 19, Ratings: 19}, "at least"},
		{Ratings{Users: 10, Items: 100, Ratings: 199}, "too few"},
		{Ratings{Users: 1, Items: 100, Ratings: 99}, "too few"},
		{Ratings{Users: 10, Items: 100, Ratings: 1001}, "more than"},
		{Ratings{Users: 1 << 31, Items: 100, Ratings: 1 << 40}, "at most"},
	} {
		err := c.g.Write(context.Background(), &bytes.Buffer{}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q in it", c.g, err, c.want)
		}
	}
}

type fullWriter struct{ left int }

var errFull = errors.New("full")

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteStops(t *testing.T) {
	g := Ratings{Users: 3000, Items: 200, Ratings: 100000, Seed: 1}
	if err := g.Write(context.Background(), &fullWriter{left: 1 << 18}, nil); !errors.Is(err, errFull) {
		t.Errorf("error %v, want the writer's", err)
	}
	if err := NewKronecker(12, 11, 1).WriteRatings(&fullWriter{left: 1 << 12}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want the writer's", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var last int64
	err := g.Write(ctx, &bytes.Buffer{}, func(done int64) { last = done; cancel() })
	if !errors.Is(err, context.Canceled) || last == 0 || last == g.Ratings {
		t.Errorf("error %v after %d ratings, want a cancelled file", err, last)
	}
}

func TestAliasTable(t *testing.T) {
	weight := []float64{0.5, 0, 0.25, 0.125, 0.125}
	table := newAliasTable(weight)
	// The probabilities that the table implies are the weights.
	got := make([]float64, len(weight))
	for i, c := range table {
		got[i] += c.keep / float64(len(weight))
		got[c.other] += (1 - c.keep) / float64(len(weight))
	}
	for i := range weight {
		if math.Abs(got[i]-weight[i]) > 1e-15 {
			t.Errorf("index %d has probability %v, want %v", i, got[i], weight[i])
		}
	}
}

func BenchmarkRatings(b *testing.B) {
	g := Ratings{Users: 7000, Items: 4000, Ratings: 1000000, Seed: 7}
	for b.Loop() {
		must.Do(b, g.Write(context.Background(), io.Discard, nil))
	}
	b.ReportMetric(float64(b.N)*float64(g.Ratings)/b.Elapsed().Seconds(), "ratings/s")
}

func Example() {
	k := NewKronecker(12, 11, 1)
	users, items := k.Dims()
	fmt.Println(users, items, len(k.Singular(3)))
	// Output: 288 176 3
}
