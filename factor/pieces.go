package factor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// array is a file of numbers of a result, and which of its pieces have been compared with their checksums. It may be
// open several times at once.
type array struct {
	File
	of   *Result // nil: of a projection or an alignment
	seen []atomic.Bool
}

// newArray is that of a listed file whose sums are as many as it has pieces.
func newArray(of *Result, f File) (*array, error) {
	if pieces := (f.Size + crc.Piece - 1) / crc.Piece; int64(len(f.Pieces)) != pieces {
		return nil, fmt.Errorf("files: %.60q has %d checksums of pieces, want %d", f.Name, len(f.Pieces), pieces)
	}
	return &array{File: f, of: of, seen: make([]atomic.Bool, len(f.Pieces))}, nil
}

// open opens the file in a directory: what is read from it is verified.
func (a *array) open(fsys vfs.FS, dir string) (*npy.Matrix, error) {
	m, err := a.opened(fsys, dir)
	return m, a.of.orReplaced(err)
}

// orReplaced is the error of reading a file of the result, if it is not that another process has replaced the result.
func (r *Result) orReplaced(err error) error {
	if r == nil || !errors.Is(err, csr.ErrCorrupt) {
		return err
	}
	if now, bad := OpenFS(r.fs, r.dir); bad != nil || now.CRC == r.CRC {
		return err
	}
	return Errorf(nil, "%s: another process has replaced the result meanwhile; run the command again", r.dir)
}

func (a *array) opened(fsys vfs.FS, dir string) (*npy.Matrix, error) {
	path := filepath.Join(dir, a.Name)
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Errorf(csr.ErrCorrupt, "%s is not there, though the result names it: the result is damaged; remove it and compute it again", path)
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
	m, err := npy.New(&verified{File: f, array: a, held: -1})
	if errors.Is(err, npy.ErrFormat) {
		err = damagedResult(path, "%v", err)
	}
	return m, err
}

// verified is an open array. A piece is read whole when its first byte is, and compared with its checksum; later reads of
// it are as they are asked for. It is not safe for concurrent use.
type verified struct {
	vfs.File
	*array
	piece []byte // number held; nil: none yet
	held  int64  // −1: none
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

// verify reads piece i.
func (v *verified) verify(b []byte, i int64) error {
	begin := i * crc.Piece
	if _, err := v.File.ReadAt(b, begin); err != nil {
		return err
	}
	if got := crc.Sum(crc.Of(b)); got != v.Pieces[i] {
		return v.of.orReplaced(Errorf(csr.ErrCorrupt, "bytes %d to %d have the checksum %v, not %v: the file is damaged; remove the result and compute it again", begin, begin+int64(len(b)), got, v.Pieces[i]))
	}
	v.seen[i].Store(true)
	return nil
}
