package remote

import (
	"context"
	"errors"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Measure measures the view by tasks: each read sums up groups, and the sums are added in the order of the groups. It
// comes before Describe and all passes. The budget of o must hold two sums; read gets the bytes read of the store.
func (m *Matrix) Measure(ctx context.Context, o stream.Options, read func(bytes int64)) (err error) {
	v, rows := m.subject.View, m.subject.Store.Rows()
	all := &pass{Matrix: m} // sums of the reads so far, from which workers prepare the next read
	defer func() { err = errors.Join(err, all.clear()) }()
	return v.MeasureBy(func(i int) (total *view.Sums, err error) {
		if err := v.Fits(o, i, 2); err != nil {
			return nil, err
		}
		m.pass++
		r := &pass{Matrix: m, l: 1, read: read}
		defer func() { err = errors.Join(err, r.clear()) }()
		for k, g := range m.groups {
			t := m.taskOf(k)
			t.Columns, t.View, t.Settled = 1, &View{Pipeline: m.subject.Pipeline}, all.inputs
			t.Sum = []string{r.makes("part", k, 0, v.NewSums(i, g.first, g.rows).Length())}
			r.first = append(r.first, t)
		}
		err = r.complete(ctx, [][]Task{r.first}, func(context.Context) error {
			total = v.NewSums(i, 0, rows)
			for k, g := range m.groups {
				part := v.NewSums(i, g.first, g.rows)
				if err := m.run.sums(r.first[k].Sum[0], part); err != nil {
					return err
				}
				total.Add(part)
			}
			return nil
		})
		if err != nil || i == v.Reads()-1 {
			return total, err
		}
		all.inputs = append(all.inputs[:i:i], m.name("sums", 0, 0))
		return total, m.run.make(all.inputs[i], func(w *writer) error { return total.Each(w.write) })
	})
}

// sums reads the sums of a read from a piece.
func (f folder) sums(name string, s *view.Sums) error {
	r, err := f.open(name, s.Length())
	if err != nil {
		return err
	}
	defer r.close()
	return s.Each(r.read)
}

func (w *Worker) measure(ctx context.Context, f folder, store *csr.Store, t Task) error {
	p, err := pipelineOf(t.View.Pipeline)
	if err != nil {
		return refusal{err}
	}
	v := view.Plan(store, p, store.Transposed())
	if len(t.Settled) >= v.Reads() || len(t.Sum) != 1 {
		return refusal{errors.New("a task of a read that its view does not make")}
	}
	for i, name := range t.Settled {
		s := v.NewSums(i, 0, store.Rows())
		if err := errors.Join(f.sums(name, s), v.Settle(s)); err != nil {
			return err
		}
	}
	s, err := v.Sum(ctx, stream.Options{Memory: w.Memory, Workers: w.Workers}, len(t.Settled), t.From, t.To)
	if err != nil {
		return err
	}
	return f.make(t.Sum[0], func(w *writer) error { return s.Each(w.write) })
}
