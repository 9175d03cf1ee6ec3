// Package cost chooses a method from the Effort that each method states and from a table of
// costs on a reference machine. It measures nothing, and the choice does not depend on the
// number of workers: the same problem gives the same choice everywhere.
package cost

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Problem is everything that the choice of a method depends on.
type Problem struct {
	method.Workload
	Rows    int64 // rows of the matrix
	Columns int64 // columns of the matrix
	NNZ     int64 // stored entries
	// Encoded is the number of bytes that a pass reads if no part of the matrix is kept in memory;
	// 0: the matrix lies in memory and needs no decoding.
	Encoded int64
	// Room returns the memory that a method leaves for the matrix. It must be a function of the
	// method and of the memory alone. Nil means that memory holds everything.
	Room    func(method.Method) Room
	Methods []method.Method // candidates

	// Pass and Column are the seconds that a pass and each of its columns take beside its work; 0 for passes of this process.
	Pass, Column float64
}

// Room describes the memory that a method leaves for the matrix.
type Room struct {
	Fits     bool    // the blocks of the method fit into memory
	Resident float64 // share of the matrix that stays decoded between passes, from 0 to 1
	// Cached reports whether the part that is not kept decoded stays encoded in the
	// page cache: passes after the first decode it, but do not wait for the disk.
	Cached bool
	// Outside reports whether the vectors lie in files (solver.Settings.Space).
	Outside bool
	// Reads is the number of times that a pass reads the matrix, each for a few columns
	// of the block; 0 means once.
	Reads int
}

// outsideRate is the approximate number of bytes of vectors in files that loops read or write in a second.
const outsideRate = 1e9

// Machine holds the costs of passes and of the work between passes.
type Machine struct {
	Workers   int     // threads of a pass
	Bandwidth float64 // bytes a second at which the matrix is read; 0: reading costs nothing
	Decode    float64 // nanoseconds of a worker for an entry that is not kept decoded
	// Multiply[i][j] is the nanoseconds of a worker for the product of one entry of a
	// matrix of Columns[i] columns with a row of Widths[j] numbers. Columns and Widths
	// are ascending. Costs are interpolated between them, and beyond the last width
	// they grow in proportion to the width.
	Columns, Widths []float64
	Multiply        [][]float64
	Sum             float64 // nanoseconds for each of the n·l sums of a pass
	// Dense[j] is the nanoseconds for a floating point operation between passes,
	// for blocks of Widths[j] columns.
	Dense []float64
}

// Estimate is the expected cost of a run with a method.
type Estimate struct {
	Method    method.Method
	Passes    int
	Products  int64 // columns multiplied, all passes together
	Room            // memory that the method leaves
	PassBytes int64 // bytes that every pass but the first decodes, and reads from the disk unless Cached
	Vectors   int64 // bytes of the method's own blocks
	// VectorsRead and VectorsWritten are the Stats of the same names; 0 unless vectors lie in files.
	VectorsRead, VectorsWritten int64
	// Read is the time of the disk, Multiply the time of decoding and products, Dense
	// the time between passes. Total is less than the sum of all, since reading goes on
	// while products are computed.
	Read, Multiply, Dense, Total time.Duration
	Beside                       time.Duration // additional time of passes (Problem.Pass and Column), included in Total
}

// Reasons for a Choice.
const (
	// ByTable: the fastest by the table of costs if memory holds everything. The choice
	// is a function of the matrix, the rank and the tolerance.
	ByTable = "table"
	// ByMemory: the fastest by the table of costs within the given memory.
	ByMemory = "memory"
	// ByRule: the only option for the problem, whatever it costs.
	ByRule = "rule"
)

// Choice is the chosen method and the reason for the choice.
type Choice struct {
	Estimate               // of the chosen method, on the Reference machine
	Why      string        // ByTable, ByMemory or ByRule
	Table    method.Method // the choice if memory holds everything
	// Considered holds all options: first those that fit into memory, then the
	// others, each fastest first.
	Considered []Estimate
}

// flat is the largest ratio of the time of a preferred option to that of the fastest. Where passes read the disk,
// an option with fewer passes is preferred: on a machine with a slower disk than the Reference the number of
// passes decides. Otherwise a narrower block is preferred: it loses less where other programs share the caches.
const flat = 1.05

// Choose chooses a method, with its widths, from the options of Estimates. Of the options within flat of the
// fastest on the Reference machine it takes the one with the narrowest block or, if the fastest reads the disk in
// every pass, the one with the fewest passes.
//
// The choice is a function of the problem alone, and no measurement enters it: the same matrix, rank, tolerance
// and memory give the same choice, and hence the same bits, everywhere and every time. Of the memory only four
// facts matter: whether a method fits, whether its vectors lie in files, how often a pass reads the matrix, and
// whether all of the matrix stays decoded. If not all of it does, all of it is taken to be read from the disk in
// every pass. If no option fits, the choice is the one with the least Vectors, with Fits false.
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

// preferred returns the preferred option (see flat) of a list in the order of Estimates. If no option fits, it
// returns the one with the least Vectors.
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

// Estimates returns the estimates of all options on a machine: first those that fit into memory, then the others,
// each fastest first.
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

// EstimateOf returns the estimate for any method. A pass takes as long as the slower of reading and computing;
// between passes come the dense operations of the method. The last pass is the finishing pass, which multiplies
// all vectors and computes the R factor and the left vectors from the products. For methods that Choose never
// considers, and for a block narrower than the rank, the estimate is a guess.
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
	const strip = 16 // columns that package stream multiplies together if all of the matrix is decoded
	if e.Resident == 1 && e.Reads <= 1 {
		finish = min(finish, later(strip)*rank/strip)
	}
	finish += nano * 2 * float64(p.Rows) * rank * rank * interpolate(m.Widths, m.Dense, rank)
	if e.Outside {
		// Vectors long enough for files are those of graphs, which take more passes than ratings.
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

// seconds returns s as a Duration of at most 3·10⁹ s, about a century.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 3e9) * float64(time.Second))
}

// multiply returns the nanoseconds for an entry of a matrix of n columns and a block of width l. Beyond the last
// width of the table they grow in proportion to l.
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

// interpolate interpolates ys linearly in the logarithms of xs and ys; outside of xs it is constant.
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

// Adjusted returns the machine with costs of products measured on a sample: nanos[i] is the cost of an entry of a
// matrix of n columns for the width widths[i], ascending. Multiply is scaled by the ratio of measured and
// tabulated costs, interpolated between the widths, Sum by the geometric mean of the ratios, and Dense, which
// waits less for caches, by the root of that mean.
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
