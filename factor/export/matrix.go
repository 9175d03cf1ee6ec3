package export

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// Matrix is the Report.What of WriteMatrix.
const Matrix = "matrix"

// MatrixFormats lists the formats of WriteMatrix, each of which is the extension of its files.
func MatrixFormats() []string { return []string{"mtx", "npz", "csv", "tsv", "parquet"} }

// WriteMatrix writes the entries of a store as the view of l makes them:
//
//	mtx       Matrix Market, coordinate; rows and columns count from 1
//	npz       the format of scipy.sparse.load_npz: CSR, or CSC if the store has the columns as its rows
//	csv, tsv  row, column, value, with ids, or indices from 0 if the store has no ids or o.Bare; numbers read back exactly
//	parquet   the same table; ids are int64 or string, values double
//
// Entries are in the order of the store. Entries that the view makes 0 are left out; a view that fills the matrix is refused.
// The memory does not grow with the number of entries; csv, tsv and parquet hold the ids of the side that is not stored as rows.
// WriteMatrix uses File, Format, Bare, Guarded, Replace and FS of o.
func WriteMatrix(ctx context.Context, store *csr.Store, o Options, l look.Options) (*Report, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	if !slices.Contains(MatrixFormats(), o.Format) {
		return nil, fmt.Errorf("a matrix is not written as %s: want one of %s", o.Format, strings.Join(MatrixFormats(), ", "))
	}
	w := &entries{ctx: ctx, store: store, o: o, nnz: store.NNZ()}
	write, reads := w.table, 1
	switch o.Format {
	case "mtx":
		write = w.mtx
	case "npz":
		write, reads = w.npz, 3
	}
	named := named[o.Format] && o.Format != "npz"
	counted := len(l.View) > 0 && !named // the file begins with the number of entries
	if counted {
		reads++
	}
	var err error
	if w.m, err = look.OpenMatrix(ctx, store, l, reads); err != nil {
		return nil, err
	}
	if counted {
		w.nnz = 0
		if err := w.m.EachRow(w.ctx, func(_ int64, cols []uint32, _ []float64) error { w.nnz += int64(len(cols)); return nil }); err != nil {
			return nil, err
		}
	}
	w.rows, w.cols = factor.Dims(store)
	report := &Report{Result: store.Path(), What: Matrix, Format: o.Format, File: o.File, Rows: w.rows, Columns: int(w.cols), IDs: named && !o.Bare && store.Manifest().IDs != (csr.IDFiles{})}
	return report, o.replace(report, func(out io.Writer) error {
		w.out = out
		return write()
	})
}

type entries struct {
	ctx        context.Context
	store      *csr.Store
	m          *look.Matrix
	o          Options
	out        io.Writer
	rows, cols int64 // of the user's matrix
	nnz        int64
	buf        []byte
}

func (w *entries) mtx() error {
	fmt.Fprintf(w.out, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", w.rows, w.cols, w.nnz)
	return w.m.EachRow(w.ctx, func(row int64, cols []uint32, vals []float64) error {
		for i, c := range cols {
			r, c := csr.Orient(w.store, row, int64(c))
			w.buf = append(strconv.AppendInt(w.buf[:0], r+1, 10), ' ')
			w.buf = append(strconv.AppendInt(w.buf, c+1, 10), ' ')
			if _, err := w.out.Write(append(number(w.buf, vals[i]), '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

// npz writes the arrays one after the other, each by a read of the store.
func (w *entries) npz() error {
	z := npz{zip.NewWriter(w.out)}
	descr, put := "<i4", func(b []byte, x int64) []byte { return binary.LittleEndian.AppendUint32(b, uint32(x)) }
	if max(w.nnz, w.rows, w.cols) > math.MaxInt32 {
		descr, put = "<i8", func(b []byte, x int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(x)) }
	}
	kind := "csr"
	if w.store.Transposed() {
		kind = "csc"
	}
	f, err := z.file("format", npy.HeaderOf("|S3"))
	if err == nil {
		_, err = io.WriteString(f, kind)
	}
	if err != nil {
		return err
	}
	if f, err = z.file("shape", npy.HeaderOf("<i8", 2)); err == nil {
		_, err = f.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(w.rows)), uint64(w.cols)))
	}
	if err != nil {
		return err
	}
	for _, a := range []struct {
		name, descr string
		n           int64
		row         func(b []byte, cols []uint32, vals []float64) []byte
	}{
		{"data", "<f8", w.nnz, func(b []byte, _ []uint32, vals []float64) []byte {
			for _, v := range vals {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
			return b
		}},
		{"indices", descr, w.nnz, func(b []byte, cols []uint32, _ []float64) []byte {
			for _, c := range cols {
				b = put(b, int64(c))
			}
			return b
		}},
		{"indptr", descr, w.store.Rows() + 1, nil},
	} {
		if f, err = z.file(a.name, npy.HeaderOf(a.descr, a.n)); err != nil {
			return err
		}
		w.buf = w.buf[:0]
		if a.row == nil {
			end := int64(0)
			a.row = func(b []byte, cols []uint32, _ []float64) []byte { end += int64(len(cols)); return put(b, end) }
			w.buf = put(w.buf, 0)
		}
		err := w.m.EachRow(w.ctx, func(_ int64, cols []uint32, vals []float64) error {
			w.buf = a.row(w.buf, cols, vals)
			if len(w.buf) < 1<<16 {
				return nil
			}
			_, err := f.Write(w.buf)
			w.buf = w.buf[:0]
			return err
		})
		if err == nil {
			_, err = f.Write(w.buf)
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}

// table writes lines of row, column and value.
func (w *entries) table() (err error) {
	across, kinds, err := w.columnIDs()
	if err != nil {
		return err
	}
	along := func(n int64) (tabular.Value, error) { return tabular.Value{Int: n}, nil }
	if !w.o.Bare {
		ids, bad := w.store.IDs(csr.RowAxis)
		if bad != nil {
			return bad
		}
		defer func() { err = errors.Join(err, ids.Close()) }()
		kinds[csr.RowAxis] = kindOf(ids)
		along = func(int64) (tabular.Value, error) {
			if !ids.Next() {
				return tabular.Value{}, errors.Join(ids.Err(), fmt.Errorf("ids: %w", io.ErrUnexpectedEOF))
			}
			if ids.Kind() == csr.IntIDs {
				return tabular.Value{Int: ids.Int()}, nil
			}
			return tabular.Value{Text: ids.String()}, nil
		}
	}
	var id, other, value tabular.Value // id of a row of the store, id of a column
	row, col := csr.Orient(w.store, &id, &other)
	first, second := csr.Orient(w.store, kinds[csr.RowAxis], kinds[csr.ColAxis])
	at, _ := csr.Orient(w.store, 0, 1)
	t, err := tabular.New(w.out, w.o.Format, w.o.Guarded, tabular.Column{Name: "row", Kind: first}, tabular.Column{Name: "column", Kind: second}, tabular.Column{Name: "value", Kind: tabular.Float})
	if err != nil {
		return err
	}
	err = w.m.EachRow(w.ctx, func(n int64, cols []uint32, vals []float64) (err error) {
		if id, err = along(n); err != nil {
			return err
		}
		t.Make(at, &id)
		for i, c := range cols {
			other, value.Float = across(c), vals[i]
			if err := t.Add(row, col, &value); err != nil {
				return err
			}
		}
		return nil
	})
	return cmp.Or(err, t.Close())
}

// columnIDs reads the ids of the columns of the store. kinds holds the kinds of ids by axis; the caller sets that of the rows.
func (w *entries) columnIDs() (id func(c uint32) tabular.Value, kinds [2]tabular.Kind, err error) {
	kinds = [2]tabular.Kind{tabular.Int, tabular.Int}
	file := w.store.Manifest().IDs.Cols
	if w.o.Bare || file == nil {
		return func(c uint32) tabular.Value { return tabular.Value{Int: int64(c)} }, kinds, nil
	}
	const each = 32 // bytes of an id beside its text
	memory, need := budget.Process(), file.Size+each*file.Count
	memory.Take(fmt.Sprintf("ids of %d columns", file.Count), need)
	if _, err := memory.Left(w.m.Memory(), need); err != nil {
		return nil, kinds, fmt.Errorf("%w: give more, leave the ids out, or export mtx or npz", err)
	}
	r, err := w.store.IDs(csr.ColAxis)
	if err != nil {
		return nil, kinds, err
	}
	kinds[csr.ColAxis] = kindOf(r)
	var numbers []int64
	var names []string
	for r.Next() {
		if r.Kind() == csr.IntIDs {
			numbers = append(numbers, r.Int())
		} else {
			names = append(names, r.String())
		}
	}
	id = func(c uint32) tabular.Value { return tabular.Value{Int: numbers[c]} }
	if names != nil {
		id = func(c uint32) tabular.Value { return tabular.Value{Text: names[c]} }
	}
	return id, kinds, errors.Join(r.Err(), r.Close())
}

func kindOf(r *csr.IDReader) tabular.Kind {
	if r.Kind() == csr.IntIDs {
		return tabular.Int
	}
	return tabular.Text
}
