// Package npy writes and reads arrays in NumPy's .npy format
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
// It writes version 1.0, little-endian float64 in C order, the data aligned to 64
// bytes so that numpy.load can map the file. It reads headers of versions 1 to 3, decodes
// elements of every numeric type, and opens files of float32 and float64, in C and in Fortran order.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Magic is the first six bytes of every array; two bytes of a version follow.
const Magic = "\x93NUMPY"

// ErrFormat is wrapped by the errors about the contents of a file: not an array, an array of another kind, cut short, an
// entry that is not finite.
var ErrFormat = errors.New("bad array")

func badly(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrFormat)
}

// A Header describes an array; in the file it stands before the elements.
type Header struct {
	Descr   string // type of the elements, as in the file
	Fortran bool   // column-major order: the first index varies fastest
	Shape   []int64
	Size    int64 // bytes of the header
}

const maxText = math.MaxUint16

func ReadHeader(r io.Reader) (*Header, error) {
	h := new(Header)
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		k, err := io.ReadFull(r, b)
		h.Size += int64(k)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = badly("it ends at byte %d, in the header", h.Size)
		}
		return b, err
	}
	b, err := read(len(Magic) + 2)
	if err != nil {
		return nil, err
	}
	if string(b[:len(Magic)]) != Magic {
		return nil, badly("byte 0: it does not begin as an array of NumPy does")
	}
	long := 2
	switch version := b[len(Magic)]; {
	case version == 2 || version == 3:
		long = 4
	case version != 1:
		return nil, badly("byte %d: format %d of NumPy is not known, 1 to 3 are", len(Magic), version)
	}
	if b, err = read(long); err != nil {
		return nil, err
	}
	size := uint32(b[0]) | uint32(b[1])<<8
	if long == 4 {
		size = binary.LittleEndian.Uint32(b)
	}
	if size > maxText {
		return nil, badly("byte %d: header of %d bytes", len(Magic)+2, size)
	}
	if b, err = read(int(size)); err != nil {
		return nil, err
	}
	return h, h.dictionary(string(b))
}

// item matches one item of the dictionary of a header, with any spacing that NumPy allows.
var item = regexp.MustCompile(`^\s*'(descr|fortran_order|shape)'\s*:\s*('[^']*'|True|False|\([\d, ]*\)|\[.*\])\s*(,|$)`)

// dictionary sets the fields of h from the text of a header, a Python literal.
func (h *Header) dictionary(text string) error {
	wrong := badly("header %.100q: want descr, fortran_order and shape", text)
	rest, ok := strings.CutPrefix(text, "{")
	rest, closed := strings.CutSuffix(strings.TrimSpace(rest), "}")
	if !ok || !closed {
		return wrong
	}
	seen := map[string]string{}
	for strings.TrimSpace(rest) != "" {
		m := item.FindStringSubmatch(rest)
		if m == nil || seen[m[1]] != "" {
			return wrong
		}
		seen[m[1]] = m[2]
		rest = rest[len(m[0]):]
	}
	descr, shape := seen["descr"], seen["shape"]
	order := seen["fortran_order"]
	if strings.HasPrefix(descr, "[") {
		return badly("its elements are records %.60q, not numbers", descr)
	}
	if !strings.HasPrefix(descr, "'") || !strings.HasPrefix(shape, "(") || order != "True" && order != "False" {
		return wrong
	}
	h.Descr, h.Fortran = strings.Trim(descr, "'"), order == "True"
	dims := strings.Split(strings.Trim(shape, "()"), ",")
	for i, d := range dims {
		d = strings.TrimSpace(d)
		if d == "" && i == len(dims)-1 && (i != 0 || len(dims) == 1) {
			break
		}
		n, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return badly("shape %.60q: %q is no length", shape, d)
		}
		h.Shape = append(h.Shape, n)
	}
	return nil
}

// Elements returns the number of elements, or −1 if their size in bytes may overflow an int64.
func (h *Header) Elements() int64 {
	if slices.Contains(h.Shape, 0) {
		return 0
	}
	n := int64(1)
	for _, d := range h.Shape {
		if n > math.MaxInt64/16/d {
			return -1
		}
		n *= d
	}
	return n
}

// A Type is a kind of number: 'b'ool, 'i'nteger, 'u'nsigned or 'f'loat.
type Type struct {
	Kind byte
	Size int // bytes
	Big  bool
}

func TypeOf(descr string) (Type, error) {
	var t Type
	if len(descr) == 3 {
		t = Type{Kind: descr[1], Size: int(descr[2] - '0'), Big: descr[0] == '>'}
	}
	sizes := map[byte]string{'b': "1", 'i': "1248", 'u': "1248", 'f': "248"}[t.Kind]
	if sizes == "" || strings.IndexByte(sizes, descr[2]) < 0 || strings.IndexByte("<>|", descr[0]) < 0 || descr[0] == '|' && t.Size > 1 {
		return t, badly("its elements are %.20q; save them as numbers: numpy.save(file, x.astype('<f8'))", descr)
	}
	return t, nil
}

func (t Type) Integer() bool { return t.Kind == 'i' || t.Kind == 'u' }

// Floats decodes len(dst) numbers and rounds each to the nearest float64.
func (t Type) Floats(dst []float64, b []byte) {
	b = b[:len(dst)*t.Size]
	u16, u32, u64 := t.order()
	switch {
	case t.Kind == 'f' && t.Size == 8:
		for ; !t.Big && len(dst) >= 4; dst, b = dst[4:], b[32:] { // without bounds checks, which would take longer than the rest
			d, s := (*[4]float64)(dst), (*[32]byte)(b)
			d[0] = math.Float64frombits(binary.LittleEndian.Uint64(s[:]))
			d[1] = math.Float64frombits(binary.LittleEndian.Uint64(s[8:]))
			d[2] = math.Float64frombits(binary.LittleEndian.Uint64(s[16:]))
			d[3] = math.Float64frombits(binary.LittleEndian.Uint64(s[24:]))
		}
		for i := range dst {
			dst[i] = math.Float64frombits(u64(b[8*i:]))
		}
	case t.Kind == 'f' && t.Size == 2:
		for i := range dst {
			dst[i] = half(u16(b[2*i:]))
		}
	case t.Kind == 'f':
		for ; !t.Big && len(dst) >= 4; dst, b = dst[4:], b[16:] {
			d, s := (*[4]float64)(dst), (*[16]byte)(b)
			d[0] = float64(math.Float32frombits(binary.LittleEndian.Uint32(s[:])))
			d[1] = float64(math.Float32frombits(binary.LittleEndian.Uint32(s[4:])))
			d[2] = float64(math.Float32frombits(binary.LittleEndian.Uint32(s[8:])))
			d[3] = float64(math.Float32frombits(binary.LittleEndian.Uint32(s[12:])))
		}
		for i := range dst {
			dst[i] = float64(math.Float32frombits(u32(b[4*i:])))
		}
	case t.Kind == 'b':
		for i := range dst {
			dst[i] = float64(min(b[i], 1))
		}
	case t.Kind == 'u' && t.Size == 1:
		for i := range dst {
			dst[i] = float64(b[i])
		}
	case t.Size == 1:
		for i := range dst {
			dst[i] = float64(int8(b[i]))
		}
	case t.Kind == 'u' && t.Size == 8:
		for i := range dst {
			dst[i] = float64(u64(b[8*i:]))
		}
	default:
		t.parts(len(dst), b, func(first int, part []int64) bool {
			for i, n := range part {
				dst[first+i] = float64(n)
			}
			return true
		})
	}
}

// parts decodes n integers, at most 256 at a time, and passes them to take. It stops and returns false if take does.
func (t Type) parts(n int, b []byte, take func(first int, part []int64) bool) bool {
	var some [256]int64
	for first := 0; first < n; first += len(some) {
		part := some[:min(len(some), n-first)]
		t.Ints(part, b[first*t.Size:])
		if !take(first, part) {
			return false
		}
	}
	return true
}

// half converts an IEEE 754 binary16 number: a sign, an exponent of 5 bits and a fraction of 10 bits.
func half(x uint16) float64 {
	const bias, digits, top = 15, 10, 0x1f
	exp, m := int(x>>digits&top), uint64(x&(1<<digits-1))
	v := float64(1<<digits + m)
	switch exp {
	case 0:
		v, exp = float64(m), 1
	case top:
		v = math.Float64frombits(0x7ff<<52 | m<<42)
	}
	return math.Copysign(math.Ldexp(v, exp-bias-digits), 1-2*float64(x>>15))
}

// order returns the functions that decode unsigned integers in the byte order of t.
func (t Type) order() (func([]byte) uint16, func([]byte) uint32, func([]byte) uint64) {
	if t.Big {
		return binary.BigEndian.Uint16, binary.BigEndian.Uint32, binary.BigEndian.Uint64
	}
	return binary.LittleEndian.Uint16, binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
}

// Ints decodes len(dst) integers. An integer that does not fit into an int64 becomes −1.
func (t Type) Ints(dst []int64, b []byte) {
	b = b[:len(dst)*t.Size]
	u16, u32, u64 := t.order()
	for i := range dst {
		switch at := b[i*t.Size:]; {
		case t.Size == 4 && t.Kind == 'i':
			dst[i] = int64(int32(u32(at)))
		case t.Size == 8:
			v := u64(at)
			dst[i] = int64(v)
			if t.Kind == 'u' && v > math.MaxInt64 {
				dst[i] = -1
			}
		case t.Size == 4:
			dst[i] = int64(u32(at))
		case t.Size == 2 && t.Kind == 'i':
			dst[i] = int64(int16(u16(at)))
		case t.Size == 2:
			dst[i] = int64(u16(at))
		case t.Kind == 'i':
			dst[i] = int64(int8(at[0]))
		default:
			dst[i] = int64(at[0])
		}
	}
}

// Indices decodes len(dst) integers. It returns false if an integer is negative, or 2³² or more.
func (t Type) Indices(dst []uint32, b []byte) bool {
	if t.Size == 4 && !t.Big {
		all := uint32(0)
		for ; len(dst) >= 4; dst, b = dst[4:], b[16:] {
			d, s := (*[4]uint32)(dst), (*[16]byte)(b)
			d[0], d[1] = binary.LittleEndian.Uint32(s[:]), binary.LittleEndian.Uint32(s[4:])
			d[2], d[3] = binary.LittleEndian.Uint32(s[8:]), binary.LittleEndian.Uint32(s[12:])
			all |= d[0] | d[1] | d[2] | d[3]
		}
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint32(b[4*i:])
			all |= dst[i]
		}
		return t.Kind == 'u' || all < 1<<31
	}
	return t.parts(len(dst), b, func(first int, part []int64) bool {
		for i, n := range part {
			if n < 0 || n > math.MaxUint32 {
				return false
			}
			dst[first+i] = uint32(n)
		}
		return true
	})
}
