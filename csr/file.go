package csr

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// fileWriter writes one file of a store forward, through a buffer, counting
// its bytes and their crc.
type fileWriter struct {
	name string
	f    vfs.File
	buf  *bufio.Writer
	size int64
	crc  uint32

	begun   int64      // size when the last sync began
	syncing chan error // has its outcome; nil if there is none under way
	syncErr error      // of those before
}

// syncEvery is after how many bytes a file is made durable while more is being
// written, so that little is left to wait for in the end.
const syncEvery = 4 << 20

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
	w.crc = addCRC(w.crc, b[:n])
	if w.size-w.begun >= syncEvery {
		w.syncBeside()
	}
	if err != nil {
		err = fmt.Errorf("write store: %w", err)
	}
	return n, err
}

// finish makes the file durable and closes it.
func (w *fileWriter) finish() error {
	w.synced()
	err := errors.Join(w.syncErr, w.buf.Flush())
	if err == nil {
		err = w.f.Sync()
	}
	if err := errors.Join(err, w.f.Close()); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	return nil
}

// discard closes a file that is going to be removed.
func (w *fileWriter) discard() error {
	w.synced()
	return w.f.Close()
}

// syncBeside begins a sync unless one is under way.
func (w *fileWriter) syncBeside() {
	if w.syncing != nil {
		select {
		case err := <-w.syncing:
			w.syncErr = errors.Join(w.syncErr, err)
		default:
			return
		}
	}
	w.begun = w.size
	done := make(chan error, 1)
	w.syncing = done
	go func() { done <- w.f.Sync() }()
}

// synced waits for the sync under way.
func (w *fileWriter) synced() {
	if w.syncing != nil {
		w.syncErr = errors.Join(w.syncErr, <-w.syncing)
		w.syncing = nil
	}
}
