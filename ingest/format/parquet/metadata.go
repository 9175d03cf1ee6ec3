package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// The numbers below are defined in parquet.thrift (Apache Parquet format 2.11).

const (
	physBool = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physBytes
	physFixed
)

var physNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecZstd   = 6
	codecLZ4    = 7 // a raw block; 5 is LZ4 in Hadoop frames, which writers encode differently
)

var codecNames = [...]string{"none", "snappy", "gzip", "LZO", "Brotli", "LZ4", "zstd", "LZ4_RAW"}

type element struct {
	name      string
	phys      int
	length    int // of fixed-length bytes, else 0
	repeat    int // 0 required, 1 optional, 2 repeated
	children  int
	scale     int
	converted int // −1: none
	logical   int // number of the field of the union LogicalType; 0: none
	unsigned  bool
	unit      int // of timestamps: 1 milliseconds, 2 microseconds, 3 nanoseconds; 0: not known
}

type chunk struct {
	phys, codec int
	values      int64
	bytes       int64
	data, dict  int64 // byte offsets in the file
	elsewhere   bool  // in another file, or encrypted
}

type group struct {
	rows   int64
	chunks []chunk
}

type footer struct {
	rows   int64
	schema []element
	groups []group
	held   int64 // upper bound of the bytes that schema and groups take in memory
}

// maxFooter is the largest footer in bytes. Footers of files with thousands of columns are smaller.
const maxFooter = 1 << 27

var errFooter = errors.New("its end is missing or another file's")

// readFooter reads the footer of a file, within Input.Window.
func readFooter(in *format.Input) (*footer, error) {
	var tail [8]byte
	if in.Size < 12 {
		return nil, errFooter
	}
	if _, err := in.At.ReadAt(tail[:], in.Size-8); err != nil && err != io.EOF {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, fmt.Errorf("an encrypted Parquet file: %w; write it without encryption", format.ErrUnsupported)
	case string(tail[4:]) != magic || n > in.Size-12:
		return nil, errFooter
	case n > maxFooter:
		return nil, fmt.Errorf("a footer of %d bytes: %w", n, format.ErrUnsupported)
	}
	room := cmp.Or(in.Window, math.MaxInt64) - n
	if room < 0 {
		return nil, errLargeFooter(n)
	}
	b := make([]byte, n)
	if _, err := in.At.ReadAt(b, in.Size-8-n); err != nil && err != io.EOF {
		return nil, err
	}
	t, f := &thrift{b: b, room: room}, new(footer)
	t.fields(slots{
		{2, func() { f.schema = keep(t, f.schema, t.element()) }},
		{3, &f.rows},
		{4, func() { f.groups = keep(t, f.groups, t.group()) }},
	})
	if t.err == errRoom {
		return nil, errLargeFooter(n)
	}
	f.held = room - t.room
	return f, t.err
}

func errLargeFooter(n int64) error {
	return fmt.Errorf("a footer of %d bytes: %w within this memory budget; a larger --memory reads it, or write it with fewer row groups or columns", n, format.ErrUnsupported)
}

func (t *thrift) element() element {
	e := element{phys: -1, converted: -1}
	t.fields(slots{{1, &e.phys}, {2, &e.length}, {3, &e.repeat}, {4, &e.name}, {5, &e.children}, {6, &e.converted}, {7, &e.scale}, {10, &e}})
	return e
}

// Logical types: the numbers of their fields in the union LogicalType.
const (
	logicalString    = 1
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTimestamp = 8
	logicalInterval  = 9
	logicalInt       = 10
	logicalNull      = 11
	logicalJSON      = 12
	logicalUUID      = 14
	logicalFloat16   = 15
)

// logicalType reads the union LogicalType: the number of its only field is the type.
func (t *thrift) logicalType(e *element) {
	t.visit(func(id int, kind byte) bool {
		e.logical = id
		switch {
		case kind != thriftStruct:
			return false
		case id == logicalDecimal:
			t.fields(slots{{1, &e.scale}})
		case id == logicalInt:
			signed := true
			t.fields(slots{{2, &signed}})
			e.unsigned = !signed
		case id == logicalTimestamp:
			t.fields(slots{{2, union(&e.unit)}})
		default:
			return false
		}
		return true
	})
}

func (t *thrift) group() (g group) {
	t.fields(slots{{1, func() { g.chunks = keep(t, g.chunks, t.chunk()) }}, {3, &g.rows}})
	return g
}

func (t *thrift) chunk() (c chunk) {
	file, encrypted := "", false
	t.fields(slots{{1, &file}, {8, &encrypted}, {3, slots{{1, &c.phys}, {4, &c.codec}, {5, &c.values}, {7, &c.bytes}, {9, &c.data}, {11, &c.dict}}}})
	c.elsewhere = file != "" || encrypted
	return c
}

const (
	pageData   = 0
	pageDict   = 2
	pageDataV2 = 3
)

type page struct {
	kind, size, packed int // size in bytes, uncompressed (size) and in the file (packed)
	values, encoding   int
	levels             int // encoding of definition levels, in pages of version 1
	defBytes, repBytes int // bytes of levels, in pages of version 2
	plain              bool
	crc                *uint32 // of the bytes in the file; nil: the header has none
}

func (t *thrift) page() page {
	p := page{encoding: -1, levels: encRLE}
	packed := true
	t.fields(slots{
		{1, &p.kind}, {2, &p.size}, {3, &p.packed}, {4, &p.crc},
		{5, slots{{1, &p.values}, {2, &p.encoding}, {3, &p.levels}}},
		{7, slots{{1, &p.values}, {2, &p.encoding}}},
		{8, slots{{1, &p.values}, {4, &p.encoding}, {5, &p.defBytes}, {6, &p.repBytes}, {7, &packed}}},
	})
	p.plain = !packed
	return p
}
