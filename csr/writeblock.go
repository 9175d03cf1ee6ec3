package csr

import (
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// filling is a block that is being filled with rows, encoded or written.
type filling struct {
	firstRow  int64
	rows, nnz int // set when the block is full
	lens      []uint32
	gaps      []uint32
	values    []byte        // encoded values; with Dict4 one byte each until finish
	raw       []float64     // replaces values while the coding of the store is not known and the values are too many for a table
	own       Coding        // coding of values until that of the store is known; Dict8: codes of a learner
	notSingle bool          // some value is no float32; not set for codes: the learner has their values
	buf       []byte        // encoded header, row lengths and column gaps, which precede the values
	crc       uint32        // of buf and values
	encoded   chan struct{} // receives when buf and values are complete
}

func newFilling() *filling { return &filling{encoded: make(chan struct{}, 1)} }

func (w *Writer) appendGaps(cols []uint32) error {
	had := len(w.gaps)
	w.gaps = withRoom(w.gaps, len(cols), BlockNNZ)[:had+len(cols)]
	if len(cols) == 0 {
		return nil
	}
	if !gapsOf(w.gaps[had:], cols) {
		i := 1
		for cols[i] > cols[i-1] {
			i++
		}
		return fmt.Errorf("column %d after %d: columns must ascend strictly", cols[i], cols[i-1])
	}
	if last := cols[len(cols)-1]; int64(last) >= w.opts.Cols {
		return fmt.Errorf("column %d in a matrix of %d columns", last, w.opts.Cols)
	}
	return nil
}

// gapsOf sets gaps to the column gaps of a row, c₀, c₁−c₀−1, … It returns false if columns do not ascend strictly.
func gapsOf(gaps, cols []uint32) bool {
	gaps = gaps[:len(cols)]
	last := int64(-1)
	falls := int64(0) // negative if a gap is
	for i, c := range cols {
		d := int64(c) - last - 1
		gaps[i] = uint32(d)
		falls |= d
		last = int64(c)
	}
	return falls >= 0
}

// withRoom returns s with room for n more elements. If s must grow it gets the capacity of a block, or more.
func withRoom[T any](s []T, n, block int) []T {
	if cap(s)-len(s) >= n {
		return s
	}
	return append(make([]T, 0, max(block, len(s)+n)), s...)
}

// encodePlaces encodes the bytes of the block that precede its values.
func (f *filling) encodePlaces() {
	if f.buf == nil { // most numbers take less than two bytes
		f.buf = make([]byte, 0, 2*(len(f.lens)+len(f.gaps)))
	}
	f.buf = appendBlock(f.buf[:0], f.lens, f.gaps)
}

// finish encodes the values, which follow rows and columns, and computes the crc.
func (f *filling) finish(coding Coding) {
	if coding == Integer {
		f.buf, f.values = codec.AppendIntegers(f.buf, f.values), f.values[:0]
	}
	f.values = finishValues(coding, f.values)
	f.crc = addCRC(crcOf(f.buf), f.values)
}

func (w *Writer) flushBlock() error {
	f := w.filling
	f.rows, f.nnz = len(f.lens), len(f.gaps)
	f.firstRow = w.manifest.Rows - int64(f.rows)
	coding := w.opts.Values.Coding
	encode := func() { // may run concurrently with everything else
		f.encodePlaces()
		f.finish(coding)
	}
	if w.late != nil {
		encode = w.late.encode(f)
	}
	if err := w.start(f, encode); err != nil {
		return err
	}
	if w.late != nil && w.late.ripe() {
		if err := w.settleValues(); err != nil {
			return err
		}
	}
	w.filling = newFilling()
	if n := len(w.free); n > 0 {
		w.filling, w.free = w.free[n-1], w.free[:n-1]
	}
	return nil
}

// start encodes a full block, at once or in a goroutine, and writes finished blocks: f or, with workers, earlier ones.
func (w *Writer) start(f *filling, encode func()) error {
	run := func() {
		encode()
		f.encoded <- struct{}{}
	}
	w.encoding = append(w.encoding, f)
	if w.opts.Workers > 0 {
		go run()
	} else {
		run()
	}
	return w.settle(max(w.opts.Workers, 0))
}

// settle writes or holds the oldest blocks until at most n are being encoded.
func (w *Writer) settle(n int) error {
	for len(w.encoding) > n {
		f := w.encoding[0]
		w.encoding = w.encoding[1:]
		<-f.encoded
		if w.late != nil {
			w.late.hold(f)
		} else if err := w.writeBlock(f); err != nil {
			return err
		}
		if f.lens != nil { // nil: the block was held and has no buffers to use again
			f.lens, f.gaps, f.values, f.raw = f.lens[:0], f.gaps[:0], f.values[:0], f.raw[:0]
			w.free = append(w.free, f)
		}
	}
	return nil
}

func (w *Writer) writeBlock(f *filling) error {
	size := int64(len(f.buf) + len(f.values))
	if size > maxBlockSize {
		return fmt.Errorf("row too long: its block takes %d bytes, the limit is %d", size, maxBlockSize)
	}
	if err := w.openShard(f.firstRow); err != nil {
		return err
	}
	b := blockMeta{
		offset: w.shard.out.Size(), firstRow: f.firstRow,
		rows: uint32(f.rows), nnz: uint32(f.nnz), size: uint32(size), crc: f.crc,
	}
	for _, part := range [][]byte{f.buf, f.values} {
		if _, err := w.shard.out.Write(part); err != nil {
			return writing(err)
		}
	}
	w.blocks = append(w.blocks, b)
	w.manifest.MaxBlock.include(&b)
	if w.shard.out.Size() >= w.opts.ShardSize {
		return w.closeShard()
	}
	return nil
}

type shardWriter struct {
	out        *durable.File
	header     uint32 // crc of the header
	firstBlock int
}

// openShard begins a shard for the next block unless one is open.
func (w *Writer) openShard(firstRow int64) error {
	if w.shard != nil {
		return nil
	}
	i := len(w.manifest.Shards)
	out, err := durable.Create(w.fs, filepath.Join(w.dir, shardName(i)))
	if err != nil {
		return writing(err)
	}
	b := shardHeader(i, w.opts.Cols, firstRow, w.opts.Values)
	w.shard = &shardWriter{out: out, header: headerCRC(b), firstBlock: len(w.blocks)}
	_, err = out.Write(b)
	return writing(err)
}

func (w *Writer) closeShard() error {
	if w.shard == nil {
		return nil
	}
	s := w.shard
	info := ShardInfo{Name: shardName(len(w.manifest.Shards)), FirstRow: w.blocks[s.firstBlock].firstRow}
	var footer []byte
	for i := range w.blocks[s.firstBlock:] {
		b := &w.blocks[s.firstBlock+i]
		footer = b.append(footer)
		info.Rows += int64(b.rows)
		info.NNZ += int64(b.nnz)
		info.Blocks++
	}
	sum := footerCRC(footer, s.header)
	tail := appendTrailer(footer, s.out.Size(), int(info.Blocks), sum)
	if _, err := s.out.Write(tail); err != nil {
		return writing(err)
	}
	w.shard = nil // Close closes the file even if it fails
	if err := s.out.Close(); err != nil {
		return writing(err)
	}
	info.Size, info.CRC = s.out.Size(), crc.Sum(sum)
	w.manifest.Shards = append(w.manifest.Shards, info)
	return nil
}
