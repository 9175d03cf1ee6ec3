package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// measured is what gdsvd check --store has measured on the matrix, in the user's
// orientation, triplets in descending order of sigma.
type measured struct {
	Store  string   `json:"store"`
	Rows   int64    `json:"rows"`
	Cols   int64    `json:"cols"`
	NNZ    int64    `json:"nnz"`
	K      int      `json:"k"`
	Passes int      `json:"passes"`
	Time   float64  `json:"seconds"`
	Sigma  []number `json:"sigma"`
	// Residual is the larger of Left, ‖Av−σu‖/σ₁, and Right, ‖Aᵀu−σv‖/σ₁.
	Residual []number `json:"residual"`
	Left     []number `json:"left"`
	Right    []number `json:"right"`
	// Floor is what the rounding of the measurement may add to a residual.
	Floor         number        `json:"floor"`
	Orthogonality orthogonality `json:"orthogonality"`     // null for vectors that are not there
	Implied       string        `json:"implied,omitempty"` // "U" or "V", if it is not there and was taken from the other
	Stated        *stated       `json:"stated,omitempty"`  // by result.json
	Tol           *float64      `json:"tol,omitempty"`     // what residuals and orthogonality are compared with
	Misses        []int         `json:"misses"`            // triplets, from 0 on, that are not as stated or not within --tol
	asked         bool          // Tol is that of --tol
	loose         float64       // the largest of Orthogonality
}

// stated is what result.json says of what was measured.
type stated struct {
	Residual      []number      `json:"residual"`
	Floor         []number      `json:"floor,omitempty"` // what rounding may hide of each residual; absent if it says nothing of it
	Orthogonality orthogonality `json:"orthogonality"`
	Certified     bool          `json:"certified"`
}

// floor is that of a triplet, 0 if nothing is said of it.
func (s *stated) floor(i int) number {
	if len(s.Floor) == 0 || math.IsNaN(float64(s.Floor[i])) {
		return 0
	}
	return s.Floor[i]
}

// Rounding in the products of the measurement and in the vectors, in units of ε‖A‖_F;
// and that in the orthogonality of vectors of any length.
const (
	floorUnits         = 8
	orthogonalityFloor = 1e-13
)

// measure measures the triplets of a result that is sound on the matrix of a store.
func (c *resultChecker) measure(ctx context.Context, o checkOptions) (_ *measured, err error) {
	began := time.Now()
	x := &c.arrays
	if x.u == nil && x.v == nil || c.values == nil {
		return nil, fmt.Errorf("%s holds no singular vectors that could be measured: want U.npy, V.npy or Vt.npy beside the values", c.dir)
	}
	run := svdOptions{memory: o.memory, workers: o.workers}
	run.fillIn()
	defer limitHeap(max(run.memory-notHeap, run.memory/2))()
	store, err := csr.Open(o.store, csr.OpenOptions{FS: c.app.fsys})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if r := c.stated; r != nil && r.Store.Fingerprint != store.Fingerprint() {
		return nil, fmt.Errorf("%s is a result of another store: its fingerprint is %s (%s), that of %s is %s",
			c.dir, r.Store.Fingerprint, r.Store.Path, o.store, store.Fingerprint())
	}
	rows, cols := userDims(store)
	if err := x.fits(rows, cols, int64(len(c.values))); err != nil {
		return nil, fmt.Errorf("%w: it is not a result of %s", err, o.store)
	}
	m := &measured{Store: o.store, Rows: rows, Cols: cols, NNZ: store.NNZ(), K: len(c.values), Misses: []int{}}
	if err := c.orthogonality(ctx, m, run.workers); err != nil {
		return nil, err
	}
	t := &triplets{app: c.app, store: store, values: c.values, memory: run.memory, workers: run.workers}
	if t.long, t.short = x.u, x.v; store.Transposed() {
		t.long, t.short = x.v, x.u
	}
	if err := t.measure(ctx); err != nil {
		return nil, err
	}
	if store.Transposed() {
		t.left, t.right = t.right, t.left
	}
	m.Passes = t.passes
	m.fill(c.values, t, math.Ldexp(store.Norm()))
	switch {
	case x.u == nil:
		m.Implied = "U"
	case x.v == nil:
		m.Implied = "V"
	}
	m.compare(c.stated, o)
	m.Time = time.Since(began).Seconds()
	return m, nil
}

func (c *resultChecker) orthogonality(ctx context.Context, m *measured, workers int) error {
	m.Orthogonality = orthogonality{number(math.NaN()), number(math.NaN())}
	for _, side := range []struct {
		of *npy.Matrix
		to *number
	}{{c.arrays.u, &m.Orthogonality.U}, {c.arrays.v, &m.Orthogonality.V}} {
		if side.of == nil {
			continue
		}
		off, err := solver.Orthogonality(ctx, workers, side.of.Rows, m.K, func(first int64, rows *mat.Dense) error {
			return side.of.ReadRows(first, 0, rows)
		})
		if err != nil {
			return err
		}
		*side.to, m.loose = number(off), max(m.loose, off)
	}
	return nil
}

// fill takes over the residuals, relative to the largest value.
func (m *measured) fill(values []float64, t *triplets, norm float64) {
	order := descending(values)
	top := values[order[0]]
	if top == 0 {
		top = norm // of a matrix that may not be zero
	}
	relative := func(x float64) number {
		if x == 0 {
			return 0
		}
		return number(x / top)
	}
	for _, i := range order {
		m.Sigma = append(m.Sigma, number(values[i]))
		m.Left = append(m.Left, relative(t.left[i]))
		m.Right = append(m.Right, relative(t.right[i]))
		m.Residual = append(m.Residual, relative(max(t.left[i], t.right[i])))
	}
	m.Floor = relative(floorUnits * 0x1p-52 * norm)
}

// compare finds the triplets that are not within the tolerance of --tol, or else not as
// result.json states them: within its tolerance if they are said to be, and at most twice
// as far off as they are said to be if not, in both cases with what the rounding of the
// result may hide (its floor).
func (m *measured) compare(r *result, o checkOptions) {
	if r != nil {
		m.Stated = &stated{r.Residual, r.Floor, r.Orthogonality, r.Certified}
		m.Tol = &r.Settings.Tol
	}
	if o.tol > 0 {
		m.Tol, m.asked = &o.tol, true
	}
	if m.Tol == nil {
		return
	}
	tol := number(*m.Tol)
	for i, x := range m.Residual {
		limit := tol
		if !m.asked {
			if r.Residual[i] > tol {
				limit = 2 * r.Residual[i]
			}
			limit += m.Stated.floor(i)
		}
		if !(x <= limit+m.Floor) {
			m.Misses = append(m.Misses, i)
		}
	}
}

// looseBy tells whether vectors are less orthonormal than is stated, or than --tol.
func (m *measured) looseBy() bool {
	if m.asked {
		return m.loose > *m.Tol+orthogonalityFloor
	}
	if m.Stated == nil {
		return false
	}
	exceeds := func(x, said number) bool { // both are no number where there are no vectors
		return float64(x) > 2*max(0, float64(said))+orthogonalityFloor
	}
	return exceeds(m.Orthogonality.U, m.Stated.Orthogonality.U) || exceeds(m.Orthogonality.V, m.Stated.Orthogonality.V)
}

// verdict is the error of triplets that are not what they should be, or nil. Estimates that
// an interrupted run has left state nothing: they are measured against the tolerance only.
func (m *measured) verdict(dir string) error {
	if m.Tol == nil {
		return nil
	}
	within := 0
	tol := number(*m.Tol)
	for i, x := range m.Residual {
		limit := tol + m.Floor
		if !m.asked && m.Stated.floor(i) <= tol { // a triplet with a larger one does not count as converged
			limit += m.Stated.floor(i)
		}
		if x <= limit {
			within++
		}
	}
	against := "what " + resultFile + " states"
	if m.asked {
		against = fmt.Sprintf("--tol %g", *m.Tol)
	}
	estimates := !m.asked && !m.Stated.Certified
	switch {
	case len(m.Misses) > 0 && !estimates:
		i := m.Misses[0]
		return fmt.Errorf("%s: %d of %d triplets miss %s, triplet %d first: its residual is %.2g", dir, len(m.Misses), m.K, against, i+1, m.Residual[i])
	case m.looseBy() && !estimates:
		return fmt.Errorf("%s: its vectors miss %s: they are orthonormal to %.2g only", dir, against, m.loose)
	case within < m.K:
		return &outcome{fmt.Sprintf("%s: %d of %d triplets are within %.3g; the result says so itself", dir, within, m.K, *m.Tol), errNotConverged}
	}
	return nil
}

// triplets are singular triplets in files that are measured on a stored matrix.
type triplets struct {
	app         *app
	store       *csr.Store
	values      []float64
	long, short *npy.Matrix // vectors of the stored rows and columns; nil if they are not there
	memory      int64
	workers     int

	left, right []float64 // residuals of the stored matrix
	passes      int
	at          stepper
}

// measure takes all triplets in one read of the store, or as many at a time as there is
// memory for.
func (t *triplets) measure(ctx context.Context) error {
	k := len(t.values)
	group, m, err := t.plan(k)
	if err != nil {
		return err
	}
	defer m.Close()
	defer limitHeap(heapLimit(m.Plan()))()
	if group < k {
		t.app.display.Logger().Info("the memory is for some of the triplets at a time: the store is read several times", "triplets", group, "of", k)
	}
	reads := (k + group - 1) / group
	if t.short == nil {
		reads *= 2
	}
	t.at.app, t.at.total = t.app, int64(reads)*t.store.Size()
	t.passes = reads
	for from := 0; from < k; from += group {
		if err := t.some(ctx, m, from, min(k, from+group)); err != nil {
			return err
		}
	}
	return nil
}

// some measures triplets [from, to).
func (t *triplets) some(ctx context.Context, m *stream.Matrix, from, to int) error {
	given := solver.Triplets{Sigma: t.values[from:to]}
	if t.long != nil {
		given.Left = func(first int64, rows *mat.Dense) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return t.long.ReadRows(first, from, rows)
		}
	}
	if t.short != nil {
		n := m.Info().Cols
		given.Right = mat.NewDense(n, to-from, nil)
		const rows = 1 << 14
		for first := 0; first < n; first += rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := given.Right.Slice(first, min(n, first+rows), 0, to-from).(*mat.Dense)
			if err := t.short.ReadRows(int64(first), from, part); err != nil {
				return err
			}
		}
	}
	left, right, err := solver.Residuals(ctx, m, given)
	t.left, t.right = append(t.left, left...), append(t.right, right...)
	return err
}

// plan finds how many triplets there is memory for at a time.
func (t *triplets) plan(k int) (group int, m *stream.Matrix, err error) {
	for group = k; ; group = (group + 1) / 2 {
		const buffers = 4 << 20 // of rows on their way from the files, and Gram matrices
		o := stream.Options{
			Memory: t.memory, Workers: t.workers, Rank: group, Once: group == k && t.short != nil,
			Reserve: stream.RowsInMemory(t.store, t.workers, group) + buffers,
		}
		m, err = stream.NewFrom(counted{t.store, &t.at}, o)
		if err == nil || group == 1 {
			return group, m, err
		}
	}
}

// counted is a store that shows how much of it has been read.
type counted struct {
	*csr.Store
	at *stepper
}

func (c counted) DecodeBlock(i int, dst *csr.Block) error {
	err := c.Store.DecodeBlock(i, dst)
	c.at.step(c.Store.Block(i).Size)
	return err
}

func (m *measured) note() string {
	if m.Implied == "" {
		return ""
	}
	return fmt.Sprintf("; %s is not there and is taken as what the other vectors imply", m.Implied)
}

// printMeasured prints the residuals, those that miss what they should be in any case.
func (a *app) printMeasured(m *measured) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	head, said := "i\tsigma\tresidual\t\n", func(int) string { return "" }
	if m.Stated != nil {
		head = "i\tsigma\tresidual\tstated\t\n"
		said = func(i int) string { return fmt.Sprintf("%.1e\t", m.Stated.Residual[i]) }
	}
	fmt.Fprint(w, head)
	missed := map[int]bool{}
	for _, i := range m.Misses {
		missed[i] = true
	}
	hidden := 0
	for i := range m.Sigma {
		if i >= printedTriplets && !missed[i] {
			hidden++
			continue
		}
		fmt.Fprintf(w, "%d\t%.10g\t%.1e\t%s\n", i+1, m.Sigma[i], m.Residual[i], said(i))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out := &errWriter{w: a.stdout}
	if hidden > 0 {
		out.printf("… and %d more (--json prints all)\n", hidden)
	}
	for _, side := range []struct {
		name string
		x    number
	}{{"UᵀU", m.Orthogonality.U}, {"VᵀV", m.Orthogonality.V}} {
		if !math.IsNaN(float64(side.x)) {
			out.printf("max|%s−I| = %.1e\n", side.name, side.x)
		}
	}
	out.printf("measured on %s, %d × %d, %d entries, in %s (%.2f s)%s\n", m.Store, m.Rows, m.Cols, m.NNZ, plural(m.Passes, "read"), m.Time, m.note())
	return out.err
}

// stepper shows how far a task of so many bytes is. It may be used by several goroutines.
type stepper struct {
	app   *app
	total int64
	done  atomic.Int64
}

func (s *stepper) step(n int64) {
	s.app.display.Update(progress.State{Done: s.done.Add(n), Total: s.total, Bytes: true})
}
