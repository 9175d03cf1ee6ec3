// Package durable writes files that are complete or absent after a crash, and texts that carry their own checksum.
//
// What a function has written is on the disk when it returns. The name of a file is on the disk only after the caller has
// synced the directory (vfs.FS.SyncDir), as Publish does.
package durable

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// Undo, in a defer statement, calls undo if *err is not nil, and joins its error to *err.
func Undo(err *error, undo func() error) {
	if *err != nil {
		*err = errors.Join(*err, undo())
	}
}

// WriteFile creates a file, calls write to fill it, and syncs it. After an error the file may exist.
func WriteFile(fsys vfs.FS, name string, write func(vfs.File) error) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Replace writes the file tmp as WriteFile does, in the same directory, and renames it to name in one step; it replaces an
// existing file. A file tmp that a dead process left behind is removed.
func Replace(fsys vfs.FS, name, tmp string, write func(vfs.File) error) error {
	err := WriteFile(fsys, tmp, write)
	if errors.Is(err, fs.ErrExist) {
		if err = fsys.Remove(tmp); err == nil {
			err = WriteFile(fsys, tmp, write)
		}
	}
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		if gone := fsys.Remove(tmp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Publish writes a file as Replace does, and syncs its directory. Of two processes that write the same name one gets an error.
// A temporary file that a dead process left behind is removed.
func Publish(fsys vfs.FS, name string, write func(vfs.File) error) (err error) {
	lock, err := fsys.Lock(name + ".lock")
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("create %s: %w that is writing it", name, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create %s: make the directory %s first: %w", name, filepath.Dir(name), fs.ErrNotExist)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := Replace(fsys, name, name+vfs.PartialSuffix, write); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// Bytes returns a function for WriteFile and Replace that writes b.
func Bytes(b []byte) func(vfs.File) error {
	return func(f vfs.File) error {
		_, err := f.Write(b)
		return err
	}
}

// File is a new file that is written from start to end through a buffer. Syncs run in the background while it is being
// written, so that Close has little to wait for.
type File struct {
	f    vfs.File
	buf  *bufio.Writer
	size int64

	begun   int64      // size when the last sync began
	syncing chan error // receives the result of the sync under way; nil: no sync is under way
	syncErr error      // errors of the syncs that have ended
}

// syncEvery is the number of bytes between the starts of two syncs.
const syncEvery = 4 << 20

// Create creates a file; it returns an error if the name exists.
func Create(fsys vfs.FS, name string) (*File, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	return &File{f: f, buf: bufio.NewWriterSize(f, 1<<18)}, nil
}

func (w *File) Name() string { return w.f.Name() }
func (w *File) Size() int64  { return w.size }

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

// beginSync starts a sync unless one is under way.
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

// A sealed text ends with tail, its checksum in the place of zeros. The checksum is that of the text with the zeros.
const (
	tail   = "\"" + zeros + "\"\n}\n"
	zeros  = "00000000"
	digits = len(tail) - 1 // from the first digit to the end
)

// Seal renders v as indented JSON that carries its own checksum. sum must point to the last field of v; Seal sets it to the
// CRC-32C of the text with its eight digits replaced by 00000000.
func Seal(v any, sum *crc.Sum) ([]byte, error) {
	*sum = 0
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	*sum = crc.Sum(crc.Of(text))
	copy(text[len(text)-digits:], sum.String())
	return text, nil
}

// CheckSeal verifies a text that Seal has rendered. The error describes the damage, and offset is the byte where it is.
func CheckSeal(text []byte) (offset int64, err error) {
	at := len(text) - digits
	if at < 1 {
		return 0, errors.New("cut short")
	}
	var want crc.Sum
	if err := want.UnmarshalText(text[at : at+len(zeros)]); err != nil {
		return int64(at), err
	}
	zeroed := crc.Update(crc.Update(crc.Of(text[:at]), []byte(zeros)), text[at+len(zeros):])
	switch {
	case string(text[at-1:at])+zeros+string(text[at+len(zeros):]) != tail:
		return int64(at), errors.New("does not end with its crc")
	case crc.Sum(zeroed) != want:
		return int64(at), crc.ErrMismatch
	}
	return 0, Sparse(text)
}

// Sparse returns an error if a JSON text has more values than an indented text of its size, such as Seal renders, can have:
// "{},{},…" takes 25 times its size in memory when it is decoded.
func Sparse(text []byte) error {
	values, nested, inside := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == ',':
			values++
		case c == '{' || c == '[':
			nested++
		}
	}
	const few = 1000
	if values > few+len(text)/6 || nested > few+len(text)/24 {
		return fmt.Errorf("%d values, %d of them objects or arrays, are too many for %d bytes", values, nested, len(text))
	}
	return nil
}

// SealedLine is the format of the last line of a file of lines: the CRC-32C of all bytes before that line.
const SealedLine = "{\"crc\":\"%v\"}\n"

// ErrLines is wrapped by the error for a file whose last line is not the checksum of the lines before it.
var ErrLines = errors.New("damaged lines")

// CheckLines verifies a file of lines and returns the number of bytes before its last line. visit is called with each chunk.
func CheckLines(f vfs.File, visit func(chunk []byte) error) (int64, error) {
	damaged := func(format string, args ...any) (int64, error) {
		return 0, fmt.Errorf("%w: %s", ErrLines, fmt.Sprintf(format, args...))
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	last := make([]byte, len(fmt.Sprintf(SealedLine, crc.Sum(0))))
	size := info.Size() - int64(len(last))
	if size < 0 {
		return damaged("byte %d: it ends there, without its checksum", info.Size())
	}
	if _, err := f.ReadAt(last, size); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if !strings.HasPrefix(string(last), "{\"crc\":") { // the file may be a huge file of another kind: do not read it all
		return damaged("bytes %d to %d, the last line, are %.40q, not a checksum", size, info.Size(), last)
	}
	sum, err := crc.Read(io.NewSectionReader(f, 0, size), visit)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if string(last) != fmt.Sprintf(SealedLine, sum) {
		return damaged("bytes 0 to %d have the checksum %v, which the last line, %.40q, does not say", size, sum, last)
	}
	return size, nil
}
