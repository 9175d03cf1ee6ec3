package simd

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
	"pgregory.net/rapid"
)

func needVectors(t *testing.T) {
	t.Helper()
	if cpu.Best() < cpu.AVX2 {
		t.Skip("no vectors on this machine, or in this build")
	}
}

// guard fills the elements that Lines must not write.
const guard = -77

// want returns the result that the documentation of Lines demands, by a regular expression.
func want(text, sep string, stamp bool, room int) (taken int, users, items []int64, vals []float64) {
	const id = `(0|[1-9][0-9]{0,7})`
	q := regexp.QuoteMeta(sep)
	form := `^` + id + q + id + q + `([0-9]{1,8}(?:\.[0-9]{1,7})?)`
	if stamp {
		form += q + `(0|[1-9][0-9]{0,15})`
	}
	line := regexp.MustCompile(form + `\r?\n`)
	for len(users) < room && len(text)-taken >= Margin {
		m := line.FindStringSubmatch(text[taken:])
		if m == nil {
			break
		}
		taken += len(m[0])
		user, _ := strconv.ParseInt(m[1], 10, 64)
		item, _ := strconv.ParseInt(m[2], 10, 64)
		val, _ := strconv.ParseFloat(m[3], 64)
		users, items, vals = append(users, user), append(items, item), append(vals, val)
	}
	return taken, users, items, vals
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func check(t fataler, text, sep string, stamp bool, room int) {
	t.Helper()
	taken, users, items, vals := want(text, sep, stamp, room)
	gotUsers, gotItems := slices.Repeat([]int64{guard}, room+2), slices.Repeat([]int64{guard}, room+2)
	gotVals := slices.Repeat([]float64{guard}, room+2)
	n, lines := Lines([]byte(text), sep, stamp, gotUsers[1:1+room], gotItems[1:1+room], gotVals[1:1+room])
	if n != taken || lines != len(users) {
		t.Fatalf("took %d bytes and %d lines, not %d and %d, of %q", n, lines, taken, len(users), text)
	}
	same := func(got, want []int64) bool {
		return got[0] == guard && slices.Equal(got[1:1+lines], want) && !slices.ContainsFunc(got[1+lines:], func(x int64) bool { return x != guard })
	}
	bits := func(v []float64) (b []int64) {
		for _, x := range v {
			b = append(b, int64(math.Float64bits(x)))
		}
		return b
	}
	wantGuard := int64(math.Float64bits(guard))
	gotBits := bits(gotVals)
	for i, b := range gotBits {
		if b == wantGuard {
			gotBits[i] = guard
		}
	}
	if !same(gotUsers, users) || !same(gotItems, items) || !same(gotBits, bits(vals)) {
		t.Fatalf("%q gives\n%v\n%v\n%v", text, gotUsers, gotItems, gotVals)
	}
}

// TestLines compares fields of all lengths with want.
func TestLines(t *testing.T) {
	needVectors(t)
	number := func(n int) string { return "12345678901234567"[:n] }
	for _, sep := range []string{"1", "a1", "1a"} {
		text := strings.Repeat(strings.Join([]string{"12", "3", "4"}, sep)+"\n", 30)
		if n, _ := Lines([]byte(text), sep, false, make([]int64, 9), make([]int64, 9), make([]float64, 9)); n != 0 {
			t.Errorf("took lines separated by digits, %q", sep)
		}
	}
	for user := range 10 {
		for item := range 10 {
			check(t, strings.Repeat(number(user)+","+number(item)+",5\n", 30), ",", false, 40)
		}
		for part := range 9 {
			check(t, strings.Repeat("1,2,"+number(user)+"."+number(part)+"\n", 30), ",", false, 40)
			check(t, strings.Repeat("1,2,"+number(user)+number(part)+"\r\n", 30), ",", false, 40)
		}
		for stamp := range 18 {
			check(t, strings.Repeat("1::2::0."+number(user)+"::"+number(stamp)+"\n", 30), "::", true, 40)
		}
	}
}

// TestLinesAnything compares random lines, some of them malformed, with want, for any number of lines to take.
func TestLinesAnything(t *testing.T) {
	needVectors(t)
	field := rapid.OneOf(
		rapid.StringMatching(`[1-9][0-9]{0,8}`), rapid.StringMatching(`[0-9]{1,9}\.[0-9]{1,8}`),
		rapid.SampledFrom([]string{"", "0", "00", "012345678", "-1", "+2", "5.", ".5", "1e3", " 1", "1 ", "x", "1\r", ":", "1\x00", "1/", "\xb12"}))
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.SampledFrom([]string{"::", ",", "\t", "ab", "\r,"}).Draw(t, "sep")
		stamp := rapid.Bool().Draw(t, "stamp")
		var text strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			n := 3
			if stamp {
				n++
			}
			if rapid.IntRange(0, 30).Draw(t, "miscount") == 0 {
				n = rapid.IntRange(0, 6).Draw(t, "fields")
			}
			for i := range n {
				if i > 0 {
					text.WriteString(sep)
				}
				if rapid.IntRange(0, 30).Draw(t, "odd") > 0 {
					text.WriteString(strconv.Itoa(rapid.IntRange(0, 99999).Draw(t, "n")))
				} else {
					text.WriteString(field.Draw(t, "field"))
				}
			}
			text.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"}).Draw(t, "end"))
		}
		check(t, text.String(), sep, stamp, rapid.IntRange(0, 40).Draw(t, "room"))
	})
}

// FuzzLines does as TestLinesAnything for any bytes.
func FuzzLines(f *testing.F) {
	f.Add(strings.Repeat("1::2::3.5::978300760\n", 8), true, true)
	f.Add(strings.Repeat("12,34567,3.25\r\n", 8), false, false)
	f.Fuzz(func(t *testing.T, text string, two, stamp bool) {
		needVectors(t)
		sep := ","
		if two {
			sep = "::"
		}
		check(t, text, sep, stamp, len(text)/4)
	})
}

func BenchmarkLines(b *testing.B) {
	text := []byte(strings.Repeat("71567::65133::3.5::1231131736\n1::122::5::838985046\n4312::1385::3::939979507\n15431::122::4::1035979507\n", 2500))
	users, items, vals := make([]int64, 1<<14), make([]int64, 1<<14), make([]float64, 1<<14)
	n := 0
	for b.Loop() {
		if _, n = Lines(text, "::", true, users, items, vals); n == 0 {
			b.Skip("no vectors")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
}
