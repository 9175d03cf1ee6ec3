package cost_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// machine returns a fixed table that no calibration changes: 2 GB/s, two workers.
func machine() cost.Machine {
	return cost.Machine{
		Workers: 2, Bandwidth: 2e9, Decode: 2, Sum: 3,
		Columns: []float64{1024, 1 << 20}, Widths: []float64{1, 4, 16, 64},
		Multiply: [][]float64{{2, 3, 6, 24}, {10, 15, 30, 120}},
		Dense:    []float64{1, 0.5, 0.3, 0.2},
	}
}

// problem returns the Problem of a run on a store with 1.5 bytes per entry.
func problem(i solver.Info, s solver.Settings) cost.Problem {
	return cost.Problem{Workload: s.Workload(i), Rows: i.Rows, Columns: int64(i.Cols), NNZ: i.NNZ, Encoded: i.NNZ * 3 / 2, Methods: all.Methods()}
}

// decoded returns the bytes of the decoded matrix in memory.
func decoded(p cost.Problem) int64 { return 12 * p.NNZ }

// problems calls each with 300 problems of random shapes, from seeds.
func problems(t *testing.T, each func(p cost.Problem, r *rand.Rand)) {
	t.Helper()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + int64(math.Pow(10, 7*r.Float64()))
		rows := n + int64(math.Pow(10, 8*r.Float64()))
		i := solver.Info{Rows: rows, Cols: int(n), NNZ: int64(float64(rows) * math.Min(float64(n), 1+200*r.Float64()))}
		each(problem(i, solver.Settings{Rank: 1 + r.IntN(int(min(n, 300)))}), r)
	}
}

// room returns a Room with the given bytes for vectors and decoded entries.
func room(p cost.Problem, bytes int64) func(method.Method) cost.Room {
	return func(m method.Method) cost.Room {
		left := bytes - m.Traits(p.Rank).Footprint(int(p.Columns))
		return cost.Room{Fits: left >= 0, Resident: min(1, max(0, float64(left)/float64(max(1, decoded(p)))))}
	}
}

// nothingKept is the Room of passes that read all of the store from disk.
func nothingKept(method.Method) cost.Room { return cost.Room{Fits: true} }

func width(p cost.Problem, m method.Method) int { return m.Traits(p.Rank).Width(p.Rank) }

// TestChoiceIsTheTables checks that the choice is that of the table if everything fits in memory.
func TestChoiceIsTheTables(t *testing.T) {
	problems(t, func(p cost.Problem, r *rand.Rand) {
		want := cost.Choose(p)
		if want.Method != want.Table || want.Why != cost.ByTable || !want.Fits {
			t.Fatalf("%+v: %+v", p, want)
		}
		p.Room = room(p, 1<<62)
		if got := cost.Choose(p); got.Method != want.Method || got.Why != want.Why {
			t.Errorf("%+v: %+v by %v, want %+v", p, got.Method, got.Why, want.Method)
		}
	})
}

// TestChoiceIsCoarse checks that neither the page cache nor the share of a matrix that stays
// decoded, if it is below 1, changes the choice.
func TestChoiceIsCoarse(t *testing.T) {
	problems(t, func(p cost.Problem, r *rand.Rand) {
		p.Room = nothingKept
		want := cost.Choose(p)
		some := cost.Room{Fits: true, Resident: 0.99 * r.Float64(), Cached: r.IntN(2) == 0}
		p.Room = func(method.Method) cost.Room { return some }
		if got := cost.Choose(p); got.Method != want.Method {
			t.Errorf("%+v, %+v: %+v, want %+v", p, some, got.Method, want.Method)
		}
	})
}

// TestChoiceFits checks that Fits tells whether the vectors of the choice fit, and that otherwise no method fits or needs less.
func TestChoiceFits(t *testing.T) {
	problems(t, func(p cost.Problem, r *rand.Rand) {
		vectors := func(c cost.Choice) int64 { return c.Method.Traits(p.Rank).Footprint(int(p.Columns)) }
		last := int64(math.MaxInt64)
		for bytes := int64(1) << 50; bytes > 64; bytes /= 2 {
			q := p
			q.Room = room(p, bytes)
			c := cost.Choose(q)
			need := vectors(c)
			if c.Vectors != need || c.Fits != (need <= bytes) {
				t.Fatalf("%+v with %d bytes: %+v needs %d, estimate %+v", p, bytes, c.Method, need, c.Estimate)
			}
			if need > last && 2*bytes < decoded(p) { // if the decoded matrix fits, blocks are narrower
				t.Errorf("%+v: with %d bytes %+v needs %d, with twice as many the choice needs %d", p, bytes, c.Method, need, last)
			}
			if c.Fits && (c.Why == cost.ByMemory) != (c.Method != c.Table) {
				t.Errorf("%+v with %d bytes: %+v by %v, the table has %+v", p, bytes, c.Method, c.Why, c.Table)
			}
			last = need
			if !c.Fits {
				for _, e := range c.Considered {
					if e.Fits || e.Vectors < c.Vectors {
						t.Errorf("%+v with %d bytes: %+v is refused, and %+v is there", p, bytes, c.Estimate, e)
					}
				}
			}
		}
	})
}

// TestSlowerDiskIsNeverMorePasses checks that a slower disk never gives more passes, and for at least 100 problems gives fewer.
func TestSlowerDiskIsNeverMorePasses(t *testing.T) {
	fewer := 0
	problems(t, func(p cost.Problem, r *rand.Rand) {
		p.Room = nothingKept
		first, last := 0, 0
		for rate := 1e10; rate > 1e4; rate /= 3 {
			here := machine()
			here.Bandwidth = rate
			here.Decode = 0
			e := cost.Estimates(p, here)[0]
			if first == 0 {
				first, last = e.Passes, e.Passes
			}
			if e.Passes > last {
				t.Errorf("%+v: %d passes at %g bytes a second, %d on a faster disk", p, e.Passes, rate, last)
			}
			last = e.Passes
		}
		if last < first {
			fewer++
		}
	})
	if fewer < 100 {
		t.Errorf("the disk makes a difference to %d problems only: the test does not test", fewer)
	}
}

// TestPageCacheIsNoDisk checks that only the first pass waits for the disk if the store stays in the page cache.
func TestPageCacheIsNoDisk(t *testing.T) {
	problems(t, func(p cost.Problem, r *rand.Rand) {
		p.Room = func(method.Method) cost.Room { return cost.Room{Fits: true, Cached: true} }
		slow, fast := machine(), machine()
		slow.Bandwidth, fast.Bandwidth = math.Pow(10, 5+4*r.Float64()), 0
		once := time.Duration(float64(p.Encoded) / slow.Bandwidth * float64(time.Second))
		for _, e := range cost.Estimates(p, slow) {
			without := cost.EstimateOf(p, fast, e.Method)
			if extra := e.Total - without.Total; extra < 0 || extra > once+time.Microsecond {
				t.Errorf("%+v: %+v takes %v more at %g bytes a second, one pass %v", p, e.Method, extra, slow.Bandwidth, once)
			}
		}
	})
}

// TestAdjusted checks that adjusting to the rates of the table itself changes nothing, and that
// measured rates twice as slow at some widths make the table twice as slow there.
func TestAdjusted(t *testing.T) {
	m := machine()
	same := m.Adjusted(1024, []int{1, 4, 16}, []float64{2, 3, 6})
	if !reflect.DeepEqual(same, m) {
		t.Errorf("adjusted to itself: %+v, want %+v", same, m)
	}
	slow := m.Adjusted(1024, []int{4, 16}, []float64{3, 12})
	for j, want := range []float64{2, 3, 12, 48} {
		if got := slow.Multiply[0][j]; math.Abs(got-want) > 1e-12*want {
			t.Errorf("width %v: %v, want %v", m.Widths[j], got, want)
		}
	}
	if got, want := slow.Dense[0], m.Dense[0]*math.Pow(2, 0.25); math.Abs(got-want) > 1e-12*want {
		t.Errorf("dense work %v, want %v", got, want)
	}
}

// TestFinishIsMultipliedInStrips checks that a finishing pass multiplies strips of 16 columns if the matrix stays
// decoded, else all together.
func TestFinishIsMultipliedInStrips(t *testing.T) {
	p := problem(solver.Info{Rows: 6000, Cols: 1024, NNZ: 1e6}, solver.Settings{Rank: 64})
	at := func(wide float64, r cost.Room) time.Duration {
		m := machine()
		m.Multiply[0][3] = wide
		p.Room = func(method.Method) cost.Room { return r }
		return cost.EstimateOf(p, m, lanczos.Krylov{Columns: 4}).Multiply
	}
	decoded := cost.Room{Fits: true, Resident: 1}
	if a, b := at(24, decoded), at(240, decoded); a != b {
		t.Errorf("64 columns together cost ten times as much: %v instead of %v", b, a)
	}
	if a, b := at(24, decoded), at(12, decoded); a-b < 5*time.Millisecond {
		t.Errorf("64 columns together cost half as much: %v instead of %v", b, a)
	}
	if a, b := at(24, nothingKept(nil)), at(240, nothingKept(nil)); b-a < 100*time.Millisecond {
		t.Errorf("64 columns together cost ten times as much: %v instead of %v", b, a)
	}
}

func TestChoiceBySpecialRules(t *testing.T) {
	i := solver.Info{Rows: 6000, Cols: 4000, NNZ: 1e6}
	p := problem(i, solver.Settings{Rank: 10})
	if c := cost.Choose(problem(i, solver.Settings{Rank: 10, Stop: solver.StopPaper})); c.Method != (gd.Descent{}) || c.Why != cost.ByRule {
		t.Errorf("the paper's rule: %+v by %v", c.Method, c.Why)
	}
	if c := cost.Choose(problem(i, solver.Settings{Rank: 10, Operator: solver.Dilation})); !c.Method.Traits(1).Indefinite {
		t.Errorf("the dilation: %+v", c.Method)
	}
	narrow := p
	narrow.MaxWidth = 1
	for _, e := range cost.Choose(narrow).Considered {
		if w := width(p, e.Method); w > 1 {
			t.Errorf("%+v has %d columns, 1 is possible", e.Method, w)
		}
	}
	for _, e := range cost.Choose(p).Considered {
		if e.Passes < 2 || e.Total <= 0 || e.Total > 24*time.Hour || e.Products < int64(p.Rank) {
			t.Errorf("estimate %+v", e)
		}
	}
}

// TestChoiceIsTheFastest checks that the choice, if no pass reads the disk, has the narrowest block of all methods
// within 1/20 of the fastest time and is the fastest of that width, and that the finishing pass counts all vectors.
func TestChoiceIsTheFastest(t *testing.T) {
	problems(t, func(p cost.Problem, _ *rand.Rand) {
		c := cost.Choose(p)
		fastest := c.Considered[0].Total
		if c.Total > fastest*21/20+1 {
			t.Errorf("%+v: %+v was chosen, which takes %v, the fastest %v", p, c.Method, c.Total, fastest)
		}
		for _, e := range c.Considered {
			if a, b := width(p, e.Method), width(p, c.Method); e.Total < fastest*21/20 && a < b || e.Total < c.Total && a <= b {
				t.Errorf("%+v: %+v takes %v, %+v was chosen, which takes %v", p, e.Method, e.Total, c.Method, c.Total)
			}
		}
		narrow := p
		narrow.Rows = 0
		if e := cost.EstimateOf(narrow, cost.Reference(), c.Method); e.Multiply > c.Multiply || e.Multiply == c.Multiply && p.Rank > 20 && p.Rows > 1e6 {
			t.Errorf("%+v: %v, without rows of left vectors %v", p, c.Multiply, e.Multiply)
		}
	})
	p := problem(solver.Info{Rows: 6000, Cols: 4000, NNZ: 1e6}, solver.Settings{Rank: 200})
	if e := cost.EstimateOf(p, machine(), lanczos.Krylov{Columns: 8, Basis: 432}); e.Products != 8*int64(e.Passes-1)+200 {
		t.Errorf("%d products in %d passes", e.Products, e.Passes)
	}
}

// TestCostOfPasses checks that the fixed costs of passes and columns are part of every estimate and make blocks wider.
func TestCostOfPasses(t *testing.T) {
	p := cost.Problem{Workload: solver.Settings{Rank: 20, Tol: 1e-8}.Workload(solver.Info{Rows: 100000, Cols: 5000, NNZ: 3e6}), Columns: 5000, NNZ: 3e6, Methods: all.Methods()}
	free := cost.Choose(p)
	p.Pass, p.Column = 10, 0.25
	dear := cost.Choose(p)
	if dear.Passes >= free.Passes || free.Beside != 0 {
		t.Errorf("%d passes, and %d where they are dear", free.Passes, dear.Passes)
	}
	if want := 10*float64(dear.Passes) + 0.25*float64(dear.Products); math.Abs(dear.Beside.Seconds()-want) > 1e-6*want || dear.Total < dear.Beside {
		t.Errorf("%v of %v, want %v s", dear.Beside, dear.Total, want)
	}
}
