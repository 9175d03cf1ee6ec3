package solver

import "time"

// cost returns the costs so far.
func (r *run) cost() Stats {
	s, total := r.stats, time.Since(r.began)
	s.Total += total
	s.VectorsRead += r.arena.Read.Load()
	s.VectorsWritten += r.arena.Written.Load()
	s.Finish += r.finish
	s.Checkpoint += r.saving
	s.Orthogonalise += max(0, total-r.finish-r.saving-(r.passes-r.inPass))
	if m, ok := matrixOf(r.op).(*metered); ok {
		s.BytesRead += m.cost.BytesRead
		s.Multiply += m.cost.Multiply
		s.Wait += m.cost.Wait
	} else {
		s.Multiply += r.passes
	}
	return s
}

// finishing runs f as part of finishing.
func (r *run) finishing(f func() error) error {
	t, p := time.Now(), r.passes
	err := f()
	r.finish += time.Since(t)
	r.inPass += r.passes - p
	return err
}
