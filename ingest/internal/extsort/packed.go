package extsort

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// An entry of ids takes half as much memory packed: two numbers below 2²⁸
// above the code of one of up to 256 values. First the numbers are temporary ids, user
// above item; for sorting they become a key.
const (
	PackedBytes  = 8 // bytes
	packedIDBits = 28
	codeBits     = 64 - 2*packedIDBits
	packedID     = 1<<packedIDBits - 1
	packedCode   = 1<<codeBits - 1
)

type valueTable struct {
	n      int
	bits   [1 << codeBits]uint64 // of each code's value
	recent [1024]uint8           // guesses, verified
}

// pack packs entries of temporary ids into dst and returns how many: as many as fit, from the first one on.
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

// unpack is the inverse of pack. Once sorted, entries have their keys.
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

// addPacked packs entries and returns how many. Afterwards there is room for
// more, or the spool is not tight any more.
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

// loosen unpacks all runs; no more are packed.
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
	if m.Users == nil || m.Items == nil || m.First != 0 {
		for i, x := range e {
			e[i] = m.key(x>>(packedIDBits+codeBits), x>>codeBits&packedID)<<codeBits | x&packedCode
		}
		return
	}
	users, items, toUser, toItem := m.shifts()
	for i, x := range e {
		key := uint64(users[x>>(packedIDBits+codeBits)])<<toUser | uint64(items[x>>codeBits&packedID])<<toItem
		e[i] = key<<codeBits | x&packedCode
	}
}
