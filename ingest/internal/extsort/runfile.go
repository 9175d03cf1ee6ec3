package extsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/mix"
)

// The file of a run is a header of runHeader bytes, then blocks of entries. A block consists of the number of its entries, the
// bytes of its keys and the number of its distinct values (0: no table of values), each a varint; then the keys, the table of
// distinct values, and for each entry the index of its value, or without a table the value itself.
//
// In a sorted run a key is stored as its difference from the key before. In others each half of the key is stored as its
// difference from that of the key before: the upper half, a user, seldom changes.
const (
	runMagic  = "gdsvdrun"
	runHeader = 64
	// BlockEntries is the largest number of entries of a block.
	BlockEntries = 1 << 12
	// maxBlockBytes is at least the size of the largest block.
	maxBlockBytes = 3*binary.MaxVarintLen64 + BlockEntries*(2*binary.MaxVarintLen64+8) + 256*8
)

// A runInfo holds the header of the file of a run.
type runInfo struct {
	n            int
	users, items int // generations of the temporary ids in the keys, until sorted
	sorted       bool
	least, most  uint64 // smallest and largest key, once sorted
	crc          uint32 // of the blocks
	bytes        int64  // of the blocks
}

func (r *runInfo) header() []byte {
	b := append(make([]byte, 0, runHeader), runMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.n))
	b = binary.LittleEndian.AppendUint64(b, r.least)
	b = binary.LittleEndian.AppendUint64(b, r.most)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.bytes))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.users))
	b = binary.LittleEndian.AppendUint32(b, uint32(r.items))
	b = binary.LittleEndian.AppendUint32(b, r.crc)
	sorted := uint32(0)
	if r.sorted {
		sorted = 1
	}
	b = binary.LittleEndian.AppendUint32(b, sorted)
	b = append(b, make([]byte, runHeader-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, crc.Of(b))
}

func (r *runInfo) parse(b []byte) error {
	if string(b[:8]) != runMagic || binary.LittleEndian.Uint32(b[runHeader-4:]) != crc.Of(b[:runHeader-4]) {
		return scratch.ErrDamaged
	}
	r.n = int(binary.LittleEndian.Uint64(b[8:]))
	r.least, r.most = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	r.bytes = int64(binary.LittleEndian.Uint64(b[32:]))
	r.users, r.items = int(binary.LittleEndian.Uint32(b[40:])), int(binary.LittleEndian.Uint32(b[44:]))
	r.crc = binary.LittleEndian.Uint32(b[48:])
	r.sorted = binary.LittleEndian.Uint32(b[52:]) == 1
	return nil
}

func readRunInfo(fsys vfs.FS, name string) (r runInfo, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return r, err
	}
	var b [runHeader]byte
	_, err = f.ReadAt(b[:], 0)
	if err == io.EOF {
		err = scratch.ErrDamaged
	}
	if err == nil {
		err = r.parse(b[:])
	}
	if err == nil {
		err = scratch.HasSize(f, runHeader+r.bytes)
	}
	return r, errors.Join(err, f.Close())
}

type runWriter struct {
	f     vfs.File
	info  runInfo
	buf   []byte // encoded bytes that are not written yet
	coder *Coder
}

const runBuffer = 1 << 18

func newRunWriter(f vfs.File, info runInfo, c *Coder) *runWriter {
	return &runWriter{f: f, info: info, coder: c, buf: c.out[:0]}
}

func (w *runWriter) add(e []Entry) error {
	if w.info.sorted && len(e) > 0 {
		if w.info.n == 0 {
			w.info.least = e[0].Key
		}
		w.info.most = e[len(e)-1].Key
	}
	w.info.n += len(e)
	for len(e) > 0 {
		k := min(len(e), BlockEntries)
		w.buf = w.coder.Encode(w.buf, e[:k], w.info.sorted)
		e = e[k:]
		if len(w.buf) >= runBuffer {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *runWriter) flush() error {
	if _, err := w.f.WriteAt(w.buf, runHeader+w.info.bytes); err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	w.info.crc = crc.Update(w.info.crc, w.buf)
	w.info.bytes += int64(len(w.buf))
	w.coder.out, w.buf = w.buf, w.buf[:0]
	return nil
}

// end completes the file and leaves it open.
func (w *runWriter) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	if _, err := w.f.WriteAt(w.info.header(), 0); err != nil {
		return fmt.Errorf("spill entries: %w", err)
	}
	return nil
}

// A Coder encodes and decodes blocks. It reuses its buffers.
type Coder struct {
	out   []byte
	keys  []byte
	codes []byte
	table []uint64 // distinct values of the block, as float64 bits
	slots [256]uint8
}

// Encode appends a block of at most BlockEntries entries to dst.
func (c *Coder) Encode(dst []byte, e []Entry, sorted bool) []byte {
	if sorted {
		c.keys = appendSortedKeys(c.keys[:0], e)
	} else {
		c.keys = appendKeys(c.keys[:0], e)
	}
	c.index(e)
	dst = binary.AppendUvarint(dst, uint64(len(e)))
	dst = binary.AppendUvarint(dst, uint64(len(c.keys)))
	dst = binary.AppendUvarint(dst, uint64(len(c.table)))
	dst = append(dst, c.keys...)
	for _, v := range c.table {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	if len(c.table) > 0 {
		return append(dst, c.codes...)
	}
	for i := range e {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(e[i].Val))
	}
	return dst
}

func appendSortedKeys(dst []byte, e []Entry) []byte {
	before := uint64(0)
	for i := range e {
		dst = binary.AppendUvarint(dst, e[i].Key-before)
		before = e[i].Key
	}
	return dst
}

func appendKeys(dst []byte, e []Entry) []byte {
	hi, lo := int64(0), int64(0)
	for i := range e {
		h, l := int64(e[i].Key>>32), int64(uint32(e[i].Key))
		if h == hi {
			dst = append(dst, 0)
		} else {
			dst = binary.AppendVarint(dst, h-hi)
		}
		dst = binary.AppendVarint(dst, l-lo)
		hi, lo = h, l
	}
	return dst
}

// index collects the distinct values of the block and the index of the value of each entry. It leaves the table empty if a
// table does not pay.
func (c *Coder) index(e []Entry) {
	c.table, c.codes = c.table[:0], c.codes[:0]
	clear(c.slots[:])
	for i := range e {
		v := math.Float64bits(e[i].Val)
		slot := &c.slots[v*mix.Golden>>56] // Fibonacci hashing; a guess, verified below
		k := int(*slot)
		if k >= len(c.table) || c.table[k] != v {
			k = slices.Index(c.table, v)
			if k < 0 {
				k = len(c.table)
				if k == 255 || k >= 32 && k > i/8 { // the table would not save space
					c.table = c.table[:0]
					return
				}
				c.table = append(c.table, v)
			}
			*slot = uint8(k)
		}
		c.codes = append(c.codes, uint8(k))
	}
}

type blockHead struct {
	at              int // offset of the keys
	n, keys, values int
	size            int64 // bytes of the block
}

// headOf reads the numbers at the beginning of a block. It returns false if they are not valid for a block.
func headOf(b []byte) (h blockHead, ok bool) {
	var all [3]uint64
	for i := range all {
		n, k := binary.Uvarint(b[h.at:])
		if k <= 0 {
			return h, false
		}
		all[i] = n
		h.at += k
	}
	if all[0] > BlockEntries || all[1] > maxBlockBytes || all[2] > 255 {
		return h, false
	}
	h.n, h.keys, h.values = int(all[0]), int(all[1]), int(all[2])
	each := 1
	if h.values == 0 {
		each = 8
	}
	h.size = int64(h.at + h.keys + h.values*8 + h.n*each)
	return h, true
}

// decode fills e from the block at the beginning of b and returns the numbers of entries and bytes. It returns an error if b
// does not begin with a block, or if e has no room for it.
func (c *Coder) decode(e []Entry, b []byte, sorted bool) (n, size int, err error) {
	h, ok := headOf(b)
	if !ok || h.n == 0 || h.n > len(e) || h.size > int64(len(b)) {
		return 0, 0, scratch.ErrDamaged
	}
	n, size = h.n, int(h.size)
	keys, rest := b[h.at:h.at+h.keys], b[h.at+h.keys:]
	e = e[:n]
	if sorted {
		ok = sortedKeys(e, keys)
	} else {
		ok = unsortedKeys(e, keys)
	}
	if !ok {
		return 0, 0, scratch.ErrDamaged
	}
	if h.values == 0 {
		for i := range e {
			e[i].Val = math.Float64frombits(binary.LittleEndian.Uint64(rest[i*8:]))
		}
		return n, size, nil
	}
	var table [256]float64
	for i := range h.values {
		table[i] = math.Float64frombits(binary.LittleEndian.Uint64(rest[i*8:]))
	}
	codes := rest[h.values*8:][:n]
	for i := range e {
		e[i].Val = table[codes[i]]
	}
	return n, size, nil
}

func sortedKeys(e []Entry, b []byte) bool {
	key := uint64(0)
	for i := range e {
		d, k := binary.Uvarint(b)
		if k <= 0 {
			return false
		}
		b = b[k:]
		key += d
		e[i].Key = key
	}
	return len(b) == 0
}

func unsortedKeys(e []Entry, b []byte) bool {
	hi, lo := int64(0), int64(0)
	for i := range e {
		d, k := int64(0), 1
		if len(b) == 0 {
			return false
		}
		if b[0] != 0 {
			d, k = binary.Varint(b)
		}
		if k <= 0 {
			return false
		}
		b = b[k:]
		hi += d
		d, k = binary.Varint(b)
		if k <= 0 {
			return false
		}
		b = b[k:]
		lo += d
		e[i].Key = uint64(hi)<<32 | uint64(uint32(lo))
	}
	return len(b) == 0
}
