package factor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// View is what a result says of the view of the store that it is of.
type View struct {
	Pipeline    string `json:"pipeline"`    // all of it, in canonical form
	Fingerprint string `json:"fingerprint"` // of the store and the pipeline
	Norm        Number `json:"norm"`        // ‖B‖_F
	Reads       int    `json:"reads"`       // of the store, for statistics, beside the passes
	// Observations are the rows if all columns have the mean 0, or the columns if all rows have,
	// Variance is σ²/(Observations−1) of each triplet, and VarianceRatio σ²/‖B‖²_F. Absent otherwise.
	Observations  int64           `json:"observations,omitempty"`
	Variance      []Number        `json:"explained_variance,omitempty"`
	VarianceRatio []Number        `json:"explained_variance_ratio,omitempty"`
	Statistics    []ViewStatistic `json:"statistics,omitempty"`
}

// ViewStatistic is a number that a step has measured, or the file with one for each column.
type ViewStatistic struct {
	Step  string  `json:"step"`
	Name  string  `json:"name"`
	File  string  `json:"file,omitempty"`
	Value *Number `json:"value,omitempty"`
}

// viewPrefix begins the names of files with statistics of a view.
const viewPrefix = "view-"

// pipeline is that of the view that a result is of, "" of none.
func (r *Result) pipeline() string {
	if r.View == nil {
		return ""
	}
	return r.View.Pipeline
}

// source is what is factorised: the store, or its view.
func (t *task) source() stream.Source {
	if t.view != nil {
		return t.view
	}
	return t.store
}

// planView makes the view of the options, of which nothing has been measured.
func (t *task) planView() (err error) {
	if len(t.View) == 0 {
		return nil
	}
	t.View, err = keepListed(t.FS, t.store, t.View, warnUnknown(t.Log))
	if err != nil {
		return err
	}
	t.counted = &counted{Store: t.store}
	t.view = view.Plan(t.counted, t.View, t.store.Transposed())
	return nil
}

// measureView reads the store for the statistics of the view, unless they are kept beside the checkpoint.
func (t *task) measureView(ctx context.Context, before outState) error {
	if t.view == nil || t.recallView(before) {
		return nil
	}
	return measureView(ctx, t.view, t.counted, stream.Options{Memory: t.Memory, Workers: t.Workers}, t.Measuring)
}

func measureView(ctx context.Context, v *view.View, store *counted, o stream.Options, progress func(done, total int64)) error {
	store.count(int64(v.Reads())*encoded(store.Store), progress)
	err := v.Measure(ctx, o)
	store.progress.Store(nil)
	return viewError(ctx, store.Store, err)
}

// viewError names what an error of a read through a view is about.
func viewError(ctx context.Context, store *csr.Store, err error) error {
	var at *view.ValueError
	switch {
	case err != nil && ctx.Err() != nil:
		return told(context.Canceled, "interrupted while the statistics of the view were measured; nothing is written")
	case errors.As(err, &at):
		row, col := userID(store, csr.RowAxis, at.Row), userID(store, csr.ColAxis, at.Col)
		return told(err, "%s", at.Say("row "+row, "column "+col))
	}
	return err
}

// userID is the id of a row or column of the user's matrix, for an error.
func userID(store *csr.Store, axis csr.Axis, i int64) string {
	rows, cols := Orient(store, csr.RowAxis, csr.ColAxis)
	of := rows
	if axis == csr.ColAxis {
		of = cols
	}
	plain := fmt.Sprintf("%d (from 0)", i)
	r, err := store.IDs(of)
	if r == nil || err != nil {
		return plain
	}
	defer r.Close()
	for at := int64(0); r.Next(); at++ {
		if at == i {
			if r.Kind() == csr.IntIDs {
				return r.String()
			}
			return fmt.Sprintf("%q", r.String())
		}
	}
	return plain
}

// encoded is the bytes of all blocks of a store.
func encoded(store *csr.Store) (bytes int64) {
	for i := range store.NumBlocks() {
		bytes += store.Block(i).Size
	}
	return bytes
}

// counted is a store that shows how much of it has been read.
type counted struct {
	*csr.Store
	read     atomic.Int64
	toRead   int64
	progress atomic.Pointer[func(done, total int64)] // may be nil
}

// count starts the progress of a phase that reads toRead bytes.
func (c *counted) count(toRead int64, progress func(done, total int64)) {
	c.read.Store(0)
	c.toRead = toRead
	c.progress.Store(&progress)
}

func (c *counted) DecodeBlock(i int, dst *csr.Block) error {
	err := c.Store.DecodeBlock(i, dst)
	if f := c.progress.Load(); f != nil {
		(*f)(c.read.Add(c.Store.Block(i).Size), c.toRead)
	}
	return err
}

// sayView adds what there is to say of a view to the result of its matrix.
func (t *task) sayView(r *Result) {
	if t.view == nil {
		return
	}
	norm, _ := t.view.Norm()
	r.View = &View{Pipeline: t.View.String(), Fingerprint: t.view.Fingerprint(), Norm: Number(norm), Reads: t.view.Reads()}
	switch t.View.Centred() {
	case "columns":
		r.View.Observations = r.Rows
	case "rows":
		r.View.Observations = r.Cols
	}
	if n := r.View.Observations; n > 0 {
		for _, s := range r.Sigma {
			r.View.Variance = append(r.View.Variance, s*s/Number(max(1, n-1)))
			r.View.VarianceRatio = append(r.View.VarianceRatio, share(s, Number(norm)))
		}
	}
	for _, s := range t.view.Statistics() {
		say := ViewStatistic{Step: t.View[s.Step].String(), Name: s.Name}
		if s.Number {
			say.Value = (*Number)(&s.Values[0])
		} else {
			say.File = viewFile(t.View, s)
		}
		r.View.Statistics = append(r.View.Statistics, say)
	}
}

// share is (σ/norm)².
func share(s, norm Number) Number {
	if norm == 0 {
		return 0
	}
	return s / norm * (s / norm)
}

// viewFile is the name of the file of a statistic.
func viewFile(p view.Pipeline, s view.Statistic) string {
	return fmt.Sprintf("%s%d-%s-%s.npy", viewPrefix, s.Step+1, p[s.Step].Name, s.Name)
}

// ofView tells whether a file of OUT is a statistic of a view.
func ofView(name string) bool {
	return strings.HasPrefix(name, viewPrefix) && strings.HasSuffix(name, ".npy")
}

// writeView writes the statistics that have a number for each column.
func (o *output) writeView(p view.Pipeline, statistics []view.Statistic) error {
	for _, s := range statistics {
		if s.Number {
			continue
		}
		f := File{Name: viewFile(p, s)}
		if err := f.of(npy.WriteVector(o.fsys, o.path(f.Name), s.Values)); err != nil {
			return err
		}
		o.files = append(o.files, f)
	}
	return nil
}
