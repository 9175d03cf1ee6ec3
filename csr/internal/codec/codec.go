// Package codec encodes and decodes the parts of a block (csr/FORMAT.md): packed numbers,
// columns, codes of values, integers and floats, and checksums.
//
// Decoders trust none of the bytes, which may also change while they are read: what they
// return without an error has been proved on the decoded copy. Errors are *Damage.
package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr/internal/codec/simd"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/crc"
)

var le = binary.LittleEndian

// Damage is an error at a byte offset relative to the bytes given to a decoder. A caller that knows the file turns it
// into an error that names the file.
type Damage struct {
	At  int64
	Msg string
}

func (d *Damage) Error() string { return d.Msg }

func Damaged[T int | int64](at T, format string, args ...any) error {
	return &Damage{int64(at), fmt.Sprintf(format, args...)}
}

// Shift adds at to the offset of a *Damage, and returns other errors unchanged.
func Shift[T int | int64](err error, at T) error {
	if d, ok := err.(*Damage); ok {
		d.At += int64(at)
	}
	return err
}

func CRC(l cpu.Level, sum uint32, b []byte) uint32 {
	n, sum := simd.CRC(l, sum, b)
	return crc.Update(sum, b[n:])
}

// Summed is a block whose crc is computed piece by piece behind decoding, while the bytes are in the processor's caches:
// they come from memory once and in order. hash/crc32 over the whole block would sum three places at a time, and from
// memory take three times as long.
type Summed struct {
	Level cpu.Level // instructions used for decoding
	Data  []byte
	CRC   uint32 // of Data[:Done]
	Done  int
}

func (s *Summed) UpTo(end int) {
	s.CRC = CRC(s.Level, s.CRC, s.Data[s.Done:end])
	s.Done = end
}

type column interface{ uint16 | uint32 }

// someGaps is the number of gaps unpacked before they are added up: they stay in the first-level cache.
const someGaps = simd.MaxGaps

// Columns decodes the packed column gaps in buf[:size] (see Unpack) into the columns of the rows, of which row i has the
// entries ptr[i] … ptr[i+1]−1. It proves all columns < cols. C must be able to hold cols−1.
func Columns[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols int64) error {
	if l >= cpu.AVX2 && cols <= 1<<31 && sumInVectors(l, col, ptr, buf, size, cols) {
		return nil
	}
	// No vectors, or the gaps may be damaged: sumGaps finds the damage.
	return sumGaps(l, col, ptr, buf, size, uint64(cols))
}

// sumInVectors is Columns for cols ≤ 2³¹. It reports false if the gaps
// are damaged, or may be.
func sumInVectors[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols int64) bool {
	var gaps [someGaps + simd.Slack]uint32
	var last [someGaps + simd.Slack]C
	var sum simd.RowSum
	for len(col) > 0 {
		n := min(someGaps, len(col))
		used, err := unpackGroups(l, gaps[:n], buf, size)
		if err != nil {
			return false
		}
		buf, size = buf[used:], size-used
		if len(col) >= n+simd.Slack {
			simd.Add(&sum, col, gaps[:], n, ptr)
		} else { // the vectors would write beyond the end of col
			simd.Add(&sum, last[:], gaps[:], n, ptr)
			copy(col, last[:n])
		}
		col = col[n:]
	}
	top, ok := sum.Top()
	return ok && size == 0 && int64(top) < max(1, cols)
}

// sumGaps is Columns in plain Go. In 64 bits a row of < 2³² gaps of < 2³² cannot overflow, so that columns ascend
// strictly, and the last column of a row bounds the others. A column that is too large is reported only if the packed
// numbers are sound.
func sumGaps[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols uint64) error {
	var gaps [someGaps]uint32
	var beyond error
	at, row, pos := uint32(0), 0, 0
	next := uint64(0) // the least column the next entry can have
	for len(col) > 0 {
		some := gaps[:min(someGaps, len(col))]
		used, err := unpackGroups(l, some, buf[pos:], size-pos)
		if err != nil {
			return Shift(err, pos)
		}
		pos += used
		for len(some) > 0 {
			n := min(len(some), int(ptr[row+1]-at))
			into := col[:n]
			for j, gap := range some[:n] {
				next += uint64(gap)
				into[j] = C(next)
				next++
			}
			some, col, at = some[n:], col[n:], at+uint32(n)
			if at < ptr[row+1] {
				continue
			}
			if next > cols && beyond == nil {
				beyond = Damaged(0, "column %d in row %d of the block, of %d columns", next-1, row, cols)
			}
			row, next = row+1, 0
		}
	}
	if pos != size {
		return Damaged(pos, "%d bytes too many in packed numbers", size-pos)
	}
	return beyond
}

// Codes8 copies codes of one byte from src to dst, and proves them < n.
func Codes8(l cpu.Level, dst, src []byte, n int) error {
	done, top := simd.Bytes(l, dst, src)
	rest := dst[done:]
	copy(rest, src[done:])
	if int(top) < n && codeOver(rest, n) < 0 {
		return nil
	}
	return Damaged(0, "value index %d in a table of %d", slices.Max(dst), n)
}

// Codes4 spreads the nibbles of src to the bytes of dst, the low nibble of each byte first, and proves them < n.
func Codes4(l cpu.Level, dst, src []byte, n int) error {
	const ones = 0x0101010101010101
	codes, odd := dst, byte(0)
	done, top := simd.Nibbles(l, dst, src)
	dst, src = dst[done:], src[done/2:]
	rest := dst
	for len(dst) >= 8 && len(src) >= 4 {
		x := uint64(le.Uint32(src))
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & (15 * ones)
		le.PutUint64(dst, x)
		dst, src = dst[8:], src[4:]
	}
	for i := range dst {
		dst[i] = src[i/2] >> (i % 2 * 4) & 15
	}
	if len(dst)%2 == 1 {
		odd = src[len(dst)/2] >> 4
	}
	if int(max(top, odd)) >= n || codeOver(rest, n) >= 0 {
		all := append(codes[:len(codes):len(codes)], odd)
		at := codeOver(all, n) &^ 1
		return Damaged(at/2, "value index in byte %#x beyond a table of %d", all[at]|all[at+1]<<4, n)
	}
	if odd != 0 {
		return Damaged(len(codes)/2, "unused bits set in values")
	}
	return nil
}

// codeOver returns the index of the first code ≥ n, 1 ≤ n ≤ 256, or −1. It tests eight codes at a time: it adds to the
// low seven bits of each a number that makes them carry into the eighth bit if the code is ≥ n.
func codeOver(codes []byte, n int) int {
	const ones, eighth = 0x0101010101010101, 0x8080808080808080
	i := 0
	if n <= 128 {
		add := uint64(128-n) * ones
		for ; i+8 <= len(codes); i += 8 {
			if x := le.Uint64(codes[i:]); (x&^eighth+add|x)&eighth != 0 {
				break
			}
		}
	} else {
		add := uint64(256-n) * ones
		for ; i+8 <= len(codes); i += 8 {
			if x := le.Uint64(codes[i:]); (x&^eighth+add)&x&eighth != 0 {
				break
			}
		}
	}
	for ; i < len(codes); i++ {
		if int(codes[i]) >= n {
			return i
		}
	}
	return -1
}

// AppendIntegers appends the packed form of the numbers in b, which take four bytes each.
func AppendIntegers(dst, b []byte) []byte {
	var group [groupLen]uint32
	for n := 0; len(b) > 0; b = b[4*n:] {
		n = min(len(group), len(b)/4)
		for i := range n {
			group[i] = le.Uint32(b[4*i:])
		}
		dst = appendGroup(dst, group[:n])
	}
	return dst
}

// Integers decodes the rest of block, which are packed numbers.
func Integers(dst []float64, block *Summed) error {
	return integers(block, len(dst), func(at int, some []uint32) {
		dst := dst[at:][:len(some)]
		for i, v := range some {
			dst[i] = float64(v)
		}
	})
}

// Counts: numbers below Counts are their own codes; the other numbers of a block get the codes from Counts on.
const Counts = 64

// Codes decodes the rest of block, which are packed numbers, to codes, and returns the numbers of the codes from Counts
// on. If a block has more than 256 − Counts of these, one more than that is returned, and dst is invalid.
func Codes(dst []uint8, block *Summed) (others []float64, err error) {
	err = integers(block, len(dst), func(at int, some []uint32) {
		dst := dst[at:][:len(some)]
		for i, v := range some {
			if v >= Counts {
				k := slices.Index(others, float64(v))
				if k < 0 && len(others) <= 256-Counts {
					k, others = len(others), append(others, float64(v))
				}
				v = uint32(Counts + k)
			}
			dst[i] = uint8(v)
		}
	})
	return others, err
}

// integers decodes the rest of block, n packed numbers, and passes them to take in portions, in order.
func integers(block *Summed, n int, take func(at int, some []uint32)) error {
	var room [someGaps]uint32
	from := block.Done
	for at := 0; at < n; at += len(room) {
		some, rest := room[:min(len(room), n-at)], block.Data[block.Done:]
		used, err := unpackGroups(block.Level, some, rest, len(rest))
		if err != nil {
			return Shift(err, block.Done-from)
		}
		take(at, some)
		block.UpTo(block.Done + used)
	}
	if over := len(block.Data) - block.Done; over > 0 {
		return Damaged(block.Done-from, "%d bytes too many in packed numbers", over)
	}
	return nil
}

// someBytes is the number of bytes of floats decoded before the crc goes on: they stay in the first-level
// cache, and hash/crc32 sums the 4032 bytes after the first multiple of eight in one go.
const someBytes = 4160

// decodeFloats decodes the rest of block, values of size bytes each, in portions.
func decodeFloats(dst []float64, block *Summed, size int, decode func(l cpu.Level, dst []float64, src []byte) error) error {
	for i := 0; i < len(dst); i += someBytes / size {
		some := dst[i:min(i+someBytes/size, len(dst))]
		from, to := block.Done, block.Done+size*len(some)
		if err := decode(block.Level, some, block.Data[from:to]); err != nil {
			return Shift(err, size*i)
		}
		block.UpTo(to)
	}
	return nil
}

func Floats32(dst []float64, block *Summed) error { return decodeFloats(dst, block, 4, decodeFloat32) }

// Floats64 decodes the rest of block, values of eight bytes each. Where the machine has instructions for it, most values
// are decoded together with the crc, so that each byte is read once.
func Floats64(dst []float64, block *Summed) error {
	n, good, crc := simd.Float64CRC(block.Level, dst, block.Data[block.Done:], block.CRC)
	block.CRC, block.Done = crc, block.Done+8*n
	if err := checkFinite(good, dst[:n], 8); err != nil {
		return err
	}
	return Shift(decodeFloats(dst[n:], block, 8, decodeFloat64), 8*n)
}

// The float decoders add one to each exponent: it carries into the sign bit
// for infinities and NaNs only. They walk src by slicing, which costs one
// bounds check a value instead of two.

func decodeFloat32(l cpu.Level, dst []float64, src []byte) error {
	n, good := simd.Float32(l, dst, src)
	src = src[4*n:]
	var over uint32
	for i := n; len(src) >= 4 && i < len(dst); i++ {
		bits := le.Uint32(src)
		over |= bits&(0xff<<23) + 1<<23
		dst[i] = float64(math.Float32frombits(bits))
		src = src[4:]
	}
	return checkFinite(good && over>>31 == 0, dst, 4)
}

func decodeFloat64(l cpu.Level, dst []float64, src []byte) error {
	n, good := simd.Float64(l, dst, src)
	src = src[8*n:]
	var over uint64
	for i := n; len(src) >= 8 && i < len(dst); i++ {
		bits := le.Uint64(src)
		over |= bits&(0x7ff<<52) + 1<<52
		dst[i] = math.Float64frombits(bits)
		src = src[8:]
	}
	return checkFinite(good && over>>63 == 0, dst, 8)
}

// checkFinite returns the damage of the first value, of size bytes, that is not finite, unless good.
func checkFinite(good bool, vals []float64, size int) error {
	if good {
		return nil
	}
	for i, v := range vals {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return Damaged(i*size, "value that is not finite")
		}
	}
	return Damaged(0, "value that is not finite") // the page changed meanwhile
}
