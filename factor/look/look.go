package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
)

// Options say what Peek and Summarise look at.
type Options struct {
	View     view.Pipeline           // what the store is seen through; empty: it is seen as it is
	Memory   int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers  int                     // 0: all processors; what is found does not depend on it
	FS       vfs.FS                  // nil: the operating system's
	Progress func(done, total int64) // receives bytes of the store; may be nil; called concurrently
	Log      *slog.Logger            // nil: nothing is logged
}

type look struct {
	Options
	store *source.Source
	view  *view.View
}

// newLook measures the view of a store, which is to be read some times more.
func newLook(ctx context.Context, store *csr.Store, o Options, reads int) (*look, error) {
	o.Memory = cmp.Or(o.Memory, factor.DefaultMemory())
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.FS = cmp.Or(o.FS, vfs.OS())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	src := source.New(store, rows, cols)
	if !o.View.Imputes() {
		if err := store.NoMissing(); err != nil {
			return nil, err
		}
	}
	var err error
	if o.View, err = src.Keep(o.FS, o.View, o.Memory, o.Log); err != nil {
		return nil, err
	}
	l := &look{Options: o, store: src}
	across, _ := csr.Orient(store, false, true)
	if len(o.View) == 0 {
		l.view = view.Identity(l.store, across)
	} else {
		l.view = view.Plan(l.store, o.View, across)
		reads += l.view.Reads()
	}
	if o.Progress != nil {
		l.store.Count(reads, o.Progress)
	}
	if len(o.View) == 0 {
		return l, nil
	}
	return l, l.told(ctx, l.view.Measure(ctx, l.options(0)))
}

func (l *look) options(reserve int64) stream.Options {
	return stream.Options{Memory: l.Memory, Workers: l.Workers, Reserve: reserve}
}

// told is the error of a read.
func (l *look) told(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return l.store.Named(err)
}

// pipeline is that of the view, "" of none.
func (l *look) pipeline() string {
	if len(l.View) == 0 {
		return ""
	}
	return l.View.String()
}

// namesOf are the names of the rows or columns of a store with these numbers.
func namesOf(store *csr.Store, axis csr.Axis, at []int64) (_ map[int64]factor.Name, err error) {
	at = slices.Clone(at)
	slices.Sort(at)
	names := make(map[int64]factor.Name, len(at))
	titles, err := store.Titles(axis)
	if err != nil {
		return nil, err
	}
	if titles != nil {
		defer func() { err = errors.Join(err, titles.Close()) }()
	}
	r, err := store.IDs(axis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	n := int64(-1)
	for _, i := range slices.Compact(at) {
		for n < i {
			n++
			if !r.Next() {
				return nil, cmp.Or(r.Err(), fmt.Errorf("%s has no id number %d", store.Path(), n))
			}
		}
		name := factor.Name{Index: i, ID: source.Value(r)}
		if titles != nil {
			if name.Title, err = titles.At(i); err != nil {
				return nil, err
			}
		}
		names[i] = name
	}
	return names, nil
}

// indexOf is the number of the row or column with an id, −1 if there is none.
func indexOf(store *csr.Store, axis csr.Axis, id string) (_ int64, err error) {
	r, err := store.IDs(axis)
	if err != nil {
		return -1, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	number, bad := strconv.ParseInt(id, 10, 64)
	if bad != nil && r.Kind() == csr.IntIDs {
		return -1, nil
	}
	for at := int64(0); r.Next(); at++ {
		if r.Kind() == csr.IntIDs && r.Int() == number || r.Kind() != csr.IntIDs && r.String() == id {
			return at, nil
		}
	}
	return -1, r.Err()
}

func says(format string, args ...any) error { return &factor.Error{Format: format, Args: args} }
