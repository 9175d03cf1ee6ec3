package solver

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Blocks of the state before those of the basis.
const lanczosBlocks = 6

// discard implements discarder.
func (r *lanczos) discard() {
	r.arena.free(r.next)
	r.v.free()
}

func (r *lanczos) Save() State {
	s := State{
		Blocks: []*mat.Dense{r.next, {}, {}, {}, {}, {}},
		Scalars: []float64{
			r.qr.key, float64(r.qr.drawn), float64(r.most), float64(r.want), float64(r.block), float64(r.fresh), float64(r.gone),
			scalar(r.full), scalar(r.started), r.top, r.drift.dropped, float64(r.origin), float64(r.steps + 1),
		},
	}
	s.Scalars = append(s.Scalars, r.timing.save()...)
	for _, c := range r.cands {
		s.Scalars = append(s.Scalars, c.Value, c.Residual)
	}
	if r.size == 0 {
		return s
	}
	for i, b := range []*mat.Dense{r.t, r.drift.basis, r.drift.next, r.drift.removed, r.coupling} {
		if b != nil {
			s.Blocks[i+1] = mat.DenseCopyOf(b)
		}
	}
	for _, b := range r.v.list {
		s.Blocks = append(s.Blocks, b.room.Slice(0, r.v.n, 0, b.x.Cols).(*mat.Dense))
	}
	return s
}

// Restore implements Method.
func (k Krylov) Restore(a *Arena, s State, _ StopRule) (Recurrence, error) {
	k.Width(1) // checks
	const fixed = 13 + timingScalars
	if len(s.Blocks) < lanczosBlocks || len(s.Scalars) < fixed {
		return nil, s.shape(lanczosBlocks, fixed)
	}
	next, err := s.block(0, -1, -1)
	if err != nil {
		return nil, err
	}
	n, w := next.Dims()
	var counts [6]int
	for i, limit := range [...]int{math.MaxInt32, n, math.MaxInt32, n, n, n} {
		if counts[i], err = s.count(i+1, limit); err != nil {
			return nil, err
		}
	}
	r := &lanczos{
		next: next, most: counts[1], want: counts[2], block: counts[3], fresh: counts[4], gone: counts[5],
		top: s.Scalars[9], drift: drift{dropped: s.Scalars[10]}, qr: blockQR{key: s.Scalars[0], drawn: counts[0]},
	}
	for i, flag := range []*bool{&r.full, &r.started} {
		if *flag, err = s.flag(7 + i); err != nil {
			return nil, err
		}
	}
	if r.origin, err = s.count(11, n); err != nil {
		return nil, err
	}
	if r.steps, err = s.count(12, math.MaxInt32); err != nil {
		return nil, err
	}
	if r.timing, err = s.timing(13); err != nil {
		return nil, err
	}
	r.steps--
	rest := s.Scalars[fixed:]
	if !allFinite(s.Scalars[9:]) {
		return nil, errors.New("state has values that are not finite")
	}
	if len(rest)%2 != 0 || r.timing.passes > 0 && len(rest) == 0 {
		return nil, fmt.Errorf("state has %d numbers about its Ritz pairs", len(rest))
	}
	for i := 0; i < len(rest); i += 2 {
		r.cands = append(r.cands, ritzCandidate(rest[i], rest[i+1]))
	}
	if r.want < 1 || r.block < 1 {
		return nil, fmt.Errorf("state is for %d triplets, with blocks of %d", r.want, r.block)
	}
	if err := r.restoreBasis(a, s); err != nil {
		return nil, err
	}
	if r.steps > 0 && (r.size == 0 || r.origin > r.size || r.origin < 1) {
		return nil, fmt.Errorf("state is of a basis of %d columns that began with %d", r.size, r.origin)
	}
	if m := r.most; r.size > m || r.fresh > r.size || w > m || r.full && w > r.size || r.fresh > 0 && !r.full && r.coupling == nil {
		return nil, fmt.Errorf("state is of a basis of %d of %d columns with blocks of %d", r.size, m, w)
	}
	return r.in(a), nil
}

// restoreBasis takes the basis and what is known about it from s.
func (r *lanczos) restoreBasis(a *Arena, s State) (err error) {
	w := width(r.next)
	r.v = a.newPanels(r.next.RawMatrix().Rows, r.block)
	for i := lanczosBlocks; i < len(s.Blocks); i++ {
		if err := r.v.restore(s.Blocks[i]); err != nil {
			return fmt.Errorf("block %d of state %w", i, err)
		}
	}
	if r.size = r.v.size(); r.size == 0 {
		return nil
	}
	if r.t, err = s.block(1, r.size, r.size); err != nil {
		return err
	}
	if r.drift.basis, err = s.block(2, r.size, r.size); err != nil {
		return err
	}
	if !s.Blocks[3].IsEmpty() {
		if r.drift.next, err = s.block(3, r.size, w); err != nil {
			return err
		}
	}
	if r.drift.removed, err = s.block(4, r.size, r.size); err != nil {
		return err
	}
	if !s.Blocks[5].IsEmpty() {
		r.coupling, err = s.block(5, w, r.size-r.fresh)
	}
	return err
}
