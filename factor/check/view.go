package check

import (
	"context"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// view returns the view that result.json states.
func (c *checker) view(ctx context.Context, store *source.Source) (*view.View, error) {
	said := c.stated.View
	p, err := c.stated.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	across, _ := csr.Orient(store.Store, false, true)
	v := view.Plan(store, p, across)
	if v.Fingerprint() != said.Fingerprint {
		return nil, says(csr.ErrCorrupt, "%s: view: its fingerprint is %s, that of %v is %s: the file is damaged; remove the result and compute it again", filepath.Join(c.dir, factor.ResultFile), said.Fingerprint, p, v.Fingerprint())
	}
	return v, nil
}

// statistics measures the statistics of a view; a nil view has none.
func (t *triplets) statistics(ctx context.Context, v *view.View) error {
	if v == nil {
		return nil
	}
	o := stream.Options{Memory: t.Memory, Workers: t.Workers}
	err := t.store.MeasureBy(v, t.Progress, func() error {
		if t.tasks != nil {
			return t.tasks.Measure(ctx, o, nil)
		}
		return v.Measure(ctx, o)
	})
	if err != nil && ctx.Err() != nil {
		err = says(context.Canceled, source.Interrupted)
	}
	return err
}
