package solver

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/checkpoint"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// reserve returns the number of passes to keep back: one for the certificate, and one for the product that
// measures completed left vectors if there may be any.
func (f *factorisation) reserve() int {
	if f.s.Left != nil && (f.found.Nulls > 0 || f.unsettled()) {
		return 2
	}
	return 1
}

// unsettled reports whether a certificate made now may have values that are zero:
// some of its vectors would be random, or their eigenvalues are roundoff.
func (f *factorisation) unsettled() bool {
	open := f.missing(f.work.pairs)
	if open > len(f.work.pairs) {
		return true
	}
	least := math.Inf(1)
	for _, v := range f.found.Values {
		least = min(least, v)
	}
	for _, c := range f.work.pairs[:open] {
		least = min(least, c.Value)
	}
	return least <= judge.NearFloor*tallskinny.FloorFactor*tallskinny.Epsilon*f.found.Lambda1
}

// offenders returns the indices of the triplets whose residual misses the tolerance by more than rounding errors
// of the operator explain. It includes triplets of value 0 if their vectors were given: if not, the search has
// already looked for them.
func (f *factorisation) offenders(given bool) []int {
	var out []int
	if f.s.Stop != StopResidual {
		return nil
	}
	c := f.cert
	for i := range c.Rank {
		r := c.Doubt(i)
		seen := r // residual for the operator, relative to λ₁
		if !f.found.Linear {
			seen *= c.Sigma[i] / c.Norm
		}
		if r > f.s.Tol && seen > 4*tallskinny.FloorFactor*tallskinny.Epsilon {
			out = append(out, i)
		}
	}
	if given {
		for i := c.Rank; i < len(c.Sigma); i++ {
			out = append(out, i)
		}
	}
	return out
}

// worthwhile reports whether another search can gain anything: better residuals of the triplets in again, more
// triplets, or evidence that the triplets are the leading ones.
func (f *factorisation) worthwhile(again []int) bool {
	if len(again) == 0 {
		return f.short() || f.passes.round.count < maxRounds && !f.leading()
	}
	worst := 0.0
	for i := range f.cert.Residuals {
		worst = max(worst, f.cert.Doubt(i))
	}
	return f.passes.round.another(worst)
}

// reopen locks the first keep triplets of the certificate, which are those asked for, except the triplets in
// again. These are searched for again, from their products with G, which the certificate has computed. If the
// search had found them, the tolerance is divided by 4. Given start vectors not used yet follow the products.
func (f *factorisation) reopen(again []int, keep int, given bool) {
	var spare [][]float64
	switch {
	case given:
		spare = f.starts.warm
	case len(again) > 0:
		f.found.Tol /= 4
		f.passes.round.count++
	case !f.short():
		f.passes.round.count++ // this round is for evidence about the certified values
	}
	f.relock(again, keep)
	f.starts.warm = append(f.starts.warm, spare...)
}

// relock locks the first keep triplets of the certificate except those in again, whose products with G become the
// start vectors.
func (f *factorisation) relock(again []int, keep int) {
	c := f.cert
	f.found.Reset()
	f.found.Lambda1 = max(f.found.Lambda1, f.found.Eigenvalue(c.Norm))
	f.outside.Reset() // the bound was derived for other vectors
	f.starts.warm = nil
	for i := range keep {
		if len(again) > 0 && again[0] == i {
			again = again[1:]
			if i < c.Rank {
				x := tallskinny.Column(f.arena.Dense(f.n, 1))
				f.arena.ColumnOf(x, c.Product.RawMatrix(), i)
				f.starts.warm = append(f.starts.warm, x)
			}
			continue
		}
		x := f.found.Basis.Next()
		f.arena.ColumnOf(x, c.Right.RawMatrix(), i)
		f.found.Basis.Orthonormalise(x)
		f.found.Push(f.found.Eigenvalue(c.Sigma[i]), c.Residuals[i])
		if i >= c.Rank {
			f.found.Nulls++
		}
	}
	f.arena.Free(c.Product)
	c.Product = nil
}

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

func (s *Settings) rank() string {
	if s.Energy == 0 {
		return strconv.Itoa(s.Rank)
	}
	return fmt.Sprintf("of at most %d for the share %v of the energy", s.Rank, s.Energy)
}

// state saves or restores the part of a checkpoint that belongs to the run itself. working reports whether a
// recurrence is at work. When state restores, the number of vectors found is set already.
func (r *run) state(s *method.State, working bool) {
	projected, certified, starts := r.s.Deflation == Projected, r.cert != nil, int(r.starts.drawn)
	round, scouting := &r.saves.mark.round, r.work.block.Scout
	s.Int("starts", &starts, 0, math.MaxInt32)
	s.Int("round", &round.count, 0, maxRounds)
	s.Float("largest residual", &round.worst)
	s.Flag("projected", &projected) // the current deflation, not the setting
	s.Flag("told", &r.outside.Wanted)
	s.Flag("scouting", &scouting)
	r.found.State(s)
	r.outside.State(s)
	s.Flag("certified", &certified)
	if certified {
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
		w := &r.work
		if s.Restoring() {
			w.judge, w.block.Scout = r.newJudge(false), scouting
		}
		s.Int("found before", &w.block.Before, 0, r.found.Len())
		s.Int("taken", &w.block.Given, 0, math.MaxInt32)
		s.Float("random part", &w.block.Part)
		w.judge.State(s)
		s.Pairs(&w.pairs)
	}
	r.found.Vectors(s)
	r.starts.state(s, r.n)
	if scouting && !working {
		s.Refuse("is of a scout that is not there")
	}
	if s.Restoring() && s.OK() {
		r.starts.drawn, r.passes.round = uint64(starts), *round
		if projected {
			r.s.Deflation = Projected
		}
		r.deflated.Plain = r.s.Deflation == Plain
	}
}

// state saves or restores the start vectors, of length n, that have not been used.
func (v *starts) state(s *method.State, n int) {
	count := len(v.warm)
	s.Int("start vectors", &count, 0, math.MaxInt32)
	for i := range count {
		var x *mat.Dense
		if !s.Restoring() {
			x = mat.NewDense(n, 1, v.warm[i])
		}
		if !s.Tall(fmt.Sprintf("start vector %d", i), &x, 1) {
			return
		}
		if s.Restoring() {
			v.warm = append(v.warm, tallskinny.Column(x))
		}
	}
}

// writeCheckpoint writes the current state of the run to w, with the counts of the last boundary.
func (r *run) writeCheckpoint(w io.Writer) error {
	var s, rec method.State
	r.state(&s, r.work.rec != nil)
	h := header{Settings: r.settings(), N: r.n, Stats: r.passes.cost(), Locked: r.found.Len(), Parts: checkpoint.Shapes(s.Parts)}
	h.Stats.Passes, h.Stats.Products = r.saves.mark.passes, r.saves.mark.products
	if r.work.rec != nil {
		r.work.rec.State(&rec)
		h.Recurrence = &recurrenceHeader{r.version(), checkpoint.Shapes(rec.Parts)}
	}
	return checkpoint.Write(w, r.arena, h, append(s.Parts, rec.Parts...))
}

// resume sets the run to the state in the checkpoint.
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
	// A run cannot save more numbers than it holds, but the header of a file can claim more.
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
	r.saves = saves{mark{passes: h.Stats.Passes, products: h.Stats.Products}, h.Stats.Passes}
	r.passes.stats, r.found.Basis.Len = h.Stats, h.Locked
	err := method.Restore(r.arena, r.n, parts, func(s *method.State) { r.state(s, h.Recurrence != nil) })
	if err == nil && h.Recurrence != nil {
		err = r.restore(h.Recurrence.Version, rec)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", err, ErrCheckpoint)
	}
	return nil
}

// restore sets the recurrence at work from saved parts of the given version.
func (r *run) restore(version int, parts []method.Part) error {
	if version != r.version() {
		return fmt.Errorf("its recurrence is of version %d, want %d", version, r.version())
	}
	if r.work.block.Scout {
		r.work.rec = scout.New(r.arena)
	} else {
		r.work.rec = r.s.Method.New(r.terms())
	}
	return method.Restore(r.arena, r.n, parts, r.work.rec.State)
}

func (r *run) version() int {
	if r.work.block.Scout {
		return scout.Version
	}
	return r.about.Version
}
