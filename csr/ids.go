package csr

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Axis is one side of the stored matrix A.
type Axis uint8

// The two sides of A.
const (
	RowAxis Axis = iota
	ColAxis
)

func (a Axis) String() string {
	if a == RowAxis {
		return "rows"
	}
	return "cols"
}

func (a Axis) file() string { return a.String() + ".ids" }

// IDKind is the type of the external ids of an axis. Durable: do not renumber.
type IDKind uint8

// The kinds of ids.
const (
	IntIDs    IDKind = iota // int64, ascending by value
	StringIDs               // bytes, ascending bytewise
)

var idKindNames = [...]string{"int", "string"}

func (k IDKind) String() string {
	if int(k) < len(idKindNames) {
		return idKindNames[k]
	}
	return fmt.Sprintf("IDKind(%d)", uint8(k))
}

// MarshalText gives the name used in the manifest.
func (k IDKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (k *IDKind) UnmarshalText(b []byte) error {
	for i, name := range idKindNames {
		if name == string(b) {
			*k = IDKind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown kind of ids %q", b)
}

// maxIDLen is the length in bytes below which a string id must stay.
const maxIDLen = 1 << 20

// IDWriter writes the ids of one axis, in strictly ascending order, one for
// each row or column. It may be used beside its Writer and the other axis'
// IDWriter, by one goroutine at a time.
type IDWriter struct {
	w     *Writer
	axis  Axis
	kind  IDKind
	out   *durable.File
	crc   uint32 // of what is written
	count int64
	last  int64  // of kind int
	prev  []byte // of kind string
	// identity: all ids so far are 0, 1, 2, …
	identity bool
	buf      []byte
	err      error
	closed   bool
}

func newIDWriter(w *Writer, axis Axis, kind IDKind) (*IDWriter, error) {
	out, err := durable.Create(w.fs, filepath.Join(w.dir, axis.file()))
	if err != nil {
		return nil, writing(err)
	}
	iw := &IDWriter{w: w, axis: axis, kind: kind, out: out, identity: true}
	b := le.AppendUint32([]byte(idsMagic), Version)
	iw.write(le.AppendUint32(b, uint32(kind)))
	return iw, iw.err
}

// AppendInt adds the next id of an axis of kind IntIDs.
func (iw *IDWriter) AppendInt(id int64) error {
	if err := iw.usable(IntIDs); err != nil {
		return err
	}
	if iw.count == 0 {
		iw.buf = binary.AppendVarint(iw.buf[:0], id)
	} else {
		if id <= iw.last {
			return iw.fail(fmt.Errorf("write %s: id %d after %d: ids must ascend strictly", iw.axis.file(), id, iw.last))
		}
		// The difference of two int64 fits into 64 bits when taken as unsigned.
		iw.buf = binary.AppendUvarint(iw.buf[:0], uint64(id)-uint64(iw.last)-1)
	}
	iw.identity = iw.identity && id == iw.count
	iw.last = id
	return iw.put()
}

// AppendString adds the next id of an axis of kind StringIDs. Ids are bytes:
// they need not be UTF-8. One may be empty (the first).
func (iw *IDWriter) AppendString(id string) error {
	if err := iw.usable(StringIDs); err != nil {
		return err
	}
	if len(id) >= maxIDLen {
		return iw.fail(fmt.Errorf("write %s: id of %d bytes, the limit is %d", iw.axis.file(), len(id), maxIDLen-1))
	}
	if iw.count > 0 && id <= string(iw.prev) {
		return iw.fail(fmt.Errorf("write %s: id %q after %q: ids must ascend strictly", iw.axis.file(), id, iw.prev))
	}
	n := 0
	for n < len(iw.prev) && n < len(id) && iw.prev[n] == id[n] {
		n++
	}
	iw.buf = binary.AppendUvarint(iw.buf[:0], uint64(n))
	iw.buf = binary.AppendUvarint(iw.buf, uint64(len(id)-n))
	iw.buf = append(iw.buf, id[n:]...)
	iw.prev = append(iw.prev[:n], id[n:]...)
	iw.identity = false
	return iw.put()
}

func (iw *IDWriter) usable(kind IDKind) error {
	switch {
	case iw.err != nil:
		return iw.err
	case iw.closed:
		return fmt.Errorf("write %s: already closed", iw.axis.file())
	case iw.kind != kind:
		return iw.fail(fmt.Errorf("write %s: ids are of kind %v, not %v", iw.axis.file(), iw.kind, kind))
	}
	return nil
}

func (iw *IDWriter) fail(err error) error {
	iw.err = err
	return err
}

func (iw *IDWriter) put() error {
	iw.count++
	iw.write(iw.buf)
	return iw.err
}

func (iw *IDWriter) write(b []byte) {
	_, err := iw.out.Write(b)
	iw.crc, iw.err = crc.Update(iw.crc, b), writing(err)
}

// Close ends the axis. Ids that turn out to be 0 … n−1 leave no file.
func (iw *IDWriter) Close() error {
	if iw.closed {
		return iw.err
	}
	iw.closed = true
	if iw.err == nil {
		iw.write(le.AppendUint64(nil, uint64(iw.count)))
	}
	if iw.err != nil {
		return errors.Join(iw.err, iw.out.Discard())
	}
	if iw.err = writing(iw.out.Close()); iw.err != nil {
		return iw.err
	}
	if iw.identity {
		iw.err = iw.w.fs.Remove(iw.out.Name())
	}
	return iw.err
}

// describe is the manifest's entry, nil for identity ids.
func (iw *IDWriter) describe() *IDFile {
	if iw == nil || iw.identity {
		return nil
	}
	return &IDFile{File: iw.axis.file(), Kind: iw.kind, Count: iw.count, Size: iw.out.Size(), CRC: crc.Sum(iw.crc)}
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
	buf   []byte
	err   error
	done  bool
}

// openIDs opens a file of ids and checks its header and count.
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
		return &VersionError{Store: r.store, File: r.info.File, Found: int64(version)}
	case le.Uint32(b[12:]) != uint32(r.info.Kind):
		return r.corrupt(12, errors.New("kind of ids is not the manifest's"))
	}
	return nil
}

func (r *IDReader) corrupt(at int64, err error) error {
	return &CorruptError{Store: r.store, File: r.info.File, Section: "ids", Offset: at, Err: err}
}

// room is how many bytes of payload are left.
func (r *IDReader) room() int64 { return r.info.Size - idsTrailerSize - r.pos }

// fill reads exactly len(b) bytes into the crc.
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

// uvarint reads one from the payload.
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

// Count is the number of ids.
func (r *IDReader) Count() int64 { return r.info.Count }

// Next moves to the next id. It returns false after the last, or on an error.
// The checksum of the file is compared after the last.
func (r *IDReader) Next() bool {
	if r.err != nil || r.done {
		return false
	}
	if r.n == r.info.Count {
		r.done = true
		if r.f != nil {
			r.err = r.end()
		}
		return false
	}
	switch {
	case r.f == nil:
		r.num++
	case r.info.Kind == IntIDs:
		r.err = r.nextInt()
	default:
		r.err = r.nextString()
	}
	r.n++
	return r.err == nil
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
	if room := uint64(math.MaxInt64) - uint64(r.num); x >= room {
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
	r.buf = resized(r.buf, int(rest))
	if err := r.fill(r.buf); err != nil {
		return err
	}
	if r.n > 0 && string(r.buf) <= string(r.text[prefix:]) {
		return r.corrupt(at, errors.New("ids not in ascending order"))
	}
	r.text = append(r.text[:prefix], r.buf...)
	return nil
}

// end checks what follows the last id.
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

// String is the current id; decimal for integer ids.
func (r *IDReader) String() string {
	if r.info.Kind == IntIDs {
		return strconv.FormatInt(r.num, 10)
	}
	return string(r.text)
}

// Compare compares the current ids of two readers of one kind.
func (r *IDReader) Compare(o *IDReader) int {
	return cmp.Or(cmp.Compare(r.num, o.num), bytes.Compare(r.text, o.text))
}

// Err is what stopped Next, nil after the last id.
func (r *IDReader) Err() error { return r.err }

// Close closes the file.
func (r *IDReader) Close() error {
	if r.f == nil {
		return nil
	}
	return r.f.Close()
}
