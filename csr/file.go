package csr

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// fileWriter writes one file of a store forward, through a buffer, counting
// its bytes and their crc.
type fileWriter struct {
	name string
	f    vfs.File
	buf  *bufio.Writer
	size int64
	crc  uint32
}

func createFile(fsys vfs.FS, name string) (*fileWriter, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, fmt.Errorf("write store: %w", err)
	}
	return &fileWriter{name: name, f: f, buf: bufio.NewWriterSize(f, 1<<18)}, nil
}

func (w *fileWriter) Write(b []byte) (int, error) {
	n, err := w.buf.Write(b)
	w.size += int64(n)
	w.crc = crc32.Update(w.crc, castagnoli, b[:n])
	if err != nil {
		err = fmt.Errorf("write store: %w", err)
	}
	return n, err
}

// finish makes the file durable and closes it.
func (w *fileWriter) finish() error {
	err := w.buf.Flush()
	if err == nil {
		err = w.f.Sync()
	}
	if err := errors.Join(err, w.f.Close()); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	return nil
}

// discard closes a file that is going to be removed.
func (w *fileWriter) discard() error { return w.f.Close() }
