package solver

import "time"

type usage struct {
	bytes          int64
	multiply, wait time.Duration
}

// meter returns the Meter of the operator, nil if it has none.
func (r *run) meter() Meter {
	op := r.op
	if w, ok := op.(interface{ matrix() Matrix }); ok {
		op = w.matrix()
	}
	m, _ := op.(Meter)
	return m
}

func (r *run) usage() usage {
	if m := r.meter(); m != nil {
		b, mul, wait := m.Usage()
		return usage{b, mul, wait}
	}
	return usage{}
}

// cost returns the costs so far.
func (r *run) cost() Stats {
	s, total := r.stats, time.Since(r.began)
	s.Total += total
	s.VectorsRead += r.arena.read.Load()
	s.VectorsWritten += r.arena.written.Load()
	s.Finish += r.finish
	s.Checkpoint += r.saving
	s.Orthogonalise += max(0, total-r.finish-r.saving-(r.passes-r.inPass))
	if r.meter() == nil {
		s.Multiply += r.passes
		return s
	}
	u := r.usage()
	s.BytesRead += u.bytes - r.base.bytes
	s.Multiply += u.multiply - r.base.multiply
	s.Wait += u.wait - r.base.wait
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
