package factor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
)

// Factor is an open file of U or V, which has one row for each row or column of the user's matrix. It reads windows of
// rows. A Factor is not safe for concurrent use: each goroutine opens its own.
type Factor struct{ m *npy.Matrix }

// OpenU opens U, Rows × K.
func (r *Result) OpenU() (*Factor, error) { return r.factor(layout.Left, r.Rows) }

// OpenV opens V, Cols × K.
func (r *Result) OpenV() (*Factor, error) { return r.factor(layout.Right, r.Cols) }

func (r *Result) factor(name string, rows int64) (*Factor, error) {
	a := r.arrays[name]
	switch {
	case a != nil:
		return a.factor(r.fs, r.dir, rows, r.K)
	case r.Lambda != nil && name == layout.Left:
		return nil, says(fs.ErrNotExist, "%s holds no %s: eigenvectors are in %s alone", r.dir, name, layout.Right)
	case r.Settings.Vectors == Both.String():
		return nil, says(fs.ErrNotExist, "%s holds no %s: the run was interrupted before it was made", r.dir, name)
	}
	return nil, says(fs.ErrNotExist, "%s holds no %s: it was made with %v %s", r.dir, name, Option("Vectors"), r.Settings.Vectors)
}

// OpenFactor opens the file with the given name as an array of rows × k numbers. files must list it; its checksums verify
// what is read.
func OpenFactor(fsys vfs.FS, dir string, files []File, name string, rows int64, k int) (*Factor, error) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == name })
	if i < 0 {
		return nil, damagedResult(dir, "files: %s is not listed", name)
	}
	a, err := newArray(nil, files[i])
	if err != nil {
		return nil, damagedResult(dir, "%v", err)
	}
	return a.factor(fsys, dir, rows, k)
}

func (a *array) factor(fsys vfs.FS, dir string, rows int64, k int) (*Factor, error) {
	m, err := a.open(fsys, dir)
	if err == nil && (m.Rows != rows || m.Cols != int64(k)) {
		err = errors.Join(damagedResult(m.Name(), "its shape is %s, not %d×%d", m.Shape(), rows, k), m.Close())
	}
	if err != nil {
		return nil, err
	}
	return &Factor{m}, nil
}

// Dims returns the numbers of rows and of vectors.
func (f *Factor) Dims() (rows int64, k int) { return f.m.Rows, int(f.m.Cols) }

// ReadRows fills rows with the rows of the file from first on, and as many columns of them as rows has. A number that is
// not finite is an error.
func (f *Factor) ReadRows(first int64, rows *mat.Dense) error {
	n, k := rows.Dims()
	if first < 0 || first+int64(n) > f.m.Rows || int64(k) > f.m.Cols {
		return fmt.Errorf("%s holds %s numbers, not %d rows from %d on of %d columns", f.m.Name(), f.m.Shape(), n, first, k)
	}
	if err := f.m.ReadRows(first, 0, rows); err != nil {
		return err
	}
	for i := range n {
		for j, v := range rows.RawRowView(i) {
			if v-v != 0 {
				return damagedResult(f.m.Name(), "entry (%d, %d) is %v", first+int64(i), j, v)
			}
		}
	}
	return nil
}

// Close closes the file.
func (f *Factor) Close() error { return f.m.Close() }

// Values returns the singular values, descending, or the eigenvalues of a result of eigenpairs.
func (r *Result) Values() []float64 {
	values := r.Sigma
	if r.Settings.Which != "" {
		values = r.Lambda
	}
	x := make([]float64, len(values))
	for i, v := range values {
		x[i] = float64(v)
	}
	return x
}

// Errors returns, for each column of n rows of vectors times values, the magnitude up to which an entry may be nothing but
// the error of the vector: value/√n, the mean magnitude of an entry, times residual/gap, between 1e-12 and 1e-3, with a
// relative gap of 1e-3. It returns nil for a completion, which has no residuals.
func (r *Result) Errors(n int64, values []float64) (all []float64) {
	for j := range min(len(values), len(r.Residual)) {
		all = append(all, math.Abs(values[j])/math.Sqrt(float64(n))*min(max(1e3*float64(r.Residual[j]), 1e-12), 1e-3))
	}
	return all
}

// Units divides each row by its length. A row without an entry above its error (see Result.Errors; nil: errors are unknown)
// has no direction and is set to 0, such as the rows of a part of a graph that belongs to no triplet.
func Units(rows *mat.Dense, errors []float64) {
	for i := range rows.RawMatrix().Rows {
		row, known := rows.RawRowView(i), len(errors) == 0
		for j, e := range errors {
			known = known || math.Abs(row[j]) > e
		}
		if !known {
			clear(row)
		} else if length := floats.Norm(row, 2); length > 0 && !math.IsInf(length, 0) { // rows that are not finite are reported later
			for j := range row {
				row[j] /= length
			}
		}
	}
}

// ReadU fills rows with the rows of U from first on, as many of its columns as rows has.
func (r *Result) ReadU(first int64, rows *mat.Dense) error { return readFrom(r.OpenU, first, rows) }

// ReadV fills rows with the rows of V from first on, as many of its columns as rows has.
func (r *Result) ReadV(first int64, rows *mat.Dense) error { return readFrom(r.OpenV, first, rows) }

func readFrom(open func() (*Factor, error), first int64, rows *mat.Dense) error {
	f, err := open()
	if err != nil {
		return err
	}
	return errors.Join(f.ReadRows(first, rows), f.Close())
}

// array is a file of numbers of a result. It records which pieces have been compared with their checksums. The file may
// be open several times at once.
type array struct {
	File
	of    *Result // nil: the file is of a projection or an alignment
	first atomic.Pointer[fs.FileInfo]
	seen  []atomic.Bool // whether each piece of the file that was opened first is verified
}

// newArray returns the array of a listed file. It returns an error unless the file has a checksum for each piece.
func newArray(of *Result, f File) (*array, error) {
	if pieces := (f.Size + crc.Piece - 1) / crc.Piece; int64(len(f.Pieces)) != pieces {
		return nil, fmt.Errorf("files: %.60q has %d checksums of pieces, want %d", f.Name, len(f.Pieces), pieces)
	}
	return &array{File: f, of: of, seen: make([]atomic.Bool, len(f.Pieces))}, nil
}

// open opens the file in dir. Reads from it are verified.
func (a *array) open(fsys vfs.FS, dir string) (_ *npy.Matrix, err error) {
	defer func() { err = a.of.OrReplaced(err) }()
	path := filepath.Join(dir, a.Name)
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, says(csr.ErrCorrupt, "%s is not there, though the result names it: the result is damaged; remove it and compute it again", path)
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != a.Size {
		err = damagedResult(path, "byte %d: it ends there, not at %d", info.Size(), a.Size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	v := &verified{File: f, array: a, seen: a.seen, held: -1}
	if a.first.CompareAndSwap(nil, &info); !vfs.SameFile(*a.first.Load(), info) {
		v.seen = make([]atomic.Bool, len(a.seen)) // another file is in its place: none of its pieces is verified
	}
	m, err := npy.New(v)
	if errors.Is(err, npy.ErrFormat) {
		err = damagedResult(path, "%v", err)
	}
	return m, err
}

// Continue returns a line that names the checkpoint beside the result and the command that resumes from it. It returns ""
// if the result has converged or has no checkpoint.
func (r *Result) Continue() string {
	if r.fs == nil || r.Status == solver.Converged.String() {
		return ""
	}
	if _, err := r.fs.Stat(filepath.Join(r.dir, layout.Checkpoint)); err != nil {
		return ""
	}
	return fmt.Sprintf("a checkpoint is in %s: %s goes on from there", r.dir, Again(r.fs, r.dir, r.Status))
}

// OrReplaced returns err, an error of reading files of the result. If another process has replaced the result since it
// was opened, OrReplaced returns an error that says so instead.
func (r *Result) OrReplaced(err error) error {
	if r == nil || !errors.Is(err, csr.ErrCorrupt) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if now, bad := OpenFS(r.fs, r.dir); bad != nil || now.CRC == r.CRC {
		return err
	}
	return says(nil, "%s was replaced by another process while it was being read; run the command again", r.dir)
}

// verified is an open array. The first read in a piece reads the whole piece and compares it with its checksum; later
// reads in the piece read only the bytes asked for. It is not safe for concurrent use.
type verified struct {
	vfs.File
	*array
	seen  []atomic.Bool
	piece []byte // bytes of the piece held; nil: none read yet
	held  int64  // index of the piece in piece; −1: none
}

func (v *verified) Name() string { return v.File.Name() }

// ReadAt implements io.ReaderAt.
func (v *verified) ReadAt(b []byte, off int64) (n int, err error) {
	for n < len(b) && err == nil {
		at := off + int64(n)
		if at >= v.Size {
			return n, io.EOF
		}
		i := at / crc.Piece
		begin, end := i*crc.Piece, min((i+1)*crc.Piece, v.Size)
		part := b[n:min(int64(len(b)), end-off)]
		switch {
		case v.held == i:
			copy(part, v.piece[at-begin:])
		case v.seen[i].Load():
			_, err = v.File.ReadAt(part, at)
		case int64(len(part)) == end-begin:
			err = v.verify(part, i)
		default:
			if v.piece == nil {
				v.piece = make([]byte, min(crc.Piece, v.Size))
			}
			v.held = -1
			if err = v.verify(v.piece[:end-begin], i); err == nil {
				v.held = i
				copy(part, v.piece[at-begin:])
			}
		}
		n += len(part)
	}
	if err != nil {
		n = 0
	}
	return n, err
}

func (v *verified) verify(b []byte, i int64) error {
	begin := i * crc.Piece
	if _, err := v.File.ReadAt(b, begin); err != nil {
		return err
	}
	if got := crc.Sum(crc.Of(b)); got != v.Pieces[i] {
		return v.of.OrReplaced(says(csr.ErrCorrupt, "bytes %d to %d have the checksum %v, not %v: the file is damaged; remove the result and compute it again", begin, begin+int64(len(b)), got, v.Pieces[i]))
	}
	v.seen[i].Store(true)
	return nil
}
