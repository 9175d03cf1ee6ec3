package csr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// Axis is one side of the stored matrix A.
type Axis uint8

const (
	RowAxis Axis = iota
	ColAxis
)

func (a Axis) String() string { return [...]string{"rows", "cols"}[a] }

func (a Axis) file() string { return a.String() + ".ids" }

// IDKind is the type of the external ids of an axis; the value is its name in the manifest.
type IDKind string

const (
	IntIDs    IDKind = "int"    // int64
	StringIDs IDKind = "string" // bytes
)

// IDOrder is the order of the ids of an axis; the value is its name in the manifest.
type IDOrder string

const (
	Ascending IDOrder = ""      // integers by value, strings by bytes
	Given     IDOrder = "given" // any order: rows or columns keep an order of their own
)

// number returns the number of the kind in the header of a file of ids; −1: unknown kind.
func (k IDKind) number() int { return slices.Index([]IDKind{IntIDs, StringIDs}, k) }

// maxIDLen is the length in bytes below which a string id must stay.
const maxIDLen = 1 << 20

// Shared prefixes so far are at most maxRepeated times as long as the file so far; one of maxPrefix bytes always fits.
const (
	maxRepeated = 256
	maxPrefix   = 255
)

// IDWriter writes the ids of one axis, one for each row or column, in strictly ascending order unless KeepOrder has been
// called. One goroutine may use it at a time, while others use its Writer and the IDWriter of the other axis.
type IDWriter struct {
	w     *Writer
	axis  Axis
	kind  IDKind
	order IDOrder
	keep  bool // ids may be in any order
	out   *durable.File
	crc   uint32 // of the bytes written
	count int64
	last  int64  // last id of kind int
	prev  []byte // last id of kind string
	saved int64  // sum of the lengths of shared prefixes
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
	iw.write(le.AppendUint32(b, uint32(kind.number())))
	return iw, iw.err
}

// KeepOrder allows ids in any order; the caller makes sure that they differ. It is called before the first id.
// Ids that ascend anyway give the same file as without KeepOrder.
func (iw *IDWriter) KeepOrder() { iw.keep = true }

// follows handles an id that does not come after the last one: an error, or with KeepOrder the order Given.
func (iw *IDWriter) follows(after bool, id, last any) error {
	if after {
		return nil
	}
	if !iw.keep {
		return iw.fail(fmt.Errorf("write %s: id %#v after %#v: ids must ascend strictly", iw.axis.file(), id, last))
	}
	iw.order = Given
	return nil
}

// AppendInt adds the next id of an axis of kind IntIDs.
func (iw *IDWriter) AppendInt(id int64) error {
	if err := iw.usable(IntIDs); err != nil {
		return err
	}
	if iw.count == 0 {
		iw.buf = binary.AppendVarint(iw.buf[:0], id)
	} else {
		if err := iw.follows(id > iw.last, id, iw.last); err != nil {
			return err
		}
		// If id > last, the unsigned difference fits into 64 bits; otherwise it wraps around.
		iw.buf = binary.AppendUvarint(iw.buf[:0], uint64(id)-uint64(iw.last)-1)
	}
	iw.identity = iw.identity && id == iw.count
	iw.last = id
	return iw.put()
}

// AppendString adds the next id of an axis of kind StringIDs. An id may be any bytes, not only UTF-8. One id may be
// empty: in ascending order, the first.
func (iw *IDWriter) AppendString(id string) error {
	if err := iw.usable(StringIDs); err != nil {
		return err
	}
	if len(id) >= maxIDLen {
		return iw.fail(fmt.Errorf("write %s: id of %d bytes, the limit is %d", iw.axis.file(), len(id), maxIDLen-1))
	}
	if iw.count > 0 {
		if err := iw.follows(id > string(iw.prev), id, string(iw.prev)); err != nil {
			return err
		}
	}
	n := 0
	for n < len(iw.prev) && n < len(id) && iw.prev[n] == id[n] {
		n++
	}
	if iw.saved+int64(n) > maxRepeated*iw.out.Size() {
		n = min(n, maxPrefix)
	}
	iw.saved += int64(n)
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

// Close ends the ids of the axis. It leaves no file if the ids are 0 … n−1.
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
	iw.err = writing(iw.out.Close())
	if iw.err != nil {
		return iw.err
	}
	if iw.identity {
		iw.err = iw.w.fs.Remove(iw.out.Name())
	}
	return iw.err
}

// describe returns the manifest's entry; nil if the ids are 0 … n−1.
func (iw *IDWriter) describe() *IDFile {
	if iw == nil || iw.identity {
		return nil
	}
	return &IDFile{File: iw.axis.file(), Kind: iw.kind, Order: iw.order, Count: iw.count, Size: iw.out.Size(), CRC: crc.Sum(iw.crc)}
}
