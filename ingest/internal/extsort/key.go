package extsort

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// An Entry is one stored entry: a packed place and a value. Sorting by key
// sorts by stored row, then stored column.
type Entry struct {
	Key uint64
	Val float64
}

const EntryBytes = 16

// A Packer packs a place of the user's matrix into a key: stored row above stored column.
type Packer struct {
	Rows, Cols int64 // of the stored matrix
	ColBits    int
	Bits       int // bits of a key, ≤ 63, so that the largest uint64 is no key
	Transposed bool
}

// NewPacker returns the Packer of the user's rows × cols matrix, which is stored as it is or transposed.
func NewPacker(rows, cols int64, transposed bool) Packer {
	k := Packer{Rows: rows, Cols: cols, Transposed: transposed}
	if transposed {
		k.Rows, k.Cols = cols, rows
	}
	k.ColBits = bitsFor(k.Cols)
	k.Bits = bitsFor(k.Rows) + k.ColBits
	return k
}

// Key packs a place of the user's matrix, counted from 0.
func (k *Packer) Key(row, col int64) uint64 {
	if k.Transposed {
		row, col = col, row
	}
	return uint64(row)<<k.ColBits | uint64(col)
}

func (k *Packer) Stored(key uint64) (row int64, col uint32) {
	return int64(key >> k.ColBits), uint32(key & (1<<k.ColBits - 1))
}

// InRow returns the number of entries at the beginning of e that are in the row of the first; e is in order and not empty.
func (k *Packer) InRow(e []Entry) int {
	end := (e[0].Key>>k.ColBits + 1) << k.ColBits
	n := 1
	for n < len(e) && e[n].Key < end {
		n++
	}
	return n
}

func bitsFor(n int64) int { return bits.Len64(uint64(max(n, 1) - 1)) }

// A Remap turns temporary ids of one generation of users and one of items into keys.
type Remap struct {
	Users, Items []uint32 // ranks; nil: temporary ids are ranks
	Pack         Packer
	First        int64 // subtracted from items
	// Pairs says that each entry is a pair of entries: temporary ids of items and keys have a further lowest bit, 0 in the
	// first entry and 1 in the second. No run is packed then.
	Pairs bool
}

// entries replaces the keys of e, pairs of temporary ids, by packed places. If m is nil, the keys are places already.
func (m *Remap) entries(e []Entry) {
	if m == nil {
		return
	}
	if m.Pairs {
		for i := range e {
			k := e[i].Key
			e[i].Key = m.Pack.Key(int64(m.Users[k>>32]), int64(m.Items[uint32(k)>>1]))<<1 | k&1
		}
		return
	}
	for i := range e {
		e[i].Key = m.key(e[i].Key>>32, uint64(uint32(e[i].Key)))
	}
}

// key returns the packed place of a pair of temporary ids.
func (m *Remap) key(user, item uint64) uint64 {
	item -= uint64(m.First)
	if m.Users != nil {
		user = uint64(m.Users[user])
	}
	if m.Items != nil {
		item = uint64(m.Items[item])
	}
	return m.Pack.Key(int64(user), int64(item))
}

// An entry of ids takes half the memory if it is packed: two numbers below 2²⁸ above the code of one of at most 256 values.
// The numbers are temporary ids, user above item, until the run is sorted; then they are a key.
const (
	PackedBytes  = 8 // bytes
	packedIDBits = 28
	codeBits     = 64 - 2*packedIDBits
	packedID     = 1<<packedIDBits - 1
	packedCode   = 1<<codeBits - 1
)

type valueTable struct {
	n      int
	bits   [1 << codeBits]uint64 // value of each code, as bits
	recent [1024]uint8           // by hash of a value: its probable code, to be verified
}

// pack packs entries of temporary ids into dst and returns their number: all before the first that does not fit.
func (t *valueTable) pack(dst, keys []uint64, vals []float64) int {
	dst, vals = dst[:len(keys)], vals[:len(keys)]
	for i, key := range keys {
		user, item := key>>32, uint64(uint32(key))
		bits := math.Float64bits(vals[i])
		slot := &t.recent[bits*mix.Golden>>54] // Fibonacci hashing
		code := *slot
		if t.bits[code] != bits || int(code) >= t.n {
			var ok bool
			code, ok = t.code(bits)
			if !ok {
				return i
			}
			*slot = code
		}
		if (user|item)>>packedIDBits != 0 {
			return i
		}
		dst[i] = user<<(packedIDBits+codeBits) | item<<codeBits | uint64(code)
	}
	return len(keys)
}

func (t *valueTable) code(bits uint64) (code uint8, ok bool) {
	k := slices.Index(t.bits[:t.n], bits)
	if k < 0 {
		k = t.n
		if k == len(t.bits) {
			return 0, false
		}
		t.bits[k] = bits
		t.n++
	}
	return uint8(k), true
}

func (t *valueTable) value(code uint64) float64 { return math.Float64frombits(t.bits[code&packedCode]) }

// unpack is the inverse of pack. The entries of a sorted run have keys instead of temporary ids.
func (t *valueTable) unpack(dst []Entry, packed []uint64, sorted bool) {
	dst = dst[:len(packed)]
	if sorted {
		for i, x := range packed {
			dst[i] = Entry{x >> codeBits, t.value(x)}
		}
		return
	}
	for i, x := range packed {
		dst[i] = Entry{x>>(packedIDBits+codeBits)<<32 | x>>codeBits&packedID, t.value(x)}
	}
}

// addPacked packs entries and returns their number. Afterwards the run being filled has room, or the spool is no longer tight.
func (s *Spool) addPacked(keys []uint64, vals []float64) (int, error) {
	had := len(s.packed)
	n := min(len(keys), cap(s.packed)-had)
	k := s.values.pack(s.packed[had:had+n], keys[:n], vals[:n])
	s.packed = s.packed[:had+k]
	switch {
	case k < n:
		return k, s.loosen()
	case had+n == cap(s.packed):
		return k, s.seal()
	}
	return k, nil
}

// loosen unpacks all runs in memory; later entries are not packed.
func (s *Spool) loosen() error {
	s.keep()
	s.tight, s.bytes = false, 0
	for i := range s.runs {
		r := &s.runs[i]
		r.mem = make([]Entry, r.n)
		s.values.unpack(r.mem, r.packed, false)
		r.packed = nil
		s.bytes += int64(r.n) * EntryBytes
	}
	if s.full(0) {
		return s.spill()
	}
	return nil
}

func (m *Remap) packed(e []uint64) {
	for i, x := range e {
		e[i] = m.key(x>>(packedIDBits+codeBits), x>>codeBits&packedID)<<codeBits | x&packedCode
	}
}
