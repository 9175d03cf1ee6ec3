package csr

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// IDs returns a reader of the ids of an axis. The ids of an axis without a file are 0 … n−1.
func (s *Store) IDs(axis Axis) (*IDReader, error) {
	if info := s.manifest.IDs.Of(axis); info != nil {
		r, err := openIDs(s.fs, s.path, info)
		return r, s.manifest.orReplaced(s.fs, s.path, err)
	}
	return &IDReader{info: IDFile{Kind: IntIDs, Count: s.manifest.axisLen(axis)}, num: -1}, nil
}

// IDReader reads the external ids of an axis in order.
//
//	for r.Next() {
//		use(r.Int()) // or r.String()
//	}
//	err := r.Err()
type IDReader struct {
	store string
	info  IDFile
	f     vfs.File // nil: the ids are 0 … n−1
	in    *bufio.Reader
	crc   uint32
	pos   int64 // bytes consumed
	n     int64 // ids read
	num   int64
	text  []byte
	saved int64 // sum of the lengths of shared prefixes
	buf   []byte
	err   error
}

func openIDs(fsys vfs.FS, store string, info *IDFile) (*IDReader, error) {
	f, err := fsys.Open(filepath.Join(store, info.File))
	if err != nil {
		return nil, missing(err, store, info.File)
	}
	r := &IDReader{store: store, info: *info, f: f, in: bufio.NewReaderSize(f, 1<<16)}
	if err := r.start(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *IDReader) start() error {
	fi, err := r.f.Stat()
	if err != nil {
		return fmt.Errorf("read ids: %w", err)
	}
	if fi.Size() != r.info.Size {
		return r.corrupt(min(fi.Size(), r.info.Size), fmt.Errorf("%d bytes where the manifest says %d", fi.Size(), r.info.Size))
	}
	var b [idsHeaderSize]byte
	if err := r.fill(b[:]); err != nil {
		return err
	}
	switch version := le.Uint32(b[8:]); {
	case string(b[:8]) != idsMagic:
		return r.corrupt(0, errors.New("not a file of ids"))
	case version != Version:
		return wrongVersion(r.store, r.info.File, int64(version))
	case le.Uint32(b[12:]) != uint32(r.info.Kind.number()):
		return r.corrupt(12, errors.New("kind of ids is not the manifest's"))
	}
	return nil
}

func (r *IDReader) corrupt(at int64, err error) error {
	return &corruptError{Store: r.store, File: r.info.File, Section: "ids", Offset: at, Err: err}
}

func (r *IDReader) room() int64 { return r.info.Size - idsTrailerSize - r.pos }

// fill reads exactly len(b) bytes and adds them to the crc.
func (r *IDReader) fill(b []byte) error {
	n, err := io.ReadFull(r.in, b)
	r.crc = addCRC(r.crc, b[:n])
	r.pos += int64(n)
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		return r.corrupt(r.pos, errors.New("file cut short"))
	}
	return fmt.Errorf("read ids: %w", err)
}

func (r *IDReader) uvarint() (uint64, error) {
	b, err := r.in.Peek(int(max(0, min(binary.MaxVarintLen64, r.room()))))
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("read ids: %w", err)
	}
	x, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, r.corrupt(r.pos, errors.New("number cut short or too large"))
	}
	r.crc = addCRC(r.crc, b[:n])
	r.pos += int64(n)
	_, err = r.in.Discard(n) // cannot fail: these bytes are in the buffer
	return x, err
}

// Kind is the type of the ids.
func (r *IDReader) Kind() IDKind { return r.info.Kind }

// Ordered reports whether the ids ascend.
func (r *IDReader) Ordered() bool { return r.info.Order == Ascending }

// Count is the number of ids.
func (r *IDReader) Count() int64 { return r.info.Count }

// Next moves to the next id. It returns false after the last id, or on an error.
// After the last id it compares the checksum of the file.
func (r *IDReader) Next() bool {
	if r.err != nil || r.n > r.info.Count {
		return false
	}
	switch {
	case r.n == r.info.Count && r.f == nil:
	case r.n == r.info.Count:
		r.err = r.end()
	case r.f == nil:
		r.num++
	case r.info.Kind == IntIDs:
		r.err = r.nextInt()
	default:
		r.err = r.nextString()
	}
	r.n++
	return r.err == nil && r.n <= r.info.Count
}

func (r *IDReader) nextInt() error {
	at := r.pos
	x, err := r.uvarint()
	if err != nil {
		return err
	}
	if r.n == 0 {
		r.num = int64(x>>1) ^ -int64(x&1) // zigzag
		return nil
	}
	if room := uint64(math.MaxInt64) - uint64(r.num); x >= room && r.Ordered() {
		return r.corrupt(at, errors.New("id beyond 64 bits"))
	}
	r.num = int64(uint64(r.num) + x + 1)
	return nil
}

func (r *IDReader) nextString() error {
	at := r.pos
	prefix, err := r.uvarint()
	if err != nil {
		return err
	}
	rest, err := r.uvarint()
	if err != nil {
		return err
	}
	if prefix > uint64(len(r.text)) || rest > uint64(max(0, r.room())) || prefix+rest >= maxIDLen {
		return r.corrupt(at, fmt.Errorf("id of %d + %d bytes", prefix, rest))
	}
	r.saved += int64(prefix)
	if r.saved > maxRepeated*at {
		return r.corrupt(at, fmt.Errorf("ids share prefixes of %d bytes, more than %d times the file up to here", r.saved, maxRepeated))
	}
	r.buf = memory.Resized(r.buf, int(rest))
	if err := r.fill(r.buf); err != nil {
		return err
	}
	if r.n > 0 && r.Ordered() && string(r.buf) <= string(r.text[prefix:]) {
		return r.corrupt(at, errors.New("ids not in ascending order"))
	}
	r.text = append(r.text[:prefix], r.buf...)
	return nil
}

func (r *IDReader) end() error {
	if r.room() != 0 {
		return r.corrupt(r.pos, fmt.Errorf("%d bytes after the last id", r.room()))
	}
	var b [idsTrailerSize]byte
	if err := r.fill(b[:]); err != nil {
		return err
	}
	if n := le.Uint64(b[:]); n != uint64(r.info.Count) {
		return r.corrupt(r.pos-idsTrailerSize, fmt.Errorf("%d ids where the manifest says %d", n, r.info.Count))
	}
	if crc.Sum(r.crc) != r.info.CRC {
		return r.corrupt(0, crc.ErrMismatch)
	}
	return nil
}

// Int is the current id of kind IntIDs.
func (r *IDReader) Int() int64 { return r.num }

// String returns the current id, in decimal if it is an integer.
func (r *IDReader) String() string {
	if r.info.Kind == IntIDs {
		return strconv.FormatInt(r.num, 10)
	}
	return string(r.text)
}

// Err returns the error that stopped Next; nil after the last id.
func (r *IDReader) Err() error { return r.err }

func (r *IDReader) Close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}
