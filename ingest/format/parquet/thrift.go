package parquet

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
)

// A thrift reads structures of Apache Thrift's compact protocol from bytes. Whatever the bytes hold, reading terminates at their
// end; after an error all results are zero.
type thrift struct {
	b     []byte
	err   error
	depth int   // of nested structures being skipped
	room  int64 // bytes of memory left for the items that keep appends
}

const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftInt16  = 4
	thriftInt32  = 5
	thriftInt64  = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

var errThrift = errors.New("malformed metadata")

func (t *thrift) fail() { t.b, t.err = nil, errThrift }

func (t *thrift) byte() byte {
	if len(t.b) == 0 {
		t.fail()
		return 0
	}
	c := t.b[0]
	t.b = t.b[1:]
	return c
}

func (t *thrift) uvarint() uint64 {
	n, k := binary.Uvarint(t.b)
	if k <= 0 {
		t.fail()
		return 0
	}
	t.b = t.b[k:]
	return n
}

func (t *thrift) int() int64 {
	n := t.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (t *thrift) int32() int {
	n := t.int()
	if n < math.MinInt32 || n > math.MaxInt32 {
		t.fail()
		return 0
	}
	return int(n)
}

func (t *thrift) binary() []byte {
	n := t.uvarint()
	if n > uint64(len(t.b)) {
		t.fail()
		return nil
	}
	s := t.b[:n]
	t.b = t.b[n:]
	return s
}

// slots map the numbers of the fields of a structure to variables: an int has 32 bits in the file, an int64 64; a *uint32 is
// allocated; a bool becomes true unless the field is false; slots read a structure; a function is called for each item of a list.
type slots []slot

type slot struct {
	id int
	to any
}

type union *int

// fields reads a structure. It skips fields that have no slot or another type than their slot.
func (t *thrift) fields(to slots) {
	t.visit(func(id int, kind byte) bool {
		at := slices.IndexFunc(to, func(s slot) bool { return s.id == id })
		if at < 0 || !fits(to[at].to, kind) {
			return false
		}
		switch v := to[at].to.(type) {
		case *int:
			*v = t.int32()
		case union:
			t.visit(func(id int, _ byte) bool {
				*v = id
				return false
			})
		case **uint32:
			*v = new(uint32(t.int32()))
		case *int64:
			*v = t.int()
		case *string:
			*v = string(t.binary())
		case *bool:
			*v = kind != thriftFalse
			return false
		case *element:
			t.logicalType(v)
		case slots:
			t.fields(v)
		case func():
			t.list(func(byte) { v() })
		}
		return true
	})
}

// fits reports whether a field of a kind has the type of a slot.
func fits(to any, kind byte) bool {
	switch to.(type) {
	case *int, **uint32:
		return kind == thriftInt32
	case *int64:
		return kind == thriftInt64
	case *string:
		return kind == thriftBinary
	case func():
		return kind == thriftList
	case *bool:
		return true
	}
	return kind == thriftStruct
}

// visit visits the fields of a structure; field reads the value of a field, or returns false to have it skipped.
func (t *thrift) visit(field func(id int, kind byte) (read bool)) {
	id := 0
	for t.err == nil {
		head := t.byte()
		kind := head & 15
		if kind == thriftStop {
			return
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			id = t.int32()
		}
		if !field(id, kind) {
			t.skip(kind, t.depth)
		}
	}
}

func (t *thrift) list(visit func(kind byte)) {
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	for ; n > 0 && t.err == nil; n-- {
		visit(head & 15)
	}
}

var errRoom = errors.New("no room for the items of a list")

// keep appends an item to a list while there is room: an item of one byte in the file takes about a hundred bytes in memory.
func keep[T any](t *thrift, list []T, item T) []T {
	t.room -= 2 * int64(reflect.TypeFor[T]().Size())
	if t.room < 0 { // the size counts twice, as append copies a growing list
		t.b, t.err = nil, errRoom
		return list
	}
	return append(list, item)
}

// maxDepth is the largest nesting depth of values that are skipped; Parquet has no more than five levels.
const maxDepth = 16

func (t *thrift) skip(kind byte, depth int) {
	if depth > maxDepth {
		t.fail()
		return
	}
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case thriftInt16, thriftInt32, thriftInt64:
		t.uvarint()
	case thriftDouble:
		for range 8 {
			t.byte()
		}
	case thriftBinary:
		t.binary()
	case thriftList, thriftSet:
		t.list(func(kind byte) { t.skipItem(kind, depth+1) })
	case thriftMap:
		n, kinds := t.uvarint(), byte(0)
		if n > 0 {
			kinds = t.byte()
		}
		for ; n > 0 && t.err == nil; n-- {
			t.skipItem(kinds>>4, depth+1)
			t.skipItem(kinds&15, depth+1)
		}
	case thriftStruct:
		was := t.depth
		t.depth = depth + 1
		t.visit(func(int, byte) bool { return false })
		t.depth = was
	default:
		t.fail()
	}
}

// skipItem skips an item of a list or of a map. Unlike in a structure, a boolean takes a byte there. So every item takes at
// least one byte, and a wrong number of items cannot outlast the bytes.
func (t *thrift) skipItem(kind byte, depth int) {
	if kind <= thriftFalse {
		t.byte()
		return
	}
	t.skip(kind, depth)
}
