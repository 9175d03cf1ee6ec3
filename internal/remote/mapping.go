package remote

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/fault"
)

const (
	// partSize is the number of bytes of an object that one request fetches, and that are kept together.
	partSize = 8 << 20
	// piece is the number of bytes of a part in memory while it is fetched; they take the place of bytes read ahead.
	piece = vfs.BufferSize / 2
)

// A mapping is an object whose parts are kept in a file of os.TempDir, each from its first use on. The file takes the space
// of the whole object at once, so that a full disk is an error, and ends with the process: see vfs.Scratch.
type mapping struct {
	fs    vfs.FS // file system of the scratch file
	o     *Object
	asked singleflight.Group // fetches each part once at a time; the key is its number
	kept  []bool             // whether each part is in the file; guarded by its call in asked

	mu   sync.Mutex
	file vfs.Scratch // nil: no part is kept yet
}

func (m *mapping) Size() int64 { return m.o.info.Size }

func (m *mapping) Bytes(off, n int64, around bool) ([]byte, error) {
	if !around {
		b := make([]byte, n)
		s := m.o.span(off, n)
		defer s.drop()
		_, err := io.ReadFull(s, b)
		return b, err
	}
	// The next reader begins in the last part of this range: backwards, neighbouring readers do not wait for each other.
	for k := (off + n - 1) / partSize; k >= off/partSize; k-- {
		if err := m.keep(k); err != nil {
			return nil, err
		}
	}
	return m.file.Bytes()[off : off+n], nil
}

// keep returns when part k is kept or could not be fetched; after an error the next caller that needs the part tries again.
func (m *mapping) keep(k int64) error {
	_, err, _ := m.asked.Do(strconv.FormatInt(k, 10), func() (any, error) {
		if m.kept[k] {
			return nil, nil
		}
		file, err := m.begin()
		if err != nil {
			return nil, err
		}
		off := k * partSize
		n := min(partSize, m.Size()-off)
		s := m.o.span(off, n)
		defer s.drop()
		for at := off; at < off+n && err == nil; at += piece {
			b := file.Bytes()[at:min(at+piece, off+n)]
			err = fault.Guard(func() error {
				_, err := io.ReadFull(s, b)
				return err
			})
			err = errors.Join(err, file.Evict(at, int64(len(b))))
		}
		m.kept[k] = err == nil
		m.o.c.o.Log.Debug("a part of an object has been fetched", "object", m.o.name, "from", off, "bytes", n, "error", err)
		return nil, err
	})
	return err
}

// begin creates the file, if it does not exist, and returns it.
func (m *mapping) begin() (_ vfs.Scratch, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		m.file, err = m.fs.Scratch(filepath.Join(os.TempDir(), "gdsvd-object-"+rand.Text()), m.Size())
	}
	return m.file, err
}

func (m *mapping) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// Advise fetches bytes that will be read soon, and evicts bytes that will not.
func (m *mapping) Advise(a vfs.Advice, off, n int64) error {
	switch a {
	case vfs.Populate:
		if _, err := m.Bytes(off, n, true); err != nil {
			return err
		}
		return m.file.Fetch(off, n)
	case vfs.DontNeed:
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.file != nil {
			return m.file.Evict(off, n)
		}
	}
	return nil
}

// Cached is not supported: parts that are not kept are in no cache.
func (m *mapping) Cached(int64, int64) (bool, error) { return false, errors.ErrUnsupported }

// ReadDirect is not supported: the file cannot be opened by its name.
func (m *mapping) ReadDirect(*vfs.Buffer, int, int64) error { return errors.ErrUnsupported }
