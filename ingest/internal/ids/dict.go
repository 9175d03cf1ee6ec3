package ids

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/mix"
)

// A Dictionary numbers the distinct ids of one axis in order of appearance (temporary ids), and sorts them at the end.
//
// It begins with integers and converts them to strings, without loss, at the first id that is no canonical decimal int64. The
// hash table has open addressing with linear probing and is at most 3/4 full. A slot holds 32 bits of the hash beside the
// temporary id plus one, so that a probe seldom reads another id than the one it looks for. Ids are stored in blocks that are
// never moved, so that growing costs only the new table.
//
// Dense integers from 0, as the ids of ratings are, are found without hashing in the table direct, which grows as long as it
// is not much longer than the number of ids.
type Dictionary struct {
	N       int      // number of ids
	hashed  int      // ids in slots, including those that direct holds as well
	slots   []uint64 // hash<<32 | temporary id + 1; 0 is free
	direct  []uint32 // temporary id + 1 of the integers 0 … len−1; 0 is free
	isText  bool
	ints    blocks[int64]
	text    arena
	lastInt int64 // the last id: runs of one id are common, as ratings come by user
	last    uint32
	hasLast bool
	seed    maphash.Seed // seed of the hash of texts
	salt    uint64       // random, XORed to integers before hashing, so that no input can be made whose ids collide
}

// maxIDs is the largest number of ids that a slot can number.
const maxIDs = 1<<32 - 2

func NewDictionary() *Dictionary {
	return &Dictionary{slots: make([]uint64, 1024), seed: maphash.MakeSeed(), salt: rand.Uint64()}
}

// Size returns the bytes held, including the next, doubled table when it is needed soon. After order has been called it counts
// the order and the ranks instead of the table.
func (d *Dictionary) Size() int64 {
	held := d.ints.size() + d.text.size() + int64(len(d.direct))*12 // 12: direct may double with the next id
	switch {
	case d.slots == nil:
		return held + int64(d.N)*8
	case d.hashed*2 > len(d.slots):
		return held + int64(len(d.slots))*24
	}
	return held + int64(len(d.slots))*8
}

// Encode appends the temporary id of each id of c to dst, and numbers new ids.
func (d *Dictionary) Encode(c *format.Keys, dst []uint32) []uint32 {
	if c.IsText && !d.isText {
		d.toText()
	}
	switch {
	case c.IsText:
		dst = c.Number(dst, d.addText)
	case d.isText:
		var b [20]byte
		for _, id := range c.Ints {
			dst = append(dst, d.addText(strconv.AppendInt(b[:0], id, 10)))
		}
	default:
		for _, id := range c.Ints {
			dst = append(dst, d.addInt(id))
		}
	}
	return dst
}

func (d *Dictionary) hashInt(id int64) uint64 { return mix.Finalise(uint64(id) ^ d.salt) }

func (d *Dictionary) addInt(id int64) uint32 {
	if id == d.lastInt && d.hasLast {
		return d.last
	}
	if uint64(id) < uint64(len(d.direct)) {
		return d.addDirect(id)
	}
	h := d.hashInt(id)
	mask := uint64(len(d.slots) - 1)
	i := h & mask
	for ; d.slots[i] != 0; i = (i + 1) & mask {
		s := d.slots[i]
		if s>>32 == h>>32 && d.ints.at(int(uint32(s)-1)) == id {
			d.lastInt, d.last, d.hasLast = id, uint32(s)-1, true
			return d.last
		}
	}
	if d.extend(id) {
		return d.addDirect(id)
	}
	d.ints.add(id)
	d.lastInt, d.last, d.hasLast = id, d.insert(i, h), true
	return d.last
}

func (d *Dictionary) addDirect(id int64) uint32 {
	t := d.direct[id]
	if t == 0 {
		d.ints.add(id)
		d.N++
		t = uint32(d.N)
		d.direct[id] = t
	}
	d.lastInt, d.last, d.hasLast = id, t-1, true
	return t - 1
}

const (
	// directFirst is the limit of the ids in direct, whatever their number is.
	directFirst = 1 << 16
	// directPerID times the number of ids is a further limit of the ids in direct.
	directPerID = 4
)

// extend lengthens direct so that it has room for the new id. It returns false if the id is negative or beyond both limits.
func (d *Dictionary) extend(id int64) bool {
	if most := max(directFirst, directPerID*d.N); id < 0 || id >= int64(most) {
		return false
	}
	longer := make([]uint32, 1<<bits.Len64(uint64(id)))
	copy(longer, d.direct)
	for t := range d.N {
		if v := d.ints.at(t); v >= 0 && v < int64(len(longer)) {
			longer[v] = uint32(t + 1)
		}
	}
	d.direct = longer
	return true
}

func (d *Dictionary) addText(id []byte) uint32 {
	h := maphash.Bytes(d.seed, id)
	mask := uint64(len(d.slots) - 1)
	i := h & mask
	for ; d.slots[i] != 0; i = (i + 1) & mask {
		s := d.slots[i]
		if s>>32 == h>>32 && bytes.Equal(d.text.at(int(uint32(s)-1)), id) {
			return uint32(s) - 1
		}
	}
	d.text.add(id)
	return d.insert(i, h)
}

// insert gives the id just stored its temporary id and puts it in the free slot i.
func (d *Dictionary) insert(i, h uint64) uint32 {
	t := uint32(d.N)
	d.slots[i] = h>>32<<32 | uint64(t+1)
	d.N++
	d.hashed++
	if d.hashed*4 > len(d.slots)*3 {
		d.rehash(len(d.slots) * 2)
	}
	return t
}

func (d *Dictionary) rehash(size int) {
	d.slots = nil // release the old table first: the ids suffice to rebuild it
	d.slots = make([]uint64, size)
	mask := uint64(size - 1)
	d.hashed = 0
	for t := range d.N {
		var h uint64
		if d.isText {
			h = maphash.Bytes(d.seed, d.text.at(t))
		} else {
			id := d.ints.at(t)
			if uint64(id) < uint64(len(d.direct)) {
				continue
			}
			h = d.hashInt(id)
		}
		d.hashed++
		i := h & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = h>>32<<32 | uint64(t+1)
	}
}

func (d *Dictionary) toText() {
	var b [20]byte
	for t := range d.N {
		d.text.add(strconv.AppendInt(b[:0], d.ints.at(t), 10))
	}
	d.ints, d.direct, d.isText, d.hasLast = blocks[int64]{}, nil, true, false
	size := len(d.slots)
	for d.N*4 > size*3 {
		size *= 2
	}
	d.rehash(size)
}

// order releases the table and returns the temporary ids in ascending order of their ids: integers by value, strings by bytes.
// If keep is set, it returns them in the order of appearance.
func (d *Dictionary) order(keep bool) []uint32 {
	d.slots, d.direct = nil, nil
	order := make([]uint32, d.N)
	for i := range order {
		order[i] = uint32(i)
	}
	if keep {
		return order
	}
	if d.isText {
		slices.SortFunc(order, func(a, b uint32) int { return bytes.Compare(d.text.at(int(a)), d.text.at(int(b))) })
	} else {
		slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(d.ints.at(int(a)), d.ints.at(int(b))) })
	}
	return order
}

// ranks inverts an order: ranks[temporary id] is the place in the order.
func ranks(order []uint32) []uint32 {
	r := make([]uint32, len(order))
	for i, t := range order {
		r[t] = uint32(i)
	}
	return r
}

func (d *Dictionary) id(t uint32) (r ID) {
	if d.isText {
		r.Text = d.text.at(int(t))
	} else {
		r.Int = d.ints.at(int(t))
	}
	return r
}

func (d *Dictionary) name(t uint32) string {
	r := d.id(t)
	return r.name(d.isText)
}

// Cuts returns ids that divide all ids into n parts of about equal size. Afterwards the dictionary cannot number ids.
func (d *Dictionary) Cuts(n int) (cuts []string) {
	order := d.order(false)
	for i := 1; i < min(n, len(order)); i++ {
		cuts = append(cuts, d.name(order[len(order)*i/min(n, len(order))]))
	}
	return cuts
}

// Shared counts the ids that are in both dictionaries. It makes a map of the ids of a, so a should be the smaller one.
func Shared(a, b *Dictionary) (n int) {
	names := make(map[string]bool, a.N)
	for t := range a.N {
		names[a.name(uint32(t))] = true
	}
	for t := range b.N {
		if names[b.name(uint32(t))] {
			n++
		}
	}
	return n
}

// blocks is a slice that grows without moving.
type blocks[T any] struct{ b [][]T }

const blockLen = 1 << 13

func (s *blocks[T]) add(v T) {
	k := len(s.b) - 1
	if k < 0 || len(s.b[k]) == blockLen {
		s.b = append(s.b, make([]T, 0, blockLen))
		k++
	}
	s.b[k] = append(s.b[k], v)
}

func (s *blocks[T]) at(i int) T  { return s.b[i/blockLen][i%blockLen] }
func (s *blocks[T]) size() int64 { return int64(len(s.b)) * blockLen * 8 }

// arena holds byte strings, each after its length, in blocks that are never moved. A string longer than a block has a block of
// its own.
type arena struct {
	b     [][]byte
	where blocks[int64] // block<<32 | offset
	bytes int64
}

const arenaBlock = 1 << 16

func (a *arena) add(s []byte) {
	need := len(s) + binary.MaxVarintLen32
	k := len(a.b) - 1
	if k < 0 || cap(a.b[k])-len(a.b[k]) < need {
		a.b = append(a.b, make([]byte, 0, max(arenaBlock, need)))
		k++
		a.bytes += int64(cap(a.b[k]))
	}
	a.where.add(int64(k)<<32 | int64(len(a.b[k])))
	a.b[k] = append(binary.AppendUvarint(a.b[k], uint64(len(s))), s...)
}

func (a *arena) at(i int) []byte {
	w := a.where.at(i)
	b := a.b[w>>32][uint32(w):]
	n, k := binary.Uvarint(b)
	return b[k : k+int(n)]
}

func (a *arena) size() int64 { return a.bytes + a.where.size() + int64(len(a.b))*24 }

// Pairs appends the pairs of temporary ids of a batch, row in the upper half. rows and cols may be the same axis.
func Pairs(dst []uint64, b *format.Batch, rows, cols *Axis) ([]uint64, error) {
	row, col := rows.dict, cols.dict
	n := len(b.Val)
	if row.N > maxIDs-2*n || col.N > maxIDs-2*n {
		return dst, errTooMany
	}
	if !b.Row.IsText && !b.Col.IsText && !row.isText && !col.isText {
		return appendNumbered(dst, b.Row.Ints, b.Col.Ints, row, col), nil
	}
	rows.temp = row.Encode(&b.Row, rows.temp[:0])
	rows.temp = col.Encode(&b.Col, rows.temp)
	for i, r := range rows.temp[:n] {
		dst = append(dst, uint64(r)<<32|uint64(rows.temp[n+i]))
	}
	return dst, nil
}

var errTooMany = fmt.Errorf("number ids: more than %d: %w", int64(maxIDs), format.ErrUnsupported)

// appendNumbered appends the pairs of temporary ids of integers in one loop. Most ids have occurred before and are in direct.
func appendNumbered(dst []uint64, users, items []int64, user, item *Dictionary) []uint64 {
	byUser, byItem := user.direct, item.direct
	dst = slices.Grow(dst, len(users))[:len(users)]
	items = items[:len(users)]
	for i, u := range users {
		v, u1, v1 := items[i], uint32(0), uint32(0) // u1, v1: temporary ids + 1
		if uint64(u) < uint64(len(byUser)) {
			u1 = byUser[u]
		}
		if uint64(v) < uint64(len(byItem)) {
			v1 = byItem[v]
		}
		if u1 == 0 {
			u1 = user.addInt(u) + 1
			byUser = user.direct // it may have grown
		}
		if v1 == 0 {
			v1 = item.addInt(v) + 1
			byItem = item.direct
		}
		dst[i] = uint64(u1-1)<<32 | uint64(v1-1)
	}
	return dst
}
