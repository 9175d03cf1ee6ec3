// Package export writes the vectors and values of a result for other programs, with the ids of their rows.
//
// Of a result with U (rows × k), Σ and V (cols × k) it writes U, V, US = U·Σ, VS = V·Σ or sigma, as
//
//	npy, npy32   the array of float64 or float32
//	npz          the array, sigma, ids and titles as arrays of NumPy
//	csv, tsv     a table: id, title (if there are any), c1 … ck; numbers read back exactly
//	parquet      the same table, with ids as int64 or string and double numbers
//	mtx          Matrix Market, coordinate, all entries, row by row
//
// The table of sigma has the columns component, from 1, and sigma, which holds the eigenvalues of a result of eigenpairs. The
// array X of a projection or an alignment is written in the same formats. A file appears when it is complete. Only a window of
// rows is in memory; its size does not depend on the number of rows.
package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// Options of Write.
type Options struct {
	What     string                  // one of Tables, or Array
	File     string                  // file to write
	Format   string                  // one of Formats; "": that of the extension of File
	Bare     bool                    // without ids and titles
	Guarded  bool                    // in csv and tsv, ids and titles are changed so that no spreadsheet takes them for formulas; see escape.Formula
	Replace  bool                    // replace an existing file
	Memory   int64                   // budget of the whole process in bytes, not used by WriteMatrix; 0: factor.DefaultMemory. A small budget makes row groups of Parquet smaller
	Workers  int                     // 0: all processors; the file does not depend on it
	FS       vfs.FS                  // nil: the operating system's
	Progress func(done, total int64) // reports the rows written; may be nil
}

// Report describes the file that Write has written.
type Report struct {
	Result  string `json:"result"`  // directory of the result
	What    string `json:"what"`    // name of what was exported: U, V, US, VS, sigma or X
	Format  string `json:"format"`  // format of the file
	File    string `json:"file"`    // name of the file
	Rows    int64  `json:"rows"`    // number of rows in the file
	Columns int    `json:"columns"` // number of columns in the file, without those of ids and titles
	IDs     bool   `json:"ids"`     // whether ids are in the file
	Titles  bool   `json:"titles"`  // whether titles are in the file
	Bytes   int64  `json:"bytes"`   // size of the file
}

// Tables lists the tables of a result.
func Tables() []string { return []string{"U", "V", "US", "VS", "sigma"} }

// Formats lists the formats, each of which is the extension of its files (npy32: npy).
func Formats() []string { return []string{"npy", "npy32", "npz", "csv", "tsv", "parquet", "mtx"} }

// FormatOf returns the format of a file by its extension.
func FormatOf(file string) (string, error) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	if slices.Contains(Formats(), ext) {
		return ext, nil
	}
	return "", fmt.Errorf("%s: its extension is not that of a format: want one of %s", file, strings.Join(Formats(), ", "))
}

// Write writes a table of a result to a file.
func Write(ctx context.Context, r *factor.Result, o Options) (*Report, error) {
	return write(ctx, r.Dir(), o, func(o Options) (*table, error) { return open(ctx, r, o) })
}

// Array is the only table of the directories of packages foldin and align.
const Array = "X"

// WriteArray writes the array X of a projection or an alignment to a file. o.What is Array.
func WriteArray(ctx context.Context, dir string, o Options) (*Report, error) {
	var d description
	r, err := write(ctx, dir, o, func(given Options) (*table, error) {
		o.FS = given.FS
		return openArray(ctx, dir, &d, given)
	})
	if errors.Is(err, csr.ErrCorrupt) && d.CRC != 0 {
		err = folder.OrReplaced(o.FS, dir, d.CRC, err)
	}
	return r, err
}

// description holds the fields of a projection.json or alignment.json that export needs.
type description struct {
	Rows  int64         `json:"rows"`
	K     int           `json:"k"`
	IDs   factor.IDs    `json:"ids"`
	Files []factor.File `json:"files"`
	CRC   crc.Sum       `json:"crc"`
}

func write(ctx context.Context, dir string, o Options, open func(Options) (*table, error)) (_ *Report, err error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	t, err := open(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	report := &Report{Result: dir, What: o.What, Format: o.Format, File: o.File, Rows: t.rows, Columns: t.k, IDs: t.names != nil, Titles: t.titled()}
	return report, o.replace(report, func(out io.Writer) error { return t.write(ctx, out, o) })
}

// prepare sets defaults, and returns an error if the file may not be written.
func (o *Options) prepare() (err error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Format == "" {
		if o.Format, err = FormatOf(o.File); err != nil {
			return err
		}
	}
	info, err := o.FS.Stat(o.File)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = o.FS.Lstat(o.File) // a symbolic link that leads nowhere
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type()&^fs.ModeSymlink != 0:
		return vfs.Regular(o.File, info)
	case !o.Replace:
		return &fs.PathError{Op: "create", Path: o.File, Err: fs.ErrExist}
	}
	return nil
}

// replace writes the file and publishes it in one step.
func (o *Options) replace(report *Report, write func(io.Writer) error) error {
	return durable.Publish(o.FS, o.File, func(f vfs.File) error {
		out := &counter{w: bufio.NewWriterSize(f, 1<<18)}
		err := write(out)
		report.Bytes = out.n
		return cmp.Or(err, out.w.Flush())
	})
}

type table struct {
	what    string
	rows    int64
	k       int
	columns []string // names of the columns of numbers
	sigma   []float64

	factor *factor.Factor // nil: sigma
	scaled bool           // whether columns are multiplied by sigma
	names  *factor.Names  // nil: no ids, or ids of sigma
	idName string         // "" without ids
	most   int            // see windowBytes
}

// named holds the formats that have ids.
var named = map[string]bool{"npz": true, "csv": true, "tsv": true, "parquet": true}

func open(ctx context.Context, r *factor.Result, o Options) (_ *table, err error) {
	t := &table{what: o.What, sigma: r.Values()}
	if len(t.sigma) != r.K {
		return nil, fmt.Errorf("%s: %d values, k is %d: the file is damaged; compute the result again", filepath.Join(r.Dir(), factor.ResultFile), len(t.sigma), r.K)
	}
	if o.What == "sigma" {
		t.rows, t.k, t.columns = int64(r.K), 1, []string{"sigma"}
		if named[o.Format] && o.Format != "npz" && !o.Bare {
			t.idName = "component"
		}
		return t, nil
	}
	factorOf, namesOf := r.OpenU, r.RowNames
	switch o.What {
	case "U", "US":
	case "V", "VS":
		factorOf, namesOf = r.OpenV, r.ColNames
	default:
		return nil, fmt.Errorf("%q is nothing to export: want one of %s", o.What, strings.Join(Tables(), ", "))
	}
	if t.factor, err = factorOf(); err != nil {
		return nil, err
	}
	t.scaled = strings.HasSuffix(o.What, "S")
	return t.with(o, func() (*factor.Names, error) { return namesOf(ctx) })
}

// openArray opens the array of a directory of package foldin or align.
func openArray(ctx context.Context, dir string, d *description, o Options) (*table, error) {
	if o.What != Array {
		return nil, fmt.Errorf("%q: of %s only %s can be exported", o.What, dir, Array)
	}
	err := folder.Read(o.FS, dir, d)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is of what gdsvd project and gdsvd align write", err, Array)
	}
	if err != nil {
		return nil, err
	}
	side := cmp.Or(d.IDs.Rows, d.IDs.Cols)
	if side == nil {
		return nil, fmt.Errorf("%s does not say what the ids of its rows are", dir)
	}
	t := &table{what: o.What}
	if t.factor, err = factor.OpenFactor(o.FS, dir, d.Files, folder.Vectors, d.Rows, d.K); err != nil {
		return nil, err
	}
	return t.with(o, func() (*factor.Names, error) { return factor.OpenNames(ctx, o.FS, dir, side, d.Files, d.Rows) })
}

// with sets the shape and the columns by the vectors, and opens the names if the format has them.
func (t *table) with(o Options, names func() (*factor.Names, error)) (_ *table, err error) {
	t.rows, t.k = t.factor.Dims()
	for j := range t.k {
		t.columns = append(t.columns, "c"+strconv.Itoa(j+1))
	}
	if named[o.Format] && !o.Bare {
		t.idName = "id"
		if t.names, err = names(); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

func (t *table) close() (err error) {
	if t.factor != nil {
		err = t.factor.Close()
	}
	if t.names != nil {
		err = errors.Join(err, t.names.Close())
	}
	return err
}

func (t *table) titled() bool { return t.names != nil && t.names.Titled() }
func (t *table) ints() bool   { return t.names == nil || t.names.Ints() }

type window struct {
	first  int64
	x      *mat.Dense
	ids    []string // nil: no ids
	titles []string // nil: no titles
}

// windowBytes is the largest number of bytes of numbers of a window. A window also ends when its ids and titles take as much:
// few rows may have long ones.
const windowBytes = 32 << 20

// read fills a window with the rows from first on, at most rows.
func (t *table) read(w *window, first int64, rows int) error {
	w.first = first
	rows, err := t.name(w, first, rows)
	if err != nil {
		return err
	}
	if w.x == nil || w.x.RawMatrix().Rows != rows {
		w.x = mat.NewDense(rows, t.k, nil)
	}
	if t.factor == nil {
		copy(w.x.RawMatrix().Data, t.sigma[first:])
	} else if err := t.factor.ReadRows(first, w.x); err != nil {
		return err
	}
	if t.scaled {
		for i := range rows {
			floats.Mul(w.x.RawRowView(i), t.sigma)
		}
	}
	return nil
}

// name puts the ids and titles of rows into a window, and returns the number of rows of the window.
func (t *table) name(w *window, first int64, rows int) (int, error) {
	w.ids, w.titles = w.ids[:0], w.titles[:0]
	if t.idName == "" {
		return rows, nil
	}
	size := 0
	for i := first; i < first+int64(rows) && size < t.most; i++ {
		id, err := t.id(i)
		if err != nil {
			return 0, err
		}
		w.ids, size = append(w.ids, id), size+len(id)
		if t.titled() {
			title, err := t.names.Title(i)
			if err != nil {
				return 0, err
			}
			w.titles, size = append(w.titles, title), size+len(title)
		}
	}
	return len(w.ids), nil
}

func (t *table) id(i int64) (string, error) {
	if t.names == nil {
		return strconv.FormatInt(i+1, 10), nil
	}
	return t.names.ID(i)
}

type encoder interface {
	window() int // rows at a time
	write(w *window) error
	close() error
}

func (t *table) encoder(ctx context.Context, out io.Writer, o Options) (encoder, error) {
	switch o.Format {
	case "npy", "npy32":
		return newArray(t, out, o.Format == "npy32")
	case "npz":
		return newArchive(ctx, t, out)
	case "csv":
		return newText(t, out, o, ',')
	case "tsv":
		return newText(t, out, o, '\t')
	case "mtx":
		return newMatrixMarket(t, out, o.Workers)
	case "parquet":
		return newParquet(t, out)
	}
	return nil, fmt.Errorf("format %q is not known: want one of %s", o.Format, strings.Join(Formats(), ", "))
}

func (t *table) write(ctx context.Context, out io.Writer, o Options) error {
	left, err := budget.Process().Left(cmp.Or(o.Memory, factor.DefaultMemory()), 8<<20)
	if err != nil {
		return err
	}
	t.most = int(min(windowBytes, left/8))
	e, err := t.encoder(ctx, out, o)
	if err != nil {
		return err
	}
	w, step := new(window), int64(e.window())
	for first := int64(0); first < t.rows; first += int64(w.x.RawMatrix().Rows) {
		o.Progress(first, t.rows)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.read(w, first, int(min(step, t.rows-first))); err != nil {
			return err
		}
		if err := e.write(w); err != nil {
			return err
		}
	}
	if err := e.close(); err != nil {
		return err
	}
	o.Progress(t.rows, t.rows)
	return nil
}

// rowsOf returns the number of rows of k float64s that fit into a number of bytes, at least one.
func rowsOf(bytes, k int) int { return max(1, bytes/8/k) }
