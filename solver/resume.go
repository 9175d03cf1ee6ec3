package solver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Checkpoint is a saved run, to be given to one that goes on from there. It is
// used up by that.
type Checkpoint struct {
	header header
	d      *decoder
}

// ReadCheckpoint reads the beginning of a checkpoint of so many bytes, all of
// which are to come from r: the rest is read by the run that goes on from it.
// The errors are those of r, and for anything that is not a whole checkpoint
// they wrap ErrCheckpoint.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	c := &Checkpoint{d: newDecoder(r)}
	if err := c.readHeader(size); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return c, nil
}

func (c *Checkpoint) readHeader(size int64) error {
	var prefix [prefixSize]byte
	c.d.raw(prefix[:])
	version := binary.LittleEndian.Uint32(prefix[len(checkpointMagic):])
	length := binary.LittleEndian.Uint32(prefix[len(checkpointMagic)+4:])
	switch {
	case c.d.err != nil:
		return c.d.err
	case string(prefix[:len(checkpointMagic)]) != checkpointMagic:
		return fmt.Errorf("it does not begin with %q: %w", checkpointMagic, ErrCheckpoint)
	case version != checkpointVersion:
		return fmt.Errorf("version %d is not known, only %d is: %w", version, checkpointVersion, ErrCheckpoint)
	case length > maxHeader:
		return fmt.Errorf("header of %d bytes: %w", length, ErrCheckpoint)
	}
	text := make([]byte, length)
	c.d.raw(text)
	c.d.checksum("the header")
	if c.d.err != nil {
		return c.d.err
	}
	j := json.NewDecoder(bytes.NewReader(text))
	j.DisallowUnknownFields()
	if err := j.Decode(&c.header); err != nil {
		return fmt.Errorf("header: %v: %w", err, ErrCheckpoint)
	}
	if err := c.header.check(); err != nil {
		return fmt.Errorf("header: %v: %w", err, ErrCheckpoint)
	}
	numbers, ok := c.header.count()
	if want := c.d.at + 8*int64(numbers) + 4; !ok || size != want {
		return fmt.Errorf("it has %d bytes, its header calls for %d: %w", size, want, ErrCheckpoint)
	}
	return nil
}

// check refuses what no run can have written.
func (h *header) check() error {
	s := h.Stats
	nonneg := func(name string, values ...int) error {
		for _, v := range values {
			if v < 0 || v > math.MaxInt32 {
				return fmt.Errorf("%s %d", name, v)
			}
		}
		return nil
	}
	if err := nonneg("count", h.N, s.Passes, h.Locked, h.Nulls, h.Warm, h.Round); err != nil {
		return err
	}
	if o := h.Outside; o != nil && !(o.Steps >= 0 && o.Value >= 0 && o.Probability >= 0) || h.Scouting && h.Recurrence == nil {
		return fmt.Errorf("evidence %+v, scouting %t", o, h.Scouting)
	}
	if h.Nulls > h.Locked || h.Round > maxRounds || s.Products < 0 {
		return fmt.Errorf("%d nulls of %d vectors, round %d, %d products", h.Nulls, h.Locked, h.Round, s.Products)
	}
	if r := h.Recurrence; r != nil {
		if err := nonneg("count", r.First, r.Taken, r.Products, r.Candidates, r.Scalars); err != nil {
			return err
		}
		if err := nonneg("product", r.Progress...); err != nil {
			return err
		}
		for _, b := range r.Blocks {
			if err := nonneg("dimension", b[:]...); err != nil {
				return err
			}
			if (b[0] == 0) != (b[1] == 0) {
				return fmt.Errorf("block of %d×%d", b[0], b[1])
			}
		}
	}
	if c := h.Certificate; c != nil && (c.Values < 1 || c.Rank < 0 || c.Rank > c.Values) {
		return fmt.Errorf("certificate of rank %d with %d values", c.Rank, c.Values)
	}
	return nil
}

// Passes returns the number of passes that had been made.
func (c *Checkpoint) Passes() int { return c.header.Stats.Passes }

// Locked returns the number of triplets that had been found.
func (c *Checkpoint) Locked() int { return c.header.Locked }

// Setting returns a setting of the run that was saved, by the names of
// MismatchError: "method", "rank". It is empty for names that are not known.
func (c *Checkpoint) Setting(name string) string {
	for _, s := range c.header.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// known are the methods of this package, by which a checkpoint can name them.
var known = []Method{
	GradientDescent{}, Power{}, Polyak{}, Nesterov{}, NesterovGeneral{}, Block{}, Krylov{},
}

// Method returns the method of the run that was saved, nil if it is not one of
// this package or its settings cannot be read. They may be out of range.
func (c *Checkpoint) Method() Method {
	for _, m := range known {
		if m.Name() == c.Setting("method") {
			return withFields(m, c.Setting("method settings"))
		}
	}
	return nil
}

// withFields sets the exported fields of a method, all of them numbers, as the
// text "{Columns:4 Basis:66 want:10}" of a checkpoint says.
func withFields(m Method, text string) Method {
	v := reflect.New(reflect.TypeOf(m)).Elem()
	for field := range strings.FieldsSeq(strings.Trim(text, "{}")) {
		name, value, _ := strings.Cut(field, ":")
		f := v.FieldByName(name)
		x, err := strconv.ParseFloat(value, 64)
		switch {
		case !f.IsValid() || !f.CanSet():
		case err != nil || !(x >= 0 && x <= 1e12):
			return nil
		case f.CanInt():
			f.SetInt(int64(x))
		default:
			f.SetFloat(x)
		}
	}
	return v.Interface().(Method)
}

// settings lists all that determines the result of the run, what tells most
// first.
func (r *run) settings() []setting {
	return []setting{
		{"matrix", infoOf(r.op).ID},
		{"shape", r.shape},
		{"rank", strconv.Itoa(r.s.Rank)},
		{"method", r.s.Method.Name()},
		{"method settings", fmt.Sprintf("%+v", r.s.Method)},
		{"deflation", r.asked.String()},
		{"stop rule", r.s.Stop.String()},
		{"tolerance", strconv.FormatFloat(r.s.Tol, 'g', -1, 64)},
		{"seed", strconv.FormatUint(r.s.Seed, 10)},
	}
}

// match compares the settings with those of the run that was saved.
func (h *header) match(now []setting) error {
	if len(h.Settings) != len(now) {
		return fmt.Errorf("checkpoint has %d settings, want %d: %w", len(h.Settings), len(now), ErrCheckpoint)
	}
	for i, s := range h.Settings {
		if s.Name != now[i].Name {
			return fmt.Errorf("checkpoint has setting %q, want %q: %w", s.Name, now[i].Name, ErrCheckpoint)
		}
		if s != now[i] {
			return &MismatchError{s.Name, s.Value, now[i].Value}
		}
	}
	return nil
}

// visit meets all numbers of the run that a checkpoint holds, in the order of
// the format; st is the state of the recurrence, nil if none is at work. What
// is variable in length has its length already.
func (r *run) visit(v visitor, st *State) {
	visitScalars(v, &r.noise, &r.lambda1, &r.tol, &r.mark.lastWorst)
	v.visit(r.values)
	v.visit(r.seen)
	if st != nil {
		visitScalars(v, &r.judge.tol)
		for i := range r.judge.progress {
			visitScalars(v, &r.judge.progress[i].best)
		}
		for i := range r.cands {
			c := &r.cands[i]
			visitScalars(v, &c.Value, &c.Residual)
		}
		v.visit(st.Scalars)
	}
	if c := r.cert; c != nil {
		visitScalars(v, &c.norm, &c.frobenius)
		v.visit(c.sigma)
		v.visit(c.residuals)
		v.visit(c.floor)
	}
	for i := range r.locked.len {
		r.arena.visitVector(v, r.locked.vector(i))
	}
	for _, x := range r.warm {
		r.arena.visitVector(v, x)
	}
	if st != nil {
		for _, b := range st.Blocks {
			r.arena.visitBlock(v, b)
		}
	}
	if r.cert != nil {
		r.arena.visitBlock(v, r.cert.right)
	}
}

// header describes the run as it is, with the mark of the last boundary.
func (r *run) header(st *State) header {
	h := header{
		Settings: r.settings(), N: r.n, Stats: r.cost(),
		Locked: r.locked.len, Nulls: r.nulls, Warm: len(r.warm), Starts: r.starts,
		Projected: r.s.Deflation == Projected, Stalled: r.stalled, Round: r.mark.round,
		Told: r.told, Scouting: r.scouting,
	}
	if o := r.outside; o.known {
		h.Outside = &outsideHeader{o.steps, o.value, o.probability}
	}
	h.Stats.Passes, h.Stats.Products = r.mark.passes, r.mark.products
	if st != nil {
		h.Recurrence = &recurrenceHeader{
			Taken: r.taken, First: r.first, Products: r.judge.products, GivenStart: r.judge.warm,
			Candidates: len(r.cands), Scalars: len(st.Scalars),
		}
		for _, p := range r.judge.progress {
			h.Recurrence.Progress = append(h.Recurrence.Progress, p.at)
		}
		for _, b := range st.Blocks {
			rows, cols := b.Dims()
			h.Recurrence.Blocks = append(h.Recurrence.Blocks, [2]int{rows, cols})
		}
	}
	if r.cert != nil {
		h.Certificate = &certificateHeader{len(r.cert.sigma), r.cert.rank}
	}
	return h
}

// writeCheckpoint writes the run to w. Blocks are encoded as they are, none is
// copied.
func (r *run) writeCheckpoint(w io.Writer) error {
	var st *State
	if r.rec != nil {
		s := r.rec.Save()
		st = &s
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
	e.checksum()
	r.visit(e, st)
	e.checksum()
	return e.err
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
	if h.N != r.n || h.Locked > r.s.Rank || h.Certificate != nil && h.Certificate.Values != r.s.Rank {
		return fmt.Errorf("shapes do not fit: %w", ErrCheckpoint)
	}
	st := r.allocate(h)
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
	for i, b := range st.Blocks {
		if !b.IsEmpty() && !r.arena.finite(b) {
			return fmt.Errorf("block %d is not finite: %w", i, ErrCheckpoint)
		}
	}
	rec, err := r.restore(*st)
	if err != nil {
		return fmt.Errorf("%v: %w", err, ErrCheckpoint)
	}
	if rows, _ := rec.Next().Dims(); rows != r.n {
		return fmt.Errorf("recurrence of dimension %d: %w", rows, ErrCheckpoint)
	}
	r.rec = rec
	return nil
}

// restore returns the recurrence that was saved.
func (r *run) restore(st State) (Recurrence, error) {
	if !r.scouting {
		return r.s.Method.Restore(r.arena, st, r.s.Stop)
	}
	if r.locked.len < r.s.Rank {
		return nil, fmt.Errorf("scout with %d of %d vectors", r.locked.len, r.s.Rank)
	}
	s, err := restoreScout(r.arena, st)
	if err != nil {
		return nil, err // not a nil *scout in an interface
	}
	return s, nil
}

// allocate makes room for the numbers of a checkpoint and takes over its
// counts. It returns the state of the recurrence, nil if there is none.
func (r *run) allocate(h *header) *State {
	r.mark = mark{passes: h.Stats.Passes, products: h.Stats.Products, round: h.Round}
	r.locked.len, r.nulls, r.starts, r.stalled = h.Locked, h.Nulls, h.Starts, h.Stalled
	r.values, r.seen = r.values[:h.Locked], r.seen[:h.Locked]
	r.told, r.scouting = h.Told, h.Scouting
	if o := h.Outside; o != nil {
		r.outside = lookout{true, o.Steps, o.Value, o.Probability}
	}
	r.warm = make([][]float64, h.Warm)
	for i := range r.warm {
		r.warm[i] = column(r.arena.Dense(r.n, 1))
	}
	if c := h.Certificate; c != nil {
		r.cert = &certificate{
			sigma: make([]float64, c.Values), residuals: make([]float64, c.Values), floor: make([]float64, c.Values),
			right: r.arena.Dense(r.n, c.Values), rank: c.Rank,
		}
	}
	c := h.Recurrence
	if c == nil {
		return nil
	}
	r.first, r.taken = c.First, c.Taken
	r.judge = newJudge(r.s.Stop, r.tol, scaleOf(r.op), r.linear, c.GivenStart)
	r.judge.products = c.Products
	for _, at := range c.Progress {
		r.judge.progress = append(r.judge.progress, progress{at: at})
	}
	r.cands = make([]Candidate, c.Candidates)
	st := &State{Scalars: make([]float64, c.Scalars)}
	for _, b := range c.Blocks {
		m := &mat.Dense{}
		if b[0] > 0 {
			m = r.block(b[0], b[1])
		}
		st.Blocks = append(st.Blocks, m)
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
	for i := range r.locked.len {
		if norm := r.arena.norm2(r.locked.vector(i)); !(math.Abs(norm-1) < 1e-8) {
			return fmt.Errorf("vector %d has norm %g", i, norm)
		}
	}
	for _, x := range r.warm {
		if n := r.arena.norm2(x); math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("start vector has norm %g", n)
		}
	}
	return nil
}
