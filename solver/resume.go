package solver

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/checkpoint"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// header is the part of a checkpoint that is not float64.
type header struct {
	Settings   []setting          `json:"settings"` // must be those of the run that goes on
	N          int                `json:"n"`        // length of vectors
	Stats      Stats              `json:"stats"`
	Locked     int                `json:"locked"` // vectors found
	Parts      []checkpoint.Shape `json:"parts"`  // of the run
	Recurrence *recurrenceHeader  `json:"recurrence,omitempty"`
}

type recurrenceHeader struct {
	Version int                `json:"version"` // of its parts
	Parts   []checkpoint.Shape `json:"parts"`
}

// setting is something that determines the result of a run, as text.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// shapes are those of all parts, in their order.
func (h *header) shapes() []checkpoint.Shape {
	if h.Recurrence == nil {
		return h.Parts
	}
	return slices.Concat(h.Parts, h.Recurrence.Parts)
}

// check refuses what no run can have written.
func (h *header) check() error {
	if s := h.Stats; min(h.N, s.Passes, h.Locked) < 0 || max(h.N, s.Passes, h.Locked) > math.MaxInt32 || s.Products < 0 {
		return fmt.Errorf("header has %d vectors of length %d after %d passes, %d products: %w", h.Locked, h.N, s.Passes, s.Products, ErrCheckpoint)
	}
	return nil
}

// settings lists all that determines the result of the run, what tells most
// first.
func (r *run) settings() []setting {
	all := []setting{
		{"matrix", infoOf(r.op).ID},
		{"shape", r.shape},
		{"rank", r.s.rank()},
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

// rank says how many triplets are wanted.
func (s *Settings) rank() string {
	if s.Energy == 0 {
		return strconv.Itoa(s.Rank)
	}
	return fmt.Sprintf("of at most %d for the share %v of the energy", s.Rank, s.Energy)
}

// match compares the settings with those of the run that was saved: of two methods
// what they have in common decides, then.
func (h *header) match(now []setting) error {
	for i := range min(len(h.Settings), len(now)) {
		s := h.Settings[i]
		if s.Name != now[i].Name {
			return fmt.Errorf("checkpoint has setting %.60q, want %q: %w", s.Name, now[i].Name, ErrCheckpoint)
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

// state saves or restores what a checkpoint holds of the run itself; working says that a
// recurrence is at work. The number of vectors found is known.
func (r *run) state(s *method.State, working bool) {
	projected, certified, starts := r.s.Deflation == Projected, r.cert != nil, int(r.starts)
	s.Int("nulls", &r.nulls, 0, r.locked.Len)
	s.Int("starts", &starts, 0, math.MaxInt32)
	s.Int("round", &r.mark.round, 0, maxRounds)
	s.Flag("projected", &projected) // now, whatever the setting is
	s.Flag("stalled", &r.stalled)
	s.Flag("told", &r.told)
	s.Flag("scouting", &r.scouting)
	s.Float("noise", &r.noise)
	s.Float("norm", &r.lambda1)
	s.Float("tolerance", &r.tol)
	s.Float("largest residual", &r.mark.lastWorst)
	s.Floats("values", &r.values)
	s.Floats("residuals", &r.seen)
	r.outside.state(s)
	if s.Flag("certified", &certified); certified {
		if s.Restoring() {
			r.cert = new(certificate.Certificate)
		}
		least := r.s.Rank
		if r.s.Energy > 0 {
			least = 1
		}
		r.cert.State(s, least, r.s.Rank)
	}
	r.pairsState(s)
	if working {
		if s.Restoring() {
			r.judge = r.newJudge(false)
		}
		s.Int("found before", &r.first, 0, r.locked.Len)
		s.Int("taken", &r.taken, 0, math.MaxInt32)
		r.judge.State(s)
		s.Pairs(&r.pairs)
	}
	r.vectors(s)
	if len(r.values) != r.locked.Len || len(r.seen) != r.locked.Len || r.scouting && !working {
		s.Refuse("has %d vectors with %d values and %d residuals, scouting %t", r.locked.Len, len(r.values), len(r.seen), r.scouting)
	}
	if s.Restoring() && s.OK() {
		r.starts, r.round, r.lastWorst = uint64(starts), r.mark.round, r.mark.lastWorst
		r.values = slices.Grow(r.values, r.s.Rank-len(r.values))
		if projected {
			r.s.Deflation = Projected
		}
		r.deflate(r.s.Deflation)
	}
}

// vectors saves or restores the vectors found, and the start vectors that have not been
// used. Norms of others than 1 are refused: later steps rely on it.
func (r *run) vectors(s *method.State) {
	for i := range r.locked.Len {
		v := mat.NewDense(r.n, 1, r.locked.Vector(i))
		if !s.Tall(fmt.Sprintf("vector %d", i), &v, 1) || !s.Restoring() {
			continue
		}
		x := tallskinny.Column(v)
		r.arena.CopyVector(r.locked.Vector(i), x)
		if norm := r.arena.Norm2(x); !(math.Abs(norm-1) < 1e-8) {
			s.Refuse("has a vector %d of norm %g", i, norm)
		}
		r.arena.Free(v)
	}
	count := len(r.warm)
	s.Int("start vectors", &count, 0, math.MaxInt32)
	for i := range count {
		var v *mat.Dense
		if !s.Restoring() {
			v = mat.NewDense(r.n, 1, r.warm[i])
		}
		if !s.Tall(fmt.Sprintf("start vector %d", i), &v, 1) {
			return
		}
		if s.Restoring() {
			r.warm = append(r.warm, tallskinny.Column(v))
		}
	}
}

// state saves or restores what is known.
func (o *lookout) state(s *method.State) {
	s.Flag("known", &o.known)
	s.Int("steps", &o.steps, 0, math.MaxInt32)
	s.Float("bound", &o.value)
	s.Float("probability", &o.probability)
	if !(o.value >= 0 && o.probability >= 0) {
		s.Refuse("has a bound of %g with probability %g", o.value, o.probability)
	}
}

// writeCheckpoint writes the run to w as it is, with the mark of the last boundary.
func (r *run) writeCheckpoint(w io.Writer) error {
	var s, rec method.State
	r.state(&s, r.rec != nil)
	h := header{Settings: r.settings(), N: r.n, Stats: r.cost(), Locked: r.locked.Len, Parts: checkpoint.Shapes(s.Parts)}
	h.Stats.Passes, h.Stats.Products = r.mark.passes, r.mark.products
	if r.rec != nil {
		r.rec.State(&rec)
		h.Recurrence = &recurrenceHeader{r.version(), checkpoint.Shapes(rec.Parts)}
	}
	return checkpoint.Write(w, r.arena, h, append(s.Parts, rec.Parts...))
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
	if h.N != r.n || h.Locked > r.s.Rank {
		return fmt.Errorf("shapes do not fit: %w", ErrCheckpoint)
	}
	// What a run saves it holds; a file may say more.
	held, has := RunFootprint(r.s.Method, r.n, r.s.Rank)+PairsFootprint(r.s.Method, r.n, r.s.Rank), 8*int64(checkpoint.Numbers(h.shapes()))
	if has > held {
		return fmt.Errorf("it has %d bytes of numbers, a run at most %d: %w", has, held, ErrCheckpoint)
	}
	parts, rec := c.from.Parts(r.arena, r.n, h.Parts), []method.Part(nil)
	if h.Recurrence != nil {
		rec = c.from.Parts(r.arena, r.n, h.Recurrence.Parts)
	}
	if err := c.from.End(); err != nil {
		return err
	}
	r.mark = mark{passes: h.Stats.Passes, products: h.Stats.Products}
	r.stats, r.saved, r.locked.Len = h.Stats, h.Stats.Passes, h.Locked
	err := method.Restore(r.arena, r.n, parts, func(s *method.State) { r.state(s, h.Recurrence != nil) })
	if err == nil && h.Recurrence != nil {
		err = r.restore(h.Recurrence.Version, rec)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", err, ErrCheckpoint)
	}
	return nil
}

// restore makes the recurrence at work of parts of a version.
func (r *run) restore(version int, parts []method.Part) error {
	if version != r.version() {
		return fmt.Errorf("its recurrence is of version %d, want %d", version, r.version())
	}
	if r.rec = r.s.Method.New(r.terms()); r.scouting {
		r.rec = scout.New(r.arena)
	}
	return method.Restore(r.arena, r.n, parts, r.rec.State)
}

// version is that of the parts of the recurrence.
func (r *run) version() int {
	if r.scouting {
		return scout.Version
	}
	return r.about.Version
}
