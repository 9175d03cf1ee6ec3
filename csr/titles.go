package csr

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"sync"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// The constants of FORMAT.md, "Titles".
const (
	titlesMagic   = "GDSVDTTL"
	titlesHeader  = 16
	titlesTrailer = 64
	titlesBlock   = 128 // titles of a block
	titlesRecord  = 12
	// MaxTitle is the length in bytes below which a title must stay, so that a block takes at most 2 MiB.
	MaxTitle = 1 << 14
)

func (a Axis) titles() string { return a.String() + ".titles" }

// WriteTitles writes titles of an axis beside the store: one for each row or column of A in order, "" for a row or column
// without a title. It replaces existing titles in one step. The matrix and its fingerprint do not change.
func (s *Store) WriteTitles(axis Axis, titles iter.Seq2[string, error]) error {
	name := filepath.Join(s.path, axis.titles())
	w := titleWriter{count: s.manifest.axisLen(axis)}
	fingerprint, err := hex.DecodeString(s.manifest.Fingerprint)
	if err == nil {
		err = durable.Replace(s.fs, name, name+".tmp", func(f vfs.File) error {
			if err := w.write(f, titles, fingerprint); err != nil {
				return err
			}
			now, _, err := readManifest(s.fs, s.path)
			if err == nil && now.Fingerprint != s.manifest.Fingerprint {
				err = fmt.Errorf("the store %s has been replaced by another one since it was opened: open it again", s.path)
			}
			return err
		})
	}
	if err == nil {
		err = s.fs.SyncDir(s.path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", axis.titles(), err)
	}
	return nil
}

// SetTitles sets the titles that are written with the store, as [Store.WriteTitles] writes them later. Seal or Commit
// iterates over titles once.
func (w *Writer) SetTitles(axis Axis, titles iter.Seq2[string, error]) { w.titles[axis] = titles }

func (w *Writer) writeTitles() error {
	fingerprint, err := hex.DecodeString(w.manifest.Fingerprint)
	for _, a := range []Axis{RowAxis, ColAxis} {
		if titles := w.titles[a]; titles != nil && err == nil {
			t := titleWriter{count: w.manifest.axisLen(a)}
			err = durable.WriteFile(w.fs, filepath.Join(w.dir, a.titles()), func(f vfs.File) error {
				return t.write(f, titles, fingerprint)
			})
		}
	}
	return writing(err)
}

type titleWriter struct {
	count, n, known int64
	at              int64
	block, index    []byte
}

func (w *titleWriter) write(f io.Writer, titles iter.Seq2[string, error], fingerprint []byte) error {
	out := bufio.NewWriterSize(f, 1<<16)
	header := le.AppendUint32(le.AppendUint32([]byte(titlesMagic), Version), 0)
	_, err := out.Write(header)
	w.at = titlesHeader
	for t, bad := range titles {
		if err = errors.Join(err, bad, w.add(out, t)); err != nil {
			return err
		}
	}
	if w.n != w.count {
		return fmt.Errorf("%d titles for %d", w.n, w.count)
	}
	err = errors.Join(err, w.flush(out))
	end := le.AppendUint64(nil, uint64(w.at))
	end = le.AppendUint64(le.AppendUint64(end, uint64(w.count)), uint64(w.known))
	end = le.AppendUint32(append(end, fingerprint...), 0)
	sum := crc.Update(crc.Update(crc.Of(header), w.index), end)
	for _, b := range [][]byte{w.index, le.AppendUint32(end, sum)} {
		_, bad := out.Write(b)
		err = errors.Join(err, bad)
	}
	return errors.Join(err, out.Flush())
}

func (w *titleWriter) add(out io.Writer, title string) error {
	if len(title) >= MaxTitle {
		return fmt.Errorf("a title of %d bytes, the limit is %d", len(title), MaxTitle-1)
	}
	w.block = append(binary.AppendUvarint(w.block, uint64(len(title))), title...)
	if title != "" {
		w.known++
	}
	w.n++
	if w.n%titlesBlock > 0 {
		return nil
	}
	return w.flush(out)
}

func (w *titleWriter) flush(out io.Writer) error {
	if len(w.block) == 0 {
		return nil
	}
	w.index = le.AppendUint32(le.AppendUint64(w.index, uint64(w.at)), crc.Of(w.block))
	_, err := out.Write(w.block)
	w.at += int64(len(w.block))
	w.block = w.block[:0]
	return err
}

// Titles reads the titles of the rows or columns of a store. It keeps a tenth of a byte for each title, and one block of
// titles, in memory. It is safe for concurrent use.
type Titles struct {
	store, name  string
	f            vfs.File
	index        []byte
	end          int64 // offset of the end of the last block
	count, known int64

	mu    sync.Mutex
	now   int64    // number of the block in memory
	block []string // titles of block now; nil: no block is in memory
	buf   []byte
}

// Titles opens the titles of an axis; it returns nil without an error if the axis has none. A damaged file, or one about
// another matrix, is [ErrCorrupt].
func (s *Store) Titles(axis Axis) (*Titles, error) { return openTitles(s.fs, s.path, s.manifest, axis) }

func openTitles(fsys vfs.FS, path string, m *Manifest, axis Axis) (*Titles, error) {
	f, err := fsys.Open(filepath.Join(path, axis.titles()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, missing(err, path, axis.titles())
	}
	fi, err := f.Stat()
	t := &Titles{store: path, name: axis.titles(), f: f}
	if err == nil {
		err = t.load(fi.Size(), m.axisLen(axis), m.Fingerprint)
	}
	if err != nil {
		return nil, m.orReplaced(fsys, path, errors.Join(err, f.Close()))
	}
	return t, nil
}

func (t *Titles) corrupt(at int64, format string, args ...any) error {
	return &corruptError{Store: t.store, File: t.name, Section: "titles", Offset: at, Err: codec.Damaged(at, format, args...)}
}

// load reads and checks all but the blocks.
func (t *Titles) load(size, count int64, fingerprint string) error {
	blocks := (count + titlesBlock - 1) / titlesBlock
	t.end = size - titlesTrailer - blocks*titlesRecord
	if t.end < titlesHeader || blocks == 0 && t.end > titlesHeader {
		return t.corrupt(0, "%d bytes are too few for %d titles", size, count)
	}
	frame := make([]byte, titlesHeader+blocks*titlesRecord+titlesTrailer)
	if err := t.read(frame[:titlesHeader], 0); err != nil {
		return err
	}
	if err := t.read(frame[titlesHeader:], t.end); err != nil {
		return err
	}
	end := frame[len(frame)-titlesTrailer:]
	switch version := le.Uint32(frame[8:]); {
	case string(frame[:8]) != titlesMagic:
		return t.corrupt(0, "not a file of titles")
	case version != Version:
		return wrongVersion(t.store, t.name, int64(version))
	case le.Uint32(end[60:]) != crc.Of(frame[:len(frame)-4]):
		return t.corrupt(size-4, "%v", crc.ErrMismatch)
	case le.Uint64(end) != uint64(t.end) || le.Uint64(end[8:]) != uint64(count) || le.Uint64(end[16:]) > uint64(count):
		return t.corrupt(size-titlesTrailer, "impossible numbers of titles and bytes")
	case hex.EncodeToString(end[24:56]) != fingerprint:
		return t.corrupt(size-titlesTrailer+24, "it is about another matrix, with fingerprint %x", end[24:56])
	}
	t.index, t.count, t.known = frame[titlesHeader:len(frame)-titlesTrailer], count, int64(le.Uint64(end[16:]))
	for b, next := blocks-1, t.end; b >= 0; b-- {
		at := t.offset(b)
		if at < titlesHeader || at >= next || next-at > titlesBlock*(MaxTitle+binary.MaxVarintLen32) || b == 0 && at != titlesHeader {
			return t.corrupt(t.end+b*titlesRecord, "block %d at %d", b, at)
		}
		next = at
	}
	return nil
}

func (t *Titles) read(b []byte, at int64) error {
	n, err := t.f.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		return t.corrupt(at+int64(n), "file cut short")
	}
	return fmt.Errorf("read titles: %w", err)
}

func (t *Titles) offset(block int64) int64 { return int64(le.Uint64(t.index[block*titlesRecord:])) }

// Known returns the number of rows or columns that have a title.
func (t *Titles) Known() int64 { return t.known }

// Count returns the number of rows or columns, with or without a title.
func (t *Titles) Count() int64 { return t.count }

// At returns the title of row or column i of A, "" if it has none.
func (t *Titles) At(i int64) (string, error) {
	if i < 0 || i >= t.count {
		return "", fmt.Errorf("read titles: number %d of %d", i, t.count)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if b := i / titlesBlock; t.block == nil || t.now != b {
		t.block = t.block[:0]
		if err := t.decode(b); err != nil {
			t.block = nil
			return "", err
		}
		t.now = b
	}
	return t.block[i%titlesBlock], nil
}

func (t *Titles) decode(b int64) error {
	at, end := t.offset(b), t.end
	if (b+1)*titlesRecord < int64(len(t.index)) {
		end = t.offset(b + 1)
	}
	t.buf = memory.Resized(t.buf, int(end-at))
	if err := t.read(t.buf, at); err != nil {
		return err
	}
	if crc.Of(t.buf) != le.Uint32(t.index[b*titlesRecord+8:]) {
		return t.corrupt(at, "%v", crc.ErrMismatch)
	}
	rest := t.buf
	for range min(titlesBlock, t.count-b*titlesBlock) {
		n, k := binary.Uvarint(rest)
		if k <= 0 || n >= MaxTitle || n > uint64(len(rest)-k) {
			return t.corrupt(at, "a title longer than its block")
		}
		t.block = append(t.block, string(rest[k:k+int(n)]))
		rest = rest[k+int(n):]
	}
	if len(rest) > 0 {
		return t.corrupt(end-int64(len(rest)), "%d bytes after the last title", len(rest))
	}
	return nil
}

func (t *Titles) Close() error { return t.f.Close() }

func checkTitles(fsys vfs.FS, path string, m *Manifest, axis Axis) (err error) {
	t, err := openTitles(fsys, path, m, axis)
	if t == nil || err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	known := int64(0)
	for i := range t.count {
		title, err := t.At(i)
		if err != nil {
			return err
		}
		if title != "" {
			known++
		}
	}
	if known != t.known {
		return t.corrupt(t.end, "%d titles, not %d", known, t.known)
	}
	return nil
}
