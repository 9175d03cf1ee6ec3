package factor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/stream/view"
)

// maxList bounds the size of a file with ids.
const maxList = 64 << 20

// warnUnknown logs that ids of a list are not those of the matrix.
func warnUnknown(log *slog.Logger) func(file string, unknown, ids int) {
	return func(file string, unknown, ids int) {
		log.Warn("some ids of a list are not in the store, and are left out", "list", file, "unknown", unknown, "ids", ids)
	}
}

// keepListed reads the lists that a pipeline keeps columns or rows of. warn is told of ids in
// them that the matrix does not have.
func keepListed(fsys vfs.FS, store *csr.Store, p view.Pipeline, warn func(file string, unknown, ids int)) (view.Pipeline, error) {
	return p.Resolve(func(step int, file string) (*view.Mask, error) {
		if file == "" {
			return nil, told(nil, "%v names what a result keeps by its checksum: give the FILE with their ids", p[step])
		}
		l, err := readList(fsys, file)
		if err != nil {
			return nil, told(err, "%v: %v", p[step], err)
		}
		kept, err := l.find(store, p[step].Axis)
		if err != nil {
			return nil, err
		}
		unknown, ids := len(l.line), l.ids
		switch {
		case ids == 0:
			return nil, told(nil, "%v: the file has no ids: give one a line", p[step])
		case 2*unknown > ids:
			id, line := l.first()
			return nil, told(nil, "%v: %d of %d ids, such as %q in line %d, are not among the %s of %s: give ids as the file that was ingested has them, one a line", p[step], unknown, ids, id, line, p[step].Axis, store.Path())
		case unknown > 0:
			warn(file, unknown, ids)
		}
		return view.NewMask(kept), nil
	})
}

// list is ids of a file, with the line each is first in. Those that are found are taken out.
type list struct {
	line map[string]int
	ids  int
}

func readList(fsys vfs.FS, name string) (*list, error) {
	b, err := vfs.ReadFile(fsys, name, maxList)
	if err != nil {
		return nil, err
	}
	return parseList(b), nil
}

// parseList reads ids, one a line. Lines without one are left out, and those that come again.
func parseList(b []byte) *list {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	l := &list{line: map[string]int{}}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		id := bytes.TrimSpace(line)
		if _, again := l.line[string(id)]; !again && len(id) > 0 {
			l.line[string(id)] = n
		}
	}
	l.ids = len(l.line)
	return l
}

// first is the id in the first line of those that are left.
func (l *list) first() (id string, line int) {
	for s, n := range l.line {
		if line == 0 || n < line {
			id, line = s, n
		}
	}
	return id, line
}

// sideOf is the axis of the store, and its length, that "columns" or "rows" of a step are.
func sideOf(store *csr.Store, name string) (csr.Axis, int64) {
	rowAxis, colAxis := Orient(store, csr.RowAxis, csr.ColAxis)
	rows, columns := Dims(store)
	if name == "rows" {
		return rowAxis, rows
	}
	return colAxis, columns
}

// find tells which of the user's columns or rows have ids in the list.
func (l *list) find(store *csr.Store, of string) (kept []bool, err error) {
	axis, n := sideOf(store, of)
	r, err := store.IDs(axis)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	kept = make([]bool, n)
	for at := 0; r.Next(); at++ {
		var id string
		if r.Kind() == csr.IntIDs {
			id = strconv.FormatInt(r.Int(), 10)
		} else {
			id = r.String()
		}
		if _, kept[at] = l.line[id]; kept[at] {
			delete(l.line, id)
		}
	}
	return kept, r.Err()
}

// Pipeline is that of the view that a result is of, with the masks that are kept beside it; empty if it is of the store itself.
func (r *Result) Pipeline(ctx context.Context) (view.Pipeline, error) {
	if r.View == nil {
		return nil, nil
	}
	p, err := view.Parse(r.View.Pipeline)
	if err == nil {
		p, err = p.Resolve(func(step int, file string) (*view.Mask, error) {
			if file != "" {
				return nil, fmt.Errorf("%v names a file, not what was in it", p[step])
			}
			n := r.Cols
			if p[step].Axis == "rows" {
				n = r.Rows
			}
			kept := make([]bool, n)
			err := r.statistic(ctx, viewFile(p, view.Statistic{Step: step, Name: "mask"}), func(i int64, v float64) { kept[i] = v != 0 }, n)
			return view.NewMask(kept), err
		})
	}
	if err != nil && ctx.Err() == nil {
		err = damagedResult(filepath.Join(r.dir, ResultFile), "view: %v", err)
	}
	return p, err
}

// statistic reads a file with n numbers of a view.
func (r *Result) statistic(ctx context.Context, name string, do func(i int64, v float64), n int64) (err error) {
	if !ofView(name) || filepath.Base(name) != name {
		return fmt.Errorf("%q is no file of a view", name)
	}
	m, err := npy.Open(r.fs, filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if m.Rows != n || m.Dims != 1 {
		return fmt.Errorf("%s is %s, not %d numbers", name, m.Shape(), n)
	}
	return m.Each(ctx, 1, func(i int64, row []float64) { do(i, row[0]) })
}

// Fit fits steps of the view of a result, by what they have measured of its matrix, to rows that it does not have, or to
// columns.
func (r *Result) Fit(ctx context.Context, p view.Pipeline, columns bool) (*view.Fitted, error) {
	return view.Fit(p, r.Rows, r.Cols, columns, func(step int, name string, n int64) ([]float64, error) {
		x := make([]float64, n)
		nth := 0 // of the steps that are the same
		for _, s := range p[:step] {
			if s.String() == p[step].String() {
				nth++
			}
		}
		for _, s := range r.View.Statistics {
			switch {
			case s.Step != p[step].String() || s.Name != name:
			case nth > 0:
				nth--
			case s.Value != nil:
				x[0] = float64(*s.Value)
				return x, nil
			default:
				err := r.statistic(ctx, s.File, func(i int64, v float64) { x[i] = v }, n)
				if err != nil && ctx.Err() == nil {
					err = damagedResult(filepath.Join(r.dir, s.File), "%v", err)
				}
				return x, err
			}
		}
		return nil, fmt.Errorf("%s does not say the %s of its step %v: it was made by an earlier version; compute it again", r.dir, name, p[step])
	})
}
