package codec

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/gdsvd/gdsvd/csr/internal/codec/simd"
	"github.com/gdsvd/gdsvd/internal/cpu"
)

const groupLen = simd.GroupLen

// AppendPacked appends the packed form of vals (FORMAT.md, "Packed numbers").
func AppendPacked(dst []byte, vals []uint32) []byte {
	for len(vals) > 0 {
		m := min(groupLen, len(vals))
		dst = appendGroup(dst, vals[:m])
		vals = vals[m:]
	}
	return dst
}

func appendGroup(dst []byte, vals []uint32) []byte {
	b, e := bestWidth(vals)
	dst = appendLow(append(dst, byte(b), byte(e)), vals, b)
	if e == 0 {
		return dst
	}
	var at [groupLen]byte // places of the exceptions; found without a branch
	k, largest := 0, uint64(1)<<b-1
	for i, v := range vals {
		at[k&(groupLen-1)] = byte(i)
		k += int((largest - uint64(v)) >> 63)
	}
	dst = append(dst, at[:e]...)
	for _, i := range at[:e] {
		high := vals[i] >> b
		for ; high >= 0x80; high >>= 7 { // binary.AppendUvarint takes longer
			dst = append(dst, byte(high)|0x80)
		}
		dst = append(dst, byte(high))
	}
	return dst
}

func appendLow(dst []byte, vals []uint32, b uint) []byte {
	had, size := len(dst), (len(vals)*int(b)+7)/8
	dst = slices.Grow(dst, size+8) // the last word written may reach beyond the numbers
	to := dst[had : had+size+8]
	mask := uint64(1)<<b - 1
	if b <= 16 {
		for ; len(vals) >= 8; vals, to = vals[8:], to[b:] {
			v := (*[8]uint32)(vals)
			low := uint64(v[0])&mask | (uint64(v[1])&mask)<<(b&63) | (uint64(v[2])&mask)<<(2*b&63) | (uint64(v[3])&mask)<<(3*b&63)
			high := uint64(v[4])&mask | (uint64(v[5])&mask)<<(b&63) | (uint64(v[6])&mask)<<(2*b&63) | (uint64(v[7])&mask)<<(3*b&63)
			if b <= 8 {
				le.PutUint64(to, low|high<<(4*b&63))
				continue
			}
			le.PutUint64(to, low)
			// If b is odd, the four numbers of high begin in the byte in which those of low end.
			le.PutUint64(to[b/2:], low>>(4*(b-1)&63)&(15*uint64(b&1))|high<<(4*(b&1)))
		}
	}
	var acc uint64
	var have uint
	for _, v := range vals {
		acc |= (uint64(v) & mask) << (have & 63)
		have += b
		if have >= 32 {
			le.PutUint32(to, uint32(acc))
			to = to[4:]
			acc >>= 32
			have -= 32
		}
	}
	le.PutUint32(to, uint32(acc))
	return dst[:had+size]
}

// bestWidth is the width of least total size for a group, the smallest on a
// tie, and the number of exceptions it leaves.
func bestWidth(vals []uint32) (width uint, exceptions int) {
	n := len(vals)
	var count [4][33]uint8 // four counters in turn: neighbours of the same length do not wait for each other
	all := uint32(0)
	for ; len(vals) >= 4; vals = vals[4:] {
		v := (*[4]uint32)(vals)
		count[0][bits.Len32(v[0])]++
		count[1][bits.Len32(v[1])]++
		count[2][bits.Len32(v[2])]++
		count[3][bits.Len32(v[3])]++
		all |= v[0] | v[1] | v[2] | v[3]
	}
	for _, v := range vals {
		count[0][bits.Len32(v)]++
		all |= v
	}
	longer := 0           // numbers of more than b bits
	var highs [33 + 7]int // highs[b] is the number of bytes of their high parts, 7 bits a byte
	least := math.MaxInt
	for b := bits.Len32(all); b >= 0; b-- {
		highs[b] = longer + highs[b+7]
		if size := (n*b+7)>>3 + longer + highs[b]; longer < groupLen && size <= least {
			least, width, exceptions = size, uint(b), longer
		}
		longer += int(count[0][b]) + int(count[1][b]) + int(count[2][b]) + int(count[3][b])
	}
	return width, exceptions
}

// Unpack decodes len(dst) packed numbers from buf[:size], which they must fill exactly. Bytes of buf beyond size are not
// interpreted, but decoding is faster if there are at least slack of them. Every value of buf is checked; dst never holds
// bits that were not in buf.
func Unpack(l cpu.Level, dst []uint32, buf []byte, size int) error {
	n, err := unpackGroups(l, dst, buf, size)
	if err != nil {
		return err
	}
	if n != size {
		return Damaged(n, "%d bytes too many in packed numbers", size-n)
	}
	return nil
}

// unpackGroups decodes len(dst) packed numbers from the front of buf[:size]
// and returns the number of bytes they take. All groups but the last are full.
func unpackGroups(l cpu.Level, dst []uint32, buf []byte, size int) (int, error) {
	pos := 0
	for {
		n, used := simd.Groups(l, dst, buf[pos:size])
		dst, pos = dst[n:], pos+used
		if len(dst) == 0 {
			return pos, nil
		}
		m := min(groupLen, len(dst))
		used, err := unpackGroup(dst[:m], buf[pos:], size-pos)
		if err != nil {
			err.(*Damage).At += int64(pos)
			return 0, err
		}
		dst, pos = dst[m:], pos+used
	}
}

// unpackGroup decodes one group from buf[:size] and returns its length in bytes.
func unpackGroup(dst []uint32, buf []byte, size int) (int, error) {
	if size < 2 {
		return 0, Damaged(0, "packed group cut short")
	}
	b, e := uint(buf[0]), int(buf[1])
	if b > 32 || e > len(dst) || e >= groupLen || b == 32 && e > 0 {
		return 0, Damaged(0, "packed group of width %d with %d exceptions", b, e)
	}
	used := uint(len(dst)) * b
	low := int(used+7) / 8
	if size < 2+low+2*e {
		return 0, Damaged(0, "packed group cut short")
	}
	if tail := used & 7; tail != 0 && buf[2+low-1]>>tail != 0 {
		return 0, Damaged(2+low-1, "unused bits set in packed group")
	}
	unpackLow(dst, buf[2:], low, b)
	if e == 0 {
		return 2 + low, nil
	}
	n, err := patch(dst, buf[2+low:size], b, e)
	if err != nil {
		err.(*Damage).At += int64(2 + low)
	}
	return 2 + low + n, err
}

// slack is the number of bytes that unpackPlain may read beyond those of the numbers.
const slack = 8

func unpackLow(dst []uint32, buf []byte, low int, b uint) {
	switch {
	case b == 0:
		clear(dst)
	case len(buf) < low+slack:
		var padded [groupLen*4 + slack]byte
		copy(padded[:], buf[:low])
		unpackPlain(dst, padded[:low+slack], b)
	default:
		unpackPlain(dst, buf[:low+slack], b)
	}
}

// unpackPlain reads len(dst) numbers of b bits, 1 ≤ b ≤ 32, from src, which has
// at least slack bytes more than they take.
//
// Widths up to 8 take eight numbers from one 64-bit load, widths up to 16
// four (the load then starts at bit 0 or 4, and 4+4·15 = 64), others one.
func unpackPlain(dst []uint32, src []byte, b uint) {
	mask := uint32(1<<b - 1)
	i := 0
	switch {
	case b <= 8:
		for pos := uint(0); i+8 <= len(dst); i += 8 {
			x := le.Uint64(src[pos:])
			d := (*[8]uint32)(dst[i:])
			d[0] = uint32(x) & mask
			d[1] = uint32(x>>(b&63)) & mask
			d[2] = uint32(x>>(2*b&63)) & mask
			d[3] = uint32(x>>(3*b&63)) & mask
			d[4] = uint32(x>>(4*b&63)) & mask
			d[5] = uint32(x>>(5*b&63)) & mask
			d[6] = uint32(x>>(6*b&63)) & mask
			d[7] = uint32(x>>(7*b&63)) & mask
			pos += b
		}
	case b <= 16:
		for pos := uint(0); i+4 <= len(dst); i += 4 {
			x := le.Uint64(src[pos>>3:]) >> (pos & 7)
			d := (*[4]uint32)(dst[i:])
			d[0] = uint32(x) & mask
			d[1] = uint32(x>>(b&63)) & mask
			d[2] = uint32(x>>(2*b&63)) & mask
			d[3] = uint32(x>>(3*b&63)) & mask
			pos += 4 * b
		}
	}
	for pos := uint(i) * b; i < len(dst); i++ {
		dst[i] = uint32(le.Uint64(src[pos>>3:])>>(pos&7)) & mask
		pos += b
	}
}

// patch puts the high bits of e exceptions into a group and returns the number
// of bytes they took.
func patch(dst []uint32, src []byte, b uint, e int) (int, error) {
	pos := e
	last := -1
	for i, p := range src[:e] {
		if int(p) <= last || int(p) >= len(dst) {
			return 0, Damaged(i, "exception position %d out of order", p)
		}
		last = int(p)
		if pos >= len(src) {
			return 0, Damaged(pos, "packed group cut short")
		}
		high, n := uint64(src[pos]), 1
		if high >= 0x80 {
			high, n = binary.Uvarint(src[pos:])
			if n > 0 && src[pos+n-1] == 0 {
				n = 0 // not the shortest form
			}
		}
		if n <= 0 || high == 0 || high>>(32-b) != 0 {
			return 0, Damaged(pos, "exception with an impossible value")
		}
		dst[p] |= uint32(high) << b
		pos += n
	}
	return pos, nil
}
