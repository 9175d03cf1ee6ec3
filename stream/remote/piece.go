package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"
	"runtime"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/fault"
)

const (
	pieceMagic  = "gdsvdpc1"
	trailerSize = len(pieceMagic) + 8
	// portion is the number of float64s of a piece that are in memory at a time.
	portion = 32 << 10
)

// folder is the folder with the pieces of a run.
type folder struct {
	shelf
	dir string
}

// badPiece is the error of a piece that is missing or not what was written.
type badPiece struct {
	name string
	err  error
}

func (b *badPiece) Error() string { return fmt.Sprintf("piece %s: %v", b.name, b.err) }
func (b *badPiece) Unwrap() error { return b.err }

func (f folder) path(name string) string { return f.dir + "/" + name }

// sum returns the initial value of the checksum of a piece.
func (f folder) sum(name string) uint32 {
	return crc.Of([]byte(path.Base(filepath.ToSlash(f.dir)) + "/" + name))
}

// has reports whether a piece exists with the size of that many numbers.
func (f folder) has(name string, numbers int64) bool {
	size, err := f.size(f.path(name))
	return err == nil && size == 8*numbers+int64(trailerSize)
}

func (f folder) take(name string) error { return f.remove(f.path(name)) }

// writer writes a piece.
type writer struct {
	folder
	name string
	file vfs.File // under a temporary name
	sum  uint32
	buf  []byte
}

// create begins a piece. The piece exists from commit on; discard does nothing after commit.
func (f folder) create(name string) (*writer, error) {
	file, err := f.shelf.create(f.path(name))
	if err != nil {
		return nil, err
	}
	return &writer{folder: f, name: name, file: file, sum: f.sum(name), buf: make([]byte, 0, 8*portion)}, nil
}

func (w *writer) write(x []float64) error {
	for len(x) > 0 {
		n := min(len(x), (cap(w.buf)-len(w.buf))/8)
		for _, v := range x[:n] {
			w.buf = binary.LittleEndian.AppendUint64(w.buf, math.Float64bits(v))
		}
		x = x[n:]
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) flush() error {
	w.sum = crc.Update(w.sum, w.buf)
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *writer) rows(x *mat.Dense, from, to int) error {
	raw := x.RawMatrix()
	for i := from; i < to; i++ {
		if err := w.write(raw.Data[i*raw.Stride:][:raw.Cols]); err != nil {
			return err
		}
	}
	return nil
}

// all writes the rows of x, whatever the number of the first row.
func (w *writer) all(_ int64, x *mat.Dense) error {
	n, _ := x.Dims()
	return w.rows(x, 0, n)
}

func (w *writer) commit() error {
	err := w.flush()
	if err == nil {
		_, err = w.file.Write(trailer(w.sum))
	}
	if err != nil {
		return err // discard follows
	}
	file := w.file
	w.file = nil
	return w.shelf.publish(file, w.path(w.name))
}

func (w *writer) discard() {
	if w.file != nil {
		_ = w.shelf.discard(w.file) // what is left goes with the folder of the run
		w.file = nil
	}
}

func (f folder) put(name string, x *mat.Dense, from, to int) error {
	return f.make(name, func(w *writer) error { return w.rows(x, from, to) })
}

func (f folder) putNumbers(name string, parts ...[]float64) error {
	return f.make(name, func(w *writer) error {
		for _, x := range parts {
			if err := w.write(x); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f folder) make(name string, fill func(*writer) error) error {
	w, err := f.create(name)
	if err != nil {
		return err
	}
	defer w.discard()
	if err := fill(w); err != nil {
		return err
	}
	return w.commit()
}

// reader reads a piece from its beginning on. When the last number has been read, the piece has been checked.
type reader struct {
	folder
	name string
	file io.ReadCloser
	left int64 // numbers
	sum  uint32
	buf  []byte
	next []byte // bytes of buf that have not been returned yet
}

// open begins to read a piece of that many numbers. Errors of open and of the reader are *badPiece.
func (f folder) open(name string, numbers int64) (*reader, error) {
	file, size, err := f.shelf.open(f.path(name))
	if err != nil {
		return nil, &badPiece{name, err}
	}
	r := &reader{folder: f, name: name, file: file, left: numbers, sum: f.sum(name), buf: make([]byte, 8*portion)}
	if want := 8*numbers + int64(trailerSize); size != want {
		err = fmt.Errorf("%d bytes, want %d", size, want)
	}
	if err == nil && numbers == 0 {
		err = r.check()
	}
	if err != nil {
		return nil, &badPiece{name, errors.Join(err, file.Close())}
	}
	return r, nil
}

func (r *reader) read(x []float64) error {
	some := len(x) > 0
	for len(x) > 0 {
		if len(r.next) == 0 {
			r.next = r.buf[:8*min(portion, r.left)]
			_, err := io.ReadFull(r.file, r.next)
			if r.left == 0 {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return &badPiece{r.name, err}
			}
			r.sum = crc.Update(r.sum, r.next)
		}
		n := min(len(x), len(r.next)/8)
		for i := range n {
			x[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.next[8*i:]))
		}
		x, r.next, r.left = x[n:], r.next[8*n:], r.left-int64(n)
	}
	if r.left == 0 && some {
		if err := r.check(); err != nil {
			return &badPiece{r.name, err}
		}
	}
	return nil
}

func (r *reader) check() error {
	end := make([]byte, trailerSize)
	if _, err := io.ReadFull(r.file, end); err != nil {
		return err
	}
	if string(end) != string(trailer(r.sum)) {
		return crc.ErrMismatch
	}
	return nil
}

func trailer(sum uint32) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte(pieceMagic), sum), 0, 0, 0, 0)
}

func (r *reader) close() { _ = r.file.Close() } // it was only read

// rowReader reads a piece by rows, from the first to the last, any number of times.
type rowReader struct {
	folder
	name    string
	numbers int64
	in      *reader
	at      int64 // number of the next row of in
}

func (r *rowReader) read(first int64, rows *mat.Dense) (err error) {
	n, l := rows.Dims()
	if r.in == nil || first != r.at {
		r.close()
		if r.in, err = r.open(r.name, r.numbers); err != nil {
			return err
		}
	}
	r.at = first + int64(n)
	return r.in.read(rows.RawMatrix().Data[:n*l])
}

func (r *rowReader) close() {
	if r.in != nil {
		r.in.close()
		r.in = nil
	}
}

func (f folder) get(name string, x []float64) error {
	return f.add(name, int64(len(x)), true, func(at int64) []float64 { return x[at:] })
}

// mapped maps a piece of rows × cols float64s. It reads the piece into memory, without a Mapping, from a bucket, on
// big-endian machines, and on Windows, where maps of other programs keep a file from being removed.
func (f folder) mapped(name string, rows, cols int) (*mat.Dense, vfs.Mapping, error) {
	size := 8 * rows * cols
	if inBucket(f.dir) || runtime.GOOS == "windows" || binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		x := mat.NewDense(rows, cols, nil)
		return x, nil, f.get(name, x.RawMatrix().Data)
	}
	m, err := f.Map(f.path(name))
	if err != nil {
		return nil, nil, &badPiece{name, err}
	}
	var b []byte
	if m.Size() != int64(size+trailerSize) {
		err = fmt.Errorf("%d bytes, want %d", m.Size(), size+trailerSize)
	} else {
		b, err = m.Bytes(0, m.Size(), true)
	}
	if err == nil {
		err = fault.Guard(func() error {
			if string(b[size:]) != string(trailer(crc.Update(f.sum(name), b[:size]))) {
				return crc.ErrMismatch
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, &badPiece{name, errors.Join(err, m.Close())}
	}
	return mat.NewDense(rows, cols, unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), rows*cols)), m, nil
}

func (f folder) add(name string, numbers int64, set bool, row func(at int64) []float64) error {
	r, err := f.open(name, numbers)
	if err != nil {
		return err
	}
	defer r.close()
	var buf []float64
	for at := int64(0); at < numbers; {
		to := row(at)
		if set {
			buf = to
		} else if cap(buf) < len(to) {
			buf = make([]float64, len(to))
		}
		buf = buf[:len(to)]
		if err := r.read(buf); err != nil {
			return err
		}
		for j := 0; !set && j < len(to); j++ {
			to[j] += buf[j]
		}
		at += int64(len(to))
	}
	return nil
}

// verify reads a piece to check its checksum.
func (f folder) verify(name string, numbers int64) error {
	room := make([]float64, min(portion, numbers))
	return f.add(name, numbers, true, func(at int64) []float64 { return room[:min(portion, numbers-at)] })
}
