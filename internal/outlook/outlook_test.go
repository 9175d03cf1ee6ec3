package outlook

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
)

// recorded reads the passes of a recorded run: locked and open triplets and residuals, as gdsvd svd
// writes them to events.jsonl. Every pass takes a second, with some noise.
func recorded(t *testing.T, name string) (all []Moment) {
	t.Helper()
	f := must.Get(os.Open(filepath.Join("testdata", name+".txt")))(t)
	defer f.Close()
	elapsed := time.Duration(0)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "#") {
			continue
		}
		m, phase := Moment{Tol: 1e-8}, ""
		must.Get(fmt.Sscan(sc.Text(), &phase, &m.Pass, &m.Locked, &m.Open, &m.Residual))(t)
		elapsed += time.Second + time.Duration(m.Pass*37%11-5)*20*time.Millisecond
		m.Elapsed, m.Finished = elapsed, phase == "f"
		m.More = m.Open == 0 && !m.Finished
		all = append(all, m)
	}
	for i := range all {
		all[i].Rank = all[len(all)-1].Locked
	}
	return all
}

// recordings lists runs of several methods, and how far the done share may be from the true one.
// Hidden copies of a value cannot be foreseen: a run can allow for them only once they are found.
var recordings = []struct {
	name        string
	superlinear bool
	off         float64
}{
	{"k4", true, 0.25}, {"k1", true, 0.25}, {"k50", true, 0.25}, {"mn50", true, 0.25}, {"slash", true, 0.25},
	{"repeated", true, 0.5}, {"b20", false, 0.25}, {"bnarrow", false, 0.25}, {"decay", false, 0.25},
	{"gd", false, 0.25}, {"nes", false, 0.25}, {"polyak", false, 0.25},
}

// TestIterationOnRecordings checks on recorded runs that the done share never falls, never exceeds
// 1, and is near the truth, and that the time left mostly is, too, for right and wrong
// expectations.
func TestIterationOnRecordings(t *testing.T) {
	for _, r := range recordings {
		all := recorded(t, r.name)
		total := all[len(all)-1].Elapsed.Seconds()
		for _, factor := range []float64{0.6, 1, 1.7} { // ratio of the expected to the true number of passes
			t.Run(fmt.Sprintf("%s expecting %g", r.name, factor), func(t *testing.T) {
				it := Iteration{Expected: factor * float64(len(all)-1), Superlinear: r.superlinear, Finish: onePass}
				before := 0.0
				var errors []float64 // errors of the time left in the second half, relative to the whole
				for _, m := range all {
					o := it.Observe(m)
					if !(o.Done >= before && o.Done <= 1) {
						t.Fatalf("pass %d: %v is done after %v", m.Pass, o.Done, before)
					}
					before = o.Done
					truth := m.Elapsed.Seconds() / total
					left := total - m.Elapsed.Seconds()
					t.Logf("pass %d: %.2f done, really %.2f; %v left, really %.0f s", m.Pass, o.Done, truth, o.Left.Round(time.Second), left)
					if math.Abs(o.Done-truth) > r.off {
						t.Errorf("pass %d: %.2f is done, really %.2f", m.Pass, o.Done, truth)
					}
					if truth > 0.5 && o.Left > 0 {
						errors = append(errors, math.Abs(o.Left.Seconds()-left)/total)
					}
				}
				if slices.Sort(errors); len(errors) == 0 || errors[len(errors)/2] > 0.35 {
					t.Errorf("in the second half the time left is off by these parts of the whole: %.2f", errors)
				}
				if before < 0.99 {
					t.Errorf("in the end %.2f is done", before)
				}
			})
		}
	}
}

// TestOneByOne checks, for methods that find one triplet after the other, that from a fifth of the run on the
// time left is within a factor of two or not given, and that it is given for part of the run.
func TestOneByOne(t *testing.T) {
	for _, name := range []string{"gd", "nes", "polyak", "gd4"} {
		all := recorded(t, name)
		total := all[len(all)-1].Elapsed.Seconds()
		for _, factor := range []float64{0, 0.1, 0.6, 1, 1.7} {
			it := Iteration{Expected: factor * float64(len(all)-1), Finish: onePass}
			told, wrong := 0, 0
			for _, m := range all {
				o := it.Observe(m)
				left := total - m.Elapsed.Seconds()
				if m.Elapsed.Seconds() < 0.2*total || o.Left == 0 {
					continue
				}
				told++
				few := 0.03 * total // of the last passes the error may be larger
				if said := o.Left.Seconds(); said > 2*left+few || left > 2*said+few {
					wrong++
					if wrong < 4 {
						t.Errorf("%s, expecting %g: pass %d: %v left, really %.0f s", name, factor, m.Pass, o.Left.Round(time.Second), left)
					}
				}
			}
			t.Logf("%s, expecting %g: told at %d of %d passes, %d wrong", name, factor, told, len(all), wrong)
			if told == 0 {
				t.Errorf("%s, expecting %g: never told", name, factor)
			}
		}
	}
}

func onePass(pass time.Duration) time.Duration { return pass }

// falling returns the moments of a run of k triplets in one stage, whose passes take a second and
// gain a tenth of a digit each.
func falling(passes, k int) (all []Moment) {
	for p := 1; p <= passes; p++ {
		all = append(all, Moment{
			Pass: p, Elapsed: time.Duration(p) * time.Second, Rank: k, Open: k, Residual: math.Pow(10, -float64(p)/10), Tol: 1e-8,
		})
	}
	return all
}

// TestIterationOfOthers checks that the done share grows with every pass of a search for further
// triplets, and that the time left is given.
func TestIterationOfOthers(t *testing.T) {
	it := Iteration{Expected: 40, Finish: onePass}
	all := falling(40, 5)
	for i := range all {
		all[i].Tol = 1e-4
	}
	last := &all[len(all)-1]
	last.Locked, last.More = 5, true
	o := observe(&it, all)
	const passes = 12
	for p := 1; p <= passes; p++ {
		m := Moment{Pass: 40 + p, Elapsed: time.Duration(40+p) * time.Second, Rank: 5, Locked: 5, More: p < passes, Tol: 0.01}
		m.Residual = math.Pow(m.Tol, float64(p)/passes)
		before := o
		o = it.Observe(m)
		if p < passes && (!(o.Done > before.Done) || o.Left == 0) {
			t.Errorf("pass %d: %+v after %+v", p, o, before)
		}
		if left := time.Duration(passes-p+1) * time.Second; p > 5 && (o.Left-left).Abs() > 2*time.Second {
			t.Errorf("pass %d: %v left, want %v", p, o.Left, left)
		}
	}
}

// observe returns the last Outlook.
func observe(it *Iteration, all []Moment) (o Outlook) {
	for _, m := range all {
		o = it.Observe(m)
	}
	return o
}

func TestIterationLimits(t *testing.T) {
	for name, c := range map[string]struct {
		it   Iteration
		all  []Moment
		left time.Duration
	}{
		"no limit":              {Iteration{Finish: onePass}, falling(40, 5), 41 * time.Second},
		"passes":                {Iteration{Finish: onePass, MaxPasses: 51}, falling(40, 5), 11 * time.Second},
		"time":                  {Iteration{Finish: onePass, Deadline: time.Minute}, falling(40, 5), 21 * time.Second},
		"time is over":          {Iteration{Finish: onePass, Deadline: time.Minute}, falling(70, 5), time.Second},
		"time of a resumed run": {Iteration{Finish: onePass, Deadline: 30 * time.Second}, falling(40, 5)[20:], 12 * time.Second},
		"too early":             {Iteration{Expected: 80, Finish: onePass}, falling(1, 5), 0},
		"nothing is known":      {Iteration{Blind: true, Finish: onePass}, falling(40, 5), 0},
		"expected only":         {Iteration{Blind: true, Expected: 100, Finish: onePass}, falling(2, 5), 0},
	} {
		o := observe(&c.it, c.all)
		if name == "expected only" {
			if o.Left < 50*time.Second || o.Left > 200*time.Second {
				t.Errorf("%s: %v left", name, o.Left)
			}
			continue
		}
		if d := o.Left - c.left; d.Abs() > 1500*time.Millisecond {
			t.Errorf("%s: %v left, want %v", name, o.Left, c.left)
		}
	}
}

// TestIterationNeverFalls checks that the done share never falls and is between 0 and 1, for random moments.
func TestIterationNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := Iteration{
			Expected: rapid.Float64Range(0, 100).Draw(t, "expected"), Superlinear: rapid.Bool().Draw(t, "superlinear"),
			Blind: rapid.Bool().Draw(t, "blind"), MaxPasses: rapid.IntRange(0, 50).Draw(t, "limit"), Finish: onePass,
		}
		rank := rapid.IntRange(1, 9).Draw(t, "rank")
		m := Moment{Rank: rank, Pass: rapid.IntRange(0, 5).Draw(t, "from")}
		before := 0.0
		for range rapid.IntRange(1, 40).Draw(t, "passes") {
			m.Pass++
			m.Elapsed += time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond
			m.Locked, m.Open = rapid.IntRange(0, rank).Draw(t, "locked"), rapid.IntRange(0, rank).Draw(t, "open")
			m.Residual = rapid.SampledFrom([]float64{0, 1e-300, 1e-9, 1e-4, 0.5, 1, 7, math.Inf(1), math.NaN()}).Draw(t, "residual")
			m.Tol = rapid.SampledFrom([]float64{1e-15, 1e-8, 0.5, 0.999}).Draw(t, "tol")
			m.More = rapid.Bool().Draw(t, "more")
			m.Finished = rapid.IntRange(0, 9).Draw(t, "finished") == 0
			o := it.Observe(m)
			if !(o.Done >= before && o.Done <= 1) || o.Left < 0 {
				t.Fatalf("%+v: %+v after %v", m, o, before)
			}
			before = o.Done
		}
	})
}

func TestAtRate(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		elapsed     time.Duration
		want        time.Duration
	}{
		{50, 100, 10 * time.Second, 10 * time.Second},
		{1, 4, 10 * time.Second, 30 * time.Second},
		{50, 100, time.Second, 0},               // too early
		{0, 100, time.Minute, 0},                // no rate is known
		{100, 100, time.Minute, 0},              // done
		{150, 100, time.Minute, 0},              // more done than the total
		{50, 0, time.Minute, 0},                 // total unknown
		{1, math.MaxInt64, 10 * time.Second, 0}, // longer than a Duration holds
		{1, 1000, 10 * time.Second, 9990 * time.Second},
	} {
		if got := AtRate(c.done, c.total, c.elapsed); got != c.want {
			t.Errorf("AtRate(%d, %d, %v) = %v, want %v", c.done, c.total, c.elapsed, got, c.want)
		}
	}
}
