// Package cost chooses a method from what the methods say that they take and from a table
// of what that costs on a reference machine. Nothing is measured here, and nothing depends
// on the number of workers: the same problem has the same choice everywhere.
package cost

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Problem is what the choice of a method depends on.
type Problem struct {
	method.Workload
	Rows    int64 // of the matrix
	Columns int64 // n
	NNZ     int64 // stored entries
	// Encoded is what a pass reads if nothing is kept, in bytes; 0: the matrix is in
	// memory as it is.
	Encoded int64
	// Room says what a method leaves of the memory. It must be a function of the
	// method and of the memory alone. Nil means that there is room for everything.
	Room    func(method.Method) Room
	Methods []method.Method // to choose from

	// Pass and Column are the seconds that a pass, and each of its columns, takes beside its work: 0 for passes of this process.
	Pass, Column float64
}

// Room is what a method leaves of the memory for the matrix.
type Room struct {
	Fits     bool    // the method itself
	Resident float64 // share of the matrix that stays decoded between passes, from 0 to 1
	// Cached is whether what is not kept decoded stays in memory as it is on the
	// disk, in the page cache: passes after the first decode it, but do not wait.
	Cached bool
	// Outside is whether the vectors lie in files (solver.Settings.Space).
	Outside bool
	// Reads is how often a pass reads the matrix, a few columns at a time; 0 is
	// once.
	Reads int
}

// outsideRate is about how many bytes of vectors in files pass through their
// window in a second.
const outsideRate = 1e9

// Machine is what passes and the work between them cost.
type Machine struct {
	Workers   int     // threads of a pass
	Bandwidth float64 // bytes a second from where the matrix lies; 0 means that reading costs nothing
	Decode    float64 // nanoseconds of a worker for an entry that is not kept decoded
	// Multiply is the nanoseconds of a worker for the product of one entry with
	// a row of l numbers: Multiply[i][j] is for Columns[i] columns of the matrix
	// and l = Widths[j], both ascending. It is interpolated between them, and
	// beyond the last width it grows in proportion.
	Columns, Widths []float64
	Multiply        [][]float64
	Sum             float64 // nanoseconds for each of the n·l sums of a pass
	// Dense is the nanoseconds for a floating point operation between passes,
	// for blocks of Widths[j] columns.
	Dense []float64
}

// Estimate is what a run with a method is expected to cost.
type Estimate struct {
	Method    method.Method
	Passes    int
	Products  int64 // columns multiplied, all passes together
	Room            // that the method leaves
	PassBytes int64 // decoded by every pass but the first, and read from the disk unless Cached
	Vectors   int64 // bytes of the method's own blocks
	// VectorsRead and VectorsWritten are Stats of the same names, if vectors lie in files.
	VectorsRead, VectorsWritten int64
	// Read is the time that the disk takes, Multiply that of decoding and
	// products, Dense that between passes. Total is less than their sum: reading
	// goes on while products are computed.
	Read, Multiply, Dense, Total time.Duration
	Beside                       time.Duration // the work of passes: Problem.Pass and Column. Total has it, too
}

// What decided a Choice.
const (
	// ByTable: the fastest by the table of costs where memory holds everything. It
	// is a function of the matrix, the rank and the tolerance.
	ByTable = "table"
	// ByMemory: the fastest by the table of costs within the memory there is.
	ByMemory = "memory"
	// ByRule: there is one method for what was asked for, at any cost.
	ByRule = "rule"
)

// Choice is a method and how it was found.
type Choice struct {
	Estimate               // on the Reference machine
	Why      string        // what decided: ByTable, ByMemory or ByRule
	Table    method.Method // the choice where memory holds everything
	// Considered are all options, fastest first, those that fit before those
	// that do not.
	Considered []Estimate
}

// flat is how much longer than the fastest option one may take to be preferred: where passes read the disk for needing fewer of
// them, as on a machine with a slower one than the Reference those are what counts, and else for a narrower block, which loses less
// where others share the caches.
const flat = 1.05

// Choose chooses a method, with its widths, from the options of Estimates: of those within flat of
// the fastest on the Reference machine the one with the narrowest block or, where that reads the disk in every pass, the fewest passes.
//
// It is a function of the problem alone, so that the same matrix, rank, tolerance
// and memory have the same choice, and hence the same bits, everywhere and every
// time: nothing that is measured enters. Of the memory it asks whether a method
// fits, whether its vectors lie in files, and whether all of the matrix stays
// decoded; a matrix that does not is taken to be read from the disk in every pass.
// If nothing fits, the choice is the one that needs least, with Fits false.
func Choose(p Problem) Choice {
	all := p
	all.Room = nil
	table := Estimates(all, Reference())
	c := Choice{Table: preferred(table, p.Rank).Method, Why: ByTable}
	if p.Room == nil {
		c.Considered = table
	} else {
		coarse := p
		coarse.Room = func(m method.Method) Room {
			r := p.Room(m)
			r.Cached = false
			if r.Resident < 1 {
				r.Resident = 0 // lest a little more or less memory change the choice
			}
			return r
		}
		c.Considered = Estimates(coarse, Reference())
	}
	c.Estimate = preferred(c.Considered, p.Rank)
	switch {
	case c.Method != c.Table:
		c.Why = ByMemory
	case len(table) == 1:
		c.Why = ByRule
	}
	return c
}

// preferred is the best of a list, fastest first: see flat. If nothing fits it is the one with the least vectors.
func preferred(ranked []Estimate, rank int) Estimate {
	best := ranked[0]
	if !best.Fits {
		return slices.MinFunc(ranked, func(a, b Estimate) int { return cmp.Compare(a.Vectors, b.Vectors) })
	}
	better := func(e, than Estimate) bool { return e.Passes < than.Passes }
	if best.PassBytes == 0 {
		width := func(e Estimate) int { return e.Method.Traits(rank).Width(rank) }
		better = func(e, than Estimate) bool { return width(e) < width(than) }
	}
	limit := flat * float64(best.Total)
	for _, e := range ranked[1:] {
		if e.Fits && float64(e.Total) <= limit && better(e, best) {
			best = e
		}
	}
	return best
}

// Estimates returns what the options would cost on a machine, fastest first,
// with those that fit into memory before those that do not.
func Estimates(p Problem, m Machine) []Estimate {
	var all []Estimate
	for _, one := range p.Methods {
		t := one.Traits(p.Rank)
		if t.Options == nil || t.Paper != p.Paper || p.Indefinite && !t.Indefinite {
			continue
		}
		for _, o := range t.Options(p.Workload) {
			w := o.Traits(p.Rank).Width(p.Rank)
			grows := t.Copies > 0 || w == 1
			if (p.MaxWidth == 0 || w <= p.MaxWidth) && (w == 1 || int64(w) < p.Order) && (grows || !p.AtMost) {
				all = append(all, EstimateOf(p, m, o))
			}
		}
	}
	refused := func(e Estimate) int {
		if e.Fits {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b Estimate) int {
		return cmp.Or(refused(a)-refused(b), cmp.Compare(a.Total, b.Total))
	})
	return all
}

// EstimateOf is the estimate for any method: a pass takes as long as the slower of
// reading and computing, and between passes there are the dense operations of the
// method. The last pass is the finishing one, which multiplies all vectors and makes the R factor
// and the left vectors of the products. For methods that Choose never considers, and for a block narrower than the
// rank, the estimate is a guess.
func EstimateOf(p Problem, m Machine, of method.Method) Estimate {
	t := of.Traits(p.Rank)
	c := t.Effort(p.Workload)
	e := Estimate{Method: of, Passes: int(math.Ceil(c.Passes)), Room: Room{Fits: true, Resident: 1}, Vectors: t.Footprint(int(p.Order))}
	if p.Room != nil {
		e.Room = p.Room(of)
	}
	e.Products = int64(e.Passes-1)*int64(c.Width) + int64(p.Rank) + int64(c.Others)*int64(c.Beside)
	e.Passes += c.Others
	e.PassBytes = int64((1-e.Resident)*float64(p.Encoded)) * int64(max(1, e.Reads))

	const nano = 1e-9
	workers := float64(max(m.Workers, 1))
	read := func(bytes float64) float64 {
		if m.Bandwidth <= 0 {
			return 0
		}
		return bytes / m.Bandwidth
	}
	n, l := float64(p.Columns), float64(c.Width)
	product := func(l float64) float64 { return nano * (float64(p.NNZ)*m.multiply(n, l)/workers + n*l*m.Sum) }
	decode := func(share float64) float64 {
		if p.Encoded == 0 {
			return 0
		}
		return nano * share * float64(p.NNZ) * m.Decode / workers
	}
	again := 0.0
	if !e.Cached {
		again = read(float64(e.PassBytes))
	}
	later := func(width int) float64 {
		return float64(max(1, e.Reads))*decode(1-e.Resident) + product(float64(width))
	}
	first := decode(1) - decode(1-e.Resident) + later(c.Width)
	others, rank := float64(c.Others), float64(p.Rank)
	dense := nano * c.Flops * interpolate(m.Widths, m.Dense, l)
	finish := later(p.Rank)
	const strip = 16 // columns are multiplied together where all of the matrix is decoded (package stream)
	if e.Resident == 1 && e.Reads <= 1 {
		finish = min(finish, later(strip)*rank/strip)
	}
	finish += nano * 2 * float64(p.Rows) * rank * rank * interpolate(m.Widths, m.Dense, rank)
	if e.Outside {
		// Graphs, whose vectors are the long ones, take more passes than ratings do.
		const graphs = 1.25
		e.VectorsRead, e.VectorsWritten = int64(8*n*graphs*c.Read), int64(8*n*graphs*c.Written)
		dense += float64(e.VectorsRead+e.VectorsWritten) / outsideRate
	}
	e.Read = seconds(read(float64(p.Encoded)) + (c.Passes-1+others)*again)
	e.Multiply = seconds(first + (c.Passes-2)*later(c.Width) + others*later(c.Beside) + finish)
	e.Dense = seconds(dense)
	e.Total = seconds(max(read(float64(p.Encoded)), first) + (c.Passes-2)*max(again, later(c.Width)) + others*max(again, later(c.Beside)) + max(again, finish) + dense)
	e.Beside = seconds(float64(e.Passes)*p.Pass + float64(e.Products)*p.Column)
	e.Total = seconds(e.Total.Seconds() + e.Beside.Seconds())
	return e
}

// seconds is a duration, of a century at most.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 3e9) * float64(time.Second))
}

// multiply is the cost of an entry for n columns and width l. Beyond the last
// width of the table it grows in proportion.
func (m Machine) multiply(n, l float64) float64 {
	return m.surface(m.Multiply, n, l) * max(1, l/m.Widths[len(m.Widths)-1])
}

// surface interpolates one of the tables.
func (m Machine) surface(table [][]float64, n, l float64) float64 {
	at := make([]float64, len(m.Columns))
	for i, row := range table {
		at[i] = interpolate(m.Widths, row, l)
	}
	return interpolate(m.Columns, at, n)
}

// interpolate is linear in the logarithm of both; outside of xs it is constant.
func interpolate(xs, ys []float64, x float64) float64 {
	i, exact := slices.BinarySearch(xs, x)
	switch {
	case exact || i == 0:
		return ys[i]
	case i == len(xs):
		return ys[i-1]
	}
	t := math.Log(x/xs[i-1]) / math.Log(xs[i]/xs[i-1])
	return ys[i-1] * math.Pow(ys[i]/ys[i-1], t)
}

// Adjusted returns the machine with products as measured on a sample: nanos[i]
// for an entry of a matrix of n columns and width widths[i], ascending. They are
// scaled as they differ from Multiply, and what lies between and beyond likewise,
// sums in the mean proportion, and dense operations, which wait less for caches, in its square root.
func (m Machine) Adjusted(n int64, widths []int, nanos []float64) Machine {
	ls, ratio := make([]float64, len(widths)), make([]float64, len(widths))
	mean := 0.0
	for i, l := range widths {
		ls[i] = float64(l)
		ratio[i] = nanos[i] / m.surface(m.Multiply, float64(n), ls[i])
		mean += math.Log(ratio[i]) / float64(len(widths))
	}
	multiply := make([][]float64, len(m.Multiply))
	for i, row := range m.Multiply {
		multiply[i] = slices.Clone(row)
		for j, l := range m.Widths {
			multiply[i][j] *= interpolate(ls, ratio, l)
		}
	}
	m.Multiply = multiply
	m.Dense = slices.Clone(m.Dense)
	for j := range m.Dense {
		m.Dense[j] *= math.Exp(mean / 2)
	}
	m.Sum *= math.Exp(mean)
	return m
}
