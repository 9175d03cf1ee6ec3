package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/remote"
)

func (s *Stated) floor(i int) factor.Number {
	if len(s.Floor) == 0 || math.IsNaN(float64(s.Floor[i])) {
		return 0
	}
	return s.Floor[i]
}

// floorUnits bounds the rounding in the products of the measurement and in the vectors, in units of ε‖A‖_F;
// orthogonalityFloor bounds the rounding in the orthogonality of vectors of any length.
const (
	floorUnits         = 8
	orthogonalityFloor = 1e-13
)

// measure measures the triplets of a sound result on the matrix of c.Store.
func (c *checker) measure(ctx context.Context) (_ *Measurement, err error) {
	began := time.Now()
	if c.stated != nil && c.stated.Completion != nil {
		return nil, fmt.Errorf("%s is a completion: its triplets are those of a matrix that no store has; its files are sound, and result.json has the bound on its objective", c.dir)
	}
	x := &c.arrays
	if c.has(layout.Checkpoint) && !c.has(factor.ResultFile) {
		return nil, says(nil, "%s holds the checkpoint of an unfinished run, whose vectors are not measured before %v has brought it to its end", c.dir, factor.Option("Resume"))
	}
	if x.u == nil && x.v == nil || c.values == nil {
		return nil, fmt.Errorf("%s holds no singular vectors that could be measured: want U.npy, V.npy or Vt.npy beside the values", c.dir)
	}
	store, err := csr.Open(c.Store, csr.OpenOptions{FS: c.FS, Missing: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if r := c.stated; r != nil && r.Store.Fingerprint != store.Fingerprint() {
		return nil, fmt.Errorf("%s is a result of another store: its fingerprint is %s (%s), that of %s is %s",
			c.dir, r.Store.Fingerprint, r.Store.Path, c.Store, store.Fingerprint())
	}
	rows, cols := factor.Dims(store)
	if min(rows, cols) == 0 {
		return nil, fmt.Errorf("%s: a %d × %d matrix has no singular vectors that could be measured", c.Store, rows, cols)
	}
	if err := x.fits(rows, cols, int64(len(c.values))); err != nil {
		return nil, fmt.Errorf("%w: it is not a result of %s", err, c.Store)
	}
	m := &Measurement{Store: c.Store, Rows: rows, Cols: cols, NNZ: store.NNZ(), K: len(c.values), Misses: []int{}}
	if err := c.orthogonality(ctx, m); err != nil {
		return nil, err
	}
	t := &triplets{Options: c.Options, store: source.New(store), values: c.values}
	if x.signed() {
		if x.v == nil {
			return nil, fmt.Errorf("%s holds no V.npy: its eigenpairs cannot be measured", c.dir)
		}
		t.split()
	}
	t.source = t.store
	subject := remote.Subject{Store: store}
	if c.stated != nil && c.stated.View != nil {
		if subject.View, err = c.view(ctx, t.store); err != nil {
			return nil, err
		}
		m.View, subject.Pipeline, t.source = c.stated.View.Pipeline, c.stated.View.Pipeline, subject.View
	}
	if c.Remote != nil {
		if err := t.engine(subject, store.Cols()*int64(m.K)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, t.tasks.Close()) }()
	}
	if err := t.statistics(ctx, subject.View); err != nil {
		return nil, err
	}
	t.long, t.short = csr.Orient(store, x.u, x.v)
	if t.signs != nil {
		t.long, t.short = nil, x.v
	}
	if err := t.measure(ctx); err != nil {
		return nil, err
	}
	t.left, t.right = csr.Orient(store, t.left, t.right)
	m.Passes = t.passes
	norm := math.Ldexp(t.source.Norm())
	terms := norm
	if s, ok := t.source.(stream.Sided); ok {
		terms = max(norm, s.Terms())
	}
	m.fill(c, t, norm, terms)
	m.compare(c.stated, c.Tol)
	m.Time = time.Since(began).Seconds()
	return m, nil
}

func (c *checker) orthogonality(ctx context.Context, m *Measurement) error {
	m.Orthogonality = factor.Orthogonality{U: factor.Number(math.NaN()), V: factor.Number(math.NaN())}
	l, each := budget.Process(), solver.SweepFootprint(m.K)
	l.Take("sums of vectors", 2*8*int64(m.K)*int64(m.K)) // of both sides: the sums of the first side may not have been collected
	room, err := l.Left(c.Memory, each)
	if err != nil {
		return err
	}
	workers := int(min(room/each, int64(c.Workers)))
	for _, side := range []struct {
		of *npy.Matrix
		to *factor.Number
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
		*side.to, m.loose = factor.Number(off), max(m.loose, off)
	}
	return nil
}

// fill sets the residuals, relative to the largest value. norm is the norm of the matrix; its products have rounding errors
// relative to terms.
func (m *Measurement) fill(c *checker, t *triplets, norm, terms float64) {
	order := descending(t.values)
	top := t.values[order[0]]
	if t.signs != nil {
		slices.Sort(order)
		for _, l := range c.values {
			m.Lambda = append(m.Lambda, factor.Number(l))
		}
		if c.stated != nil && float64(c.stated.Norm) > top {
			top = float64(c.stated.Norm)
		}
	}
	top = cmp.Or(top, norm, 1) // all values may be 0 though the matrix is not
	relative := func(x float64) factor.Number { return factor.Number(x / top) }
	floor := floorUnits*0x1p-52*terms + math.SmallestNonzeroFloat64 // the second term is the rounding of subnormal values
	var implied []float64
	switch {
	case t.signs != nil:
	case c.arrays.u == nil:
		m.Implied, implied = "U", t.right
	case c.arrays.v == nil:
		m.Implied, implied = "V", t.left
	}
	for i := range implied { // an implied vector has the rounding of a product divided by σ
		if s := t.values[i]; s < top {
			implied[i] = max(0, implied[i]-floor*(top/s-1))
		}
	}
	for _, i := range order {
		if t.signs == nil {
			m.Sigma = append(m.Sigma, factor.Number(t.values[i]))
		}
		m.Left = append(m.Left, relative(t.left[i]))
		m.Right = append(m.Right, relative(t.right[i]))
		m.Residual = append(m.Residual, relative(max(t.left[i], t.right[i])))
	}
	m.Floor = relative(floor)
}

// compare lists the triplets whose residuals exceed a limit. The limit is the tolerance of --tol, if there is one.
// Otherwise it follows from result.json: its tolerance, or twice the stated residual if that exceeds the tolerance, or a
// larger limit for an implied vector, plus what the rounding of the result may hide (its floor).
func (m *Measurement) compare(r *factor.Result, asked float64) {
	if r != nil {
		m.Stated = &Stated{r.Residual, r.Floor, r.Orthogonality, r.Certified}
		m.Tol = &r.Settings.Tol
	}
	if asked > 0 {
		m.Tol, m.asked = &asked, true
	}
	if m.Tol == nil {
		return
	}
	tol := factor.Number(*m.Tol)
	for i, x := range m.Residual {
		limit := tol
		if !m.asked {
			if r.Residual[i] > tol {
				limit = 2 * r.Residual[i]
			}
			if m.Implied != "" && r.Residual[i] > 0 { // with u = Av/‖Av‖, ‖Aᵀu − σv‖ is up to σ₁/σ times the residual with another u
				limit = max(limit, 2*r.Residual[i]*(2+m.Sigma[0]/m.Sigma[i]))
			}
			limit += m.Stated.floor(i)
		}
		if !(x <= limit+m.Floor) {
			m.Misses = append(m.Misses, i)
		}
	}
}

// looseBy reports whether the vectors are less orthonormal than is stated, or than --tol demands.
func (m *Measurement) looseBy() bool {
	if m.asked {
		return m.loose > *m.Tol+orthogonalityFloor
	}
	if m.Stated == nil {
		return false
	}
	exceeds := func(x, said factor.Number) bool { // both are NaN for absent vectors
		return float64(x) > 2*max(0, float64(said))+orthogonalityFloor
	}
	return exceeds(m.Orthogonality.U, m.Stated.Orthogonality.U) || exceeds(m.Orthogonality.V, m.Stated.Orthogonality.V)
}

// verdict returns an error if triplets miss their limits, or nil. The estimates of an interrupted run state nothing: they are
// compared with the tolerance only.
func (m *Measurement) verdict(dir string) error {
	if m.Tol == nil {
		return nil
	}
	within := 0
	tol := factor.Number(*m.Tol)
	for i, x := range m.Residual {
		limit := tol + m.Floor
		if !m.asked && m.Stated.floor(i) <= tol { // a triplet with a larger floor does not count as converged
			limit += m.Stated.floor(i)
		}
		if x <= limit {
			within++
		}
	}
	against, args := "what "+factor.ResultFile+" states", []any(nil)
	if m.asked {
		against, args = "%v %g", []any{factor.Option("Tol"), *m.Tol}
	}
	estimates := !m.asked && !m.Stated.Certified
	switch {
	case len(m.Misses) > 0 && !estimates:
		i := m.Misses[0]
		args = slices.Concat([]any{dir, len(m.Misses), m.K}, args, []any{i + 1, m.Residual[i]})
		return says(nil, "%s: %d of %d triplets miss "+against+", triplet %d first: its residual is %.2g", args...)
	case m.looseBy() && !estimates:
		return says(nil, "%s: its vectors miss "+against+": they are orthonormal to %.2g only", slices.Concat([]any{dir}, args, []any{m.loose})...)
	case within < m.K:
		return says(factor.ErrNotConverged, "%s: %d of %d triplets are within %.3g; the result says so itself", dir, within, m.K, *m.Tol)
	}
	return nil
}

// triplets are singular triplets in files that are measured on a stored matrix.
type triplets struct {
	Options
	store       *source.Source
	source      stream.Source  // the store, or its view
	tasks       *remote.Matrix // tasks that multiply; nil: this process multiplies
	values      []float64
	signs       []float64   // signs of eigenvalues; nil: the values are singular values
	long, short *npy.Matrix // vectors of the stored rows and columns; nil if absent

	left, right []float64 // residuals of the stored matrix
	passes      int
}

// measure measures all triplets in one read of the store, or as many at a time as fit into memory.
func (t *triplets) measure(ctx context.Context) error {
	k := len(t.values)
	group, m, err := t.plan(k)
	if err != nil {
		return err
	}
	defer m.Close()
	p := m.Plan()
	if err := t.Planned(factor.Memory{Budget: p.Budget, Parts: p.Parts, Resident: p.ResidentBytes}); err != nil {
		return err
	}
	var a solver.Matrix = m
	if t.tasks != nil {
		t.tasks.Describe(m.Info())
		a = t.tasks
	}
	if group < k {
		t.Log.Info("the memory holds some of the triplets at a time: the store is read several times", "triplets", group, "of", k)
	}
	reads := (k + group - 1) / group
	if t.short == nil {
		reads *= 2
	}
	t.store.Count(reads, t.Progress)
	t.passes = reads
	for from := 0; from < k; from += group {
		if err := t.some(ctx, a, from, min(k, from+group)); err != nil {
			return err
		}
	}
	return nil
}

// some measures triplets [from, to).
func (t *triplets) some(ctx context.Context, m solver.Matrix, from, to int) error {
	given := solver.Triplets{Sigma: t.values[from:to]}
	if t.long != nil || t.signs != nil {
		given.Left = func(first int64, rows *mat.Dense) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return t.readLeft(first, from, rows)
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

func (t *triplets) split() {
	values := t.values
	t.values, t.signs = make([]float64, len(values)), make([]float64, len(values))
	for i, l := range values {
		t.values[i], t.signs[i] = math.Abs(l), math.Copysign(1, l)
	}
}

// readLeft fills rows with the rows of the left vectors from first on, and with the columns of these from from on.
func (t *triplets) readLeft(first int64, from int, rows *mat.Dense) error {
	if t.signs == nil {
		return t.long.ReadRows(first, from, rows)
	}
	if err := t.short.ReadRows(first, from, rows); err != nil {
		return err
	}
	rows.Apply(func(_, j int, v float64) float64 { return t.signs[from+j] * v }, rows)
	return nil
}

// plan returns the number of triplets that fit into memory at a time, and the matrix for them.
func (t *triplets) plan(k int) (group int, m *stream.Matrix, err error) {
	for group = k; ; group = (group + 1) / 2 {
		const buffers = 4 << 20 // buffers of rows read from the files, and Gram matrices
		o := stream.Options{
			Memory: t.Memory, Workers: t.Workers, Rank: group, Once: group == k && t.short != nil,
			Reserve: stream.RowsInMemory(t.source, t.Workers, group) + buffers,
		}
		m, err = stream.NewFrom(t.source, o)
		if err == nil || group == 1 {
			return group, m, err
		}
	}
}
