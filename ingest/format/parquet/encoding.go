package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
)

const (
	encPlain       = 0
	encPlainDict   = 2
	encRLE         = 3
	encDelta       = 5
	encDeltaLength = 6
	encDeltaBytes  = 7
	encDict        = 8
	encSplit       = 9
)

var errShort = errors.New("a page has fewer values than it says")

var errPageSum = errors.New("a page does not have the checksum in its header")

// values are the values of a page or a dictionary: numbers, or texts.
type values struct {
	nums []uint64 // int64, uint64, or bits of a float64
	data []byte
	ends []uint32 // of each text, its end in data
}

func (v *values) text(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = v.ends[i-1]
	}
	return v.data[start:v.ends[i]]
}

func (v *values) len() int { return max(len(v.nums), len(v.ends)) }

func (v *values) add(s []byte) error {
	if len(v.data)+len(s) > math.MaxUint32 {
		return format.ErrUnsupported
	}
	v.data = append(v.data, s...)
	v.ends = append(v.ends, uint32(len(v.data)))
	return nil
}

func (v *values) decode(f *field, encoding, n int, b []byte) error {
	v.nums, v.data, v.ends = v.nums[:0], v.data[:0], v.ends[:0]
	if f.phys == physBytes || f.phys == physFixed {
		v.ends = slices.Grow(v.ends, n)
	} else {
		v.nums = slices.Grow(v.nums, n)
	}
	width := map[int]int{physInt32: 4, physInt64: 8, physFloat: 4, physDouble: 8, physFixed: f.length}[f.phys]
	switch {
	case encoding == encPlain && f.phys == physBool:
		if n > 8*len(b) {
			return errShort
		}
		for i := range n {
			v.nums = append(v.nums, uint64(b[i/8]>>(i%8)&1))
		}
	case encoding == encRLE && f.phys == physBool && len(b) >= 4:
		levels, err := hybrid(nil, b[4:], 1, n)
		for _, x := range levels {
			v.nums = append(v.nums, uint64(x))
		}
		return err
	case encoding == encPlain && f.phys == physBytes:
		for range n {
			if len(b) < 4 || uint64(binary.LittleEndian.Uint32(b)) > uint64(len(b)-4) {
				return errShort
			}
			size := binary.LittleEndian.Uint32(b)
			if err := v.add(b[4 : 4+size]); err != nil {
				return err
			}
			b = b[4+size:]
		}
	case encoding == encSplit && width > 0:
		if n > len(b)/width {
			return errShort
		}
		whole := make([]byte, n*width)
		for k := range width {
			for i, c := range b[k*n : (k+1)*n] {
				whole[i*width+k] = c
			}
		}
		return v.fixed(f, width, n, whole)
	case encoding == encPlain && width > 0:
		return v.fixed(f, width, n, b)
	case encoding == encDelta && (f.phys == physInt32 || f.phys == physInt64):
		_, err := delta(n, b, func(x int64) { v.nums = append(v.nums, f.integer(uint64(x))) })
		return err
	case encoding == encDeltaLength && f.phys == physBytes:
		return v.deltaLength(n, b)
	case encoding == encDeltaBytes && (f.phys == physBytes || f.phys == physFixed):
		return v.deltaBytes(n, b, f.most)
	default:
		return fmt.Errorf("encoding %d of %s: %w", encoding, physNames[f.phys], format.ErrUnsupported)
	}
	return nil
}

func (v *values) fixed(f *field, width, n int, b []byte) error {
	if n > len(b)/width {
		return errShort
	}
	if f.phys == physFixed {
		for i := range n {
			if err := v.add(b[width*i : width*(i+1)]); err != nil {
				return err
			}
		}
		return nil
	}
	nums := v.nums[:n]
	switch f.phys {
	case physInt32:
		for i := range nums {
			nums[i] = f.integer(uint64(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case physInt64, physDouble:
		for i := range nums {
			nums[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	case physFloat:
		for i := range nums {
			nums[i] = math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))))
		}
	}
	v.nums = nums
	return nil
}

// integer extends a number of 4 bytes to 8, with its sign unless the column is unsigned.
func (f *field) integer(x uint64) uint64 {
	if f.phys == physInt32 {
		if f.kind == natural {
			return uint64(uint32(x))
		}
		return uint64(int64(int32(x)))
	}
	return x
}

// deltaLength reads texts that are preceded by their lengths (DELTA_LENGTH_BYTE_ARRAY).
func (v *values) deltaLength(n int, b []byte) error {
	var lens []int64
	rest, err := delta(n, b, func(x int64) { lens = append(lens, x) })
	for _, size := range lens {
		if size < 0 || size > int64(len(rest)) {
			return errShort
		}
		if err := v.add(rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	return err
}

// deltaBytes reads texts that share a prefix with the text before them (DELTA_BYTE_ARRAY); together they take at most most bytes.
func (v *values) deltaBytes(n int, b []byte, most int) error {
	var shared []int64
	rest, err := delta(n, b, func(x int64) { shared = append(shared, x) })
	if err != nil {
		return err
	}
	var ends values
	if err := ends.deltaLength(n, rest); err != nil {
		return err
	}
	var last []byte
	for i, k := range shared {
		if k < 0 || k > int64(len(last)) {
			return errShort
		}
		if len(v.data)+int(k) > most {
			return fmt.Errorf("a page whose texts take more than %d MiB: %w within this memory budget; a larger --memory reads it, or write it with smaller pages", most>>20, format.ErrUnsupported)
		}
		last = append(last[:k:k], ends.text(uint32(i))...)
		if err := v.add(last); err != nil {
			return err
		}
	}
	return nil
}

// hybrid reads n numbers of a given width in bits, in runs of equal numbers or of packed ones (RLE / bit-packing hybrid).
func hybrid(dst []uint32, b []byte, width, n int) ([]uint32, error) {
	if width < 0 || width > 32 {
		return dst, errShort
	}
	dst = slices.Grow(dst, n)
	for n > 0 {
		head, k := binary.Uvarint(b)
		if k <= 0 || head>>1 == 0 {
			return dst, errShort
		}
		b = b[k:]
		if head&1 == 0 {
			size := (width + 7) / 8
			if len(b) < size {
				return dst, errShort
			}
			x := uint32(0)
			for i := range size {
				x |= uint32(b[i]) << (8 * i)
			}
			b = b[size:]
			run := int(min(head>>1, uint64(n)))
			for range run {
				dst = append(dst, x)
			}
			n -= run
			continue
		}
		if head>>1 > uint64(len(b)) && width > 0 {
			return dst, errShort
		}
		run := int(min(head>>1, uint64(n/8+1)) * 8)
		packed := b[:min(len(b), run/8*width)]
		take := min(run, n)
		if take*width > 8*len(packed) {
			return dst, errShort
		}
		dst = unpack(dst, packed, width, take)
		b, n = b[len(packed):], n-take
	}
	return dst, nil
}

// unpack appends n numbers of width bits, at most 32, lowest bits first.
func unpack(dst []uint32, b []byte, width, n int) []uint32 {
	mask := uint64(1)<<width - 1
	acc, have := uint64(0), 0
	for range n {
		for have < width {
			if len(b) >= 4 {
				acc |= uint64(binary.LittleEndian.Uint32(b)) << have
				b, have = b[4:], have+32
				continue
			}
			acc |= uint64(b[0]) << have
			b, have = b[1:], have+8
		}
		dst = append(dst, uint32(acc&mask))
		acc >>= width
		have -= width
	}
	return dst
}

// delta reads n integers written as differences (DELTA_BINARY_PACKED) and returns the bytes after them.
func delta(n int, b []byte, add func(int64)) (rest []byte, err error) {
	t := &thrift{b: b}
	block, minis, total := t.uvarint(), t.uvarint(), t.uvarint()
	x := t.int()
	if t.err != nil || total < uint64(n) || minis == 0 || minis > 1<<10 || block > 1<<16 || block%minis != 0 || block/minis%8 != 0 || block == 0 {
		return nil, errShort
	}
	if n > 0 {
		add(x)
	}
	per := int(block / minis)
	for left := n - 1; left > 0; {
		least := t.int()
		if t.err != nil || uint64(len(t.b)) < minis {
			return nil, errShort
		}
		widths := t.b[:minis]
		t.b = t.b[minis:]
		for _, w := range widths {
			if left <= 0 {
				break // the remaining miniblocks have no data
			}
			size := per * int(w) / 8
			if w > 64 || size > len(t.b) {
				return nil, errShort
			}
			mini := t.b[:size]
			t.b = t.b[size:]
			for i := range min(left, per) {
				x += least + int64(bitsAt(mini, i*int(w), int(w)))
				add(x)
			}
			left -= per
		}
	}
	return t.b, nil
}

func bitsAt(b []byte, at, width int) (x uint64) {
	for got := 0; got < width; {
		c := uint64(b[at/8]) >> (at % 8)
		x |= c << got
		step := 8 - at%8
		got, at = got+step, at+step
	}
	if width < 64 {
		x &= 1<<width - 1
	}
	return x
}
