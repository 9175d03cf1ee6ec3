package durable

import (
	"bufio"
	"errors"

	"github.com/gdsvd/gdsvd/vfs"
)

// File is a new file that is written forward, through a buffer. It becomes durable while it is
// being written, so that Close has little to wait for.
type File struct {
	f    vfs.File
	buf  *bufio.Writer
	size int64

	begun   int64      // size when the last sync began
	syncing chan error // has its outcome; nil if there is none under way
	syncErr error      // of those before
}

// syncEvery is how many bytes are written between the beginnings of two syncs.
const syncEvery = 4 << 20

// Create makes a new file; it is an error if the name exists.
func Create(fsys vfs.FS, name string) (*File, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	return &File{f: f, buf: bufio.NewWriterSize(f, 1<<18)}, nil
}

func (w *File) Name() string { return w.f.Name() }

func (w *File) Size() int64 { return w.size }

func (w *File) Write(b []byte) (int, error) {
	n, err := w.buf.Write(b)
	w.size += int64(n)
	if w.size-w.begun >= syncEvery {
		w.beginSync()
	}
	return n, err
}

// Close makes the file durable and closes it.
func (w *File) Close() error {
	w.endSync()
	err := errors.Join(w.syncErr, w.buf.Flush())
	if err == nil {
		err = w.f.Sync()
	}
	return errors.Join(err, w.f.Close())
}

// Discard closes a file that is going to be removed.
func (w *File) Discard() error {
	w.endSync()
	return w.f.Close()
}

// beginSync begins a sync unless one is under way.
func (w *File) beginSync() {
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

func (w *File) endSync() {
	if w.syncing != nil {
		w.syncErr = errors.Join(w.syncErr, <-w.syncing)
		w.syncing = nil
	}
}
