package solver

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// settings lists all that determines the result of the run, what tells most
// first.
func (r *run) settings() []setting {
	all := []setting{
		{"matrix", infoOf(r.op).ID},
		{"shape", r.shape},
		{"rank", strconv.Itoa(r.s.Rank)},
		{"method", r.about.Name},
		{"deflation", r.asked.String()},
		{"stop rule", r.s.Stop.String()},
		{"tolerance", strconv.FormatFloat(r.s.Tol, 'g', -1, 64)},
		{"seed", strconv.FormatUint(r.s.Seed, 10)},
	}
	for _, s := range r.about.Settings {
		all = append(all, setting{s.Name, strconv.FormatFloat(s.Value, 'g', -1, 64)})
	}
	return all
}

// match compares the settings with those of the run that was saved: of two methods
// what they have in common decides, then.
func (h *header) match(now []setting) error {
	for i := range min(len(h.Settings), len(now)) {
		s := h.Settings[i]
		if s.Name != now[i].Name {
			return fmt.Errorf("checkpoint has setting %q, want %q: %w", s.Name, now[i].Name, ErrCheckpoint)
		}
		if s != now[i] {
			return &MismatchError{s.Name, s.Value, now[i].Value}
		}
	}
	if len(h.Settings) != len(now) {
		return fmt.Errorf("checkpoint has %d settings, want %d: %w", len(h.Settings), len(now), ErrCheckpoint)
	}
	return nil
}

// parts are all that a checkpoint holds of the run, those of a recurrence at work excepted.
// What is variable in length has its length already; what is empty is left out.
func (r *run) parts(working bool) []part {
	all := []part{
		scalars("noise", &r.noise), scalars("norm", &r.lambda1), scalars("tolerance", &r.tol),
		scalars("largest residual", &r.mark.lastWorst), numbers("values", r.values), numbers("residuals", r.seen),
	}
	if working {
		var least, pairs []*float64
		for i := range r.judge.Progress {
			least = append(least, &r.judge.Progress[i].Best)
		}
		for i := range r.pairs {
			pairs = append(pairs, &r.pairs[i].Value, &r.pairs[i].Residual)
		}
		all = append(all, scalars("tolerance of the recurrence", &r.judge.Tol), scalars("least residuals", least...), scalars("Ritz pairs", pairs...))
	}
	var locked [][]float64
	for i := range r.locked.Len {
		locked = append(locked, r.locked.Vector(i))
	}
	if c := r.cert; c != nil {
		all = append(all, scalars("certified norm", &c.Norm), scalars("Frobenius norm", &c.Frobenius), numbers("certified values", c.Sigma),
			numbers("certified residuals", c.Residuals), numbers("floors", c.Floor), block(r.arena, "certified vectors", c.Right))
	}
	all = append(all, vectors(r.arena, "vectors", r.n, locked), vectors(r.arena, "start vectors", r.n, r.warm))
	return slices.DeleteFunc(all, func(p part) bool { return p.Rows == 0 })
}

// header describes the run as it is, with the mark of the last boundary.
func (r *run) header(st *method.State) header {
	h := header{
		Settings: r.settings(), N: r.n, Stats: r.cost(),
		Nulls: r.nulls, Starts: r.starts,
		Projected: r.s.Deflation == Projected, Stalled: r.stalled, Round: r.mark.round,
		Told: r.told, Scouting: r.scouting, Parts: shapes(r.parts(st != nil)),
	}
	if o := r.outside; o.known {
		h.Outside = &outsideHeader{o.steps, o.value, o.probability}
	}
	h.Stats.Passes, h.Stats.Products = r.mark.passes, r.mark.products
	if st != nil {
		h.Recurrence = &recurrenceHeader{
			Taken: r.taken, First: r.first, Products: r.judge.Products, GivenStart: r.judge.Warm, Version: r.version(),
		}
		for _, p := range r.judge.Progress {
			h.Recurrence.Progress = append(h.Recurrence.Progress, p.At)
		}
		for _, p := range st.Parts {
			rows, cols := p.Block.Dims()
			h.Recurrence.Parts = append(h.Recurrence.Parts, shape{p.Name, rows, cols})
		}
	}
	if r.cert != nil {
		h.CertRank = &r.cert.Rank
	}
	return h
}

// visit meets all numbers of the run that a checkpoint holds; st is the state of the
// recurrence, nil if none is at work.
func (r *run) visit(v visitor, st *method.State) {
	for _, p := range r.parts(st != nil) {
		p.visit(v)
	}
	if st != nil {
		for _, p := range st.Parts {
			block(r.arena, p.Name, p.Block).visit(v)
		}
	}
}

// writeCheckpoint writes the run to w. Blocks are encoded as they are, none is
// copied.
func (r *run) writeCheckpoint(w io.Writer) error {
	var st *method.State
	if r.rec != nil {
		st = new(method.State)
		r.rec.State(st)
	}
	h := r.header(st)
	text, err := json.Marshal(h)
	if err == nil && len(text) > maxHeader {
		err = fmt.Errorf("header of %d bytes, at most %d are possible", len(text), maxHeader)
	}
	if err != nil {
		return err
	}
	h.announce(w, len(text))
	e := newEncoder(w)
	prefix := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), checkpointVersion)
	e.raw(binary.LittleEndian.AppendUint32(prefix, uint32(len(text))))
	e.raw(text)
	if err := e.checksum(); err != nil {
		return err
	}
	r.visit(e, st)
	return e.checksum()
}

// resume puts the run where the checkpoint was made.
func (r *run) resume(c *Checkpoint) error {
	if err := c.header.match(r.settings()); err != nil {
		return err
	}
	if err := r.readCheckpoint(c); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	return nil
}

func (r *run) readCheckpoint(c *Checkpoint) error {
	h := &c.header
	if h.N != r.n || h.rows("vectors", r.n) > r.s.Rank {
		return fmt.Errorf("shapes do not fit: %w", ErrCheckpoint)
	}
	st := r.allocate(h)
	if want := shapes(r.parts(st != nil)); !slices.Equal(h.Parts, want) {
		return fmt.Errorf("it holds %v, want %v: %w", h.Parts, want, ErrCheckpoint)
	}
	r.visit(c.d, st)
	c.d.checksum("the numbers")
	if c.d.err != nil {
		return c.d.err
	}
	if err := r.plausible(); err != nil {
		return fmt.Errorf("%v: %w", err, ErrCheckpoint)
	}
	r.round, r.lastWorst = r.mark.round, r.mark.lastWorst
	r.stats, r.saved = h.Stats, h.Stats.Passes
	if h.Projected {
		r.s.Deflation = Projected
		r.deflate(Projected)
	}
	if st == nil {
		return nil
	}
	if h.Recurrence.Version != r.version() {
		return fmt.Errorf("its recurrence is of version %d, want %d: %w", h.Recurrence.Version, r.version(), ErrCheckpoint)
	}
	r.rec = r.s.Method.New(r.terms())
	if r.scouting {
		r.rec = scout.New(r.arena)
	}
	if err := method.Restore(r.arena, r.rec, r.n, st.Parts); err != nil {
		return fmt.Errorf("%v: %w", err, ErrCheckpoint)
	}
	return nil
}

// version is that of the parts of the recurrence.
func (r *run) version() int {
	if r.scouting {
		return scout.Version
	}
	return r.about.Version
}

// allocate makes room for the numbers of a checkpoint and takes over its
// counts. It returns the state of the recurrence, nil if there is none.
func (r *run) allocate(h *header) *method.State {
	r.mark = mark{passes: h.Stats.Passes, products: h.Stats.Products, round: h.Round}
	locked := h.rows("vectors", r.n)
	r.locked.Len, r.nulls, r.starts, r.stalled = locked, h.Nulls, h.Starts, h.Stalled
	r.values, r.seen = r.values[:locked], r.seen[:locked]
	r.told, r.scouting = h.Told, h.Scouting
	if o := h.Outside; o != nil {
		r.outside = lookout{true, o.Steps, o.Value, o.Probability}
	}
	r.warm = make([][]float64, h.rows("start vectors", r.n))
	for i := range r.warm {
		r.warm[i] = tallskinny.Column(r.arena.Dense(r.n, 1))
	}
	if h.CertRank != nil {
		k := r.s.Rank
		r.cert = &certificate.Certificate{
			Sigma: make([]float64, k), Residuals: make([]float64, k), Floor: make([]float64, k),
			Right: r.arena.Dense(r.n, k), Rank: *h.CertRank,
		}
	}
	c := h.Recurrence
	if c == nil {
		return nil
	}
	r.first, r.taken = c.First, c.Taken
	r.judge = r.newJudge(c.GivenStart)
	r.judge.Products = c.Products
	for _, at := range c.Progress {
		r.judge.Progress = append(r.judge.Progress, judge.Progress{At: at})
	}
	r.pairs = make([]method.RitzPair, h.rows("Ritz pairs", 1)/2)
	st := new(method.State)
	for _, p := range c.Parts {
		b := &mat.Dense{}
		if p.Rows > 0 {
			b = r.block(p.Rows, p.Cols)
		}
		st.Parts = append(st.Parts, method.Part{Name: p.Name, Block: b})
	}
	return st
}

// block returns room for a block of a recurrence, tall or not.
func (r *run) block(rows, cols int) *mat.Dense {
	if rows == r.n {
		return r.arena.Dense(rows, cols)
	}
	return mat.NewDense(rows, cols, nil)
}

// plausible refuses vectors that no run can have written: later steps rely on
// finite numbers.
func (r *run) plausible() error {
	for i := range r.locked.Len {
		if norm := r.arena.Norm2(r.locked.Vector(i)); !(math.Abs(norm-1) < 1e-8) {
			return fmt.Errorf("vector %d has norm %g", i, norm)
		}
	}
	for _, x := range r.warm {
		if n := r.arena.Norm2(x); math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("start vector has norm %g", n)
		}
	}
	return nil
}
