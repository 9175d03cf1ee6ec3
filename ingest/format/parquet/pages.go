package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// take reserves the memory for a page. The column keeps the memory for its next pages.
func (c *column) take(p *page) error {
	held := &c.takes[0]
	if p.kind == pageDict {
		held = &c.takes[1]
	}
	more := max(0, c.cost(p)-*held)
	if need := c.window.taken + more; c.window.size > 0 && need > c.window.size {
		return fmt.Errorf("a page of %d bytes and %d values: %w within this memory budget; --memory %dMiB reads this one, others may need more; or write it with smaller pages",
			max(p.size, p.packed), p.values, format.ErrUnsupported, (need+1<<17-1)>>17)
	}
	*held += more
	c.window.taken += more
	return nil
}

func (c *column) cost(p *page) int64 {
	const number, index = 8, 4
	n, size := int64(p.values), int64(p.size)
	b := int64(p.packed)
	if c.codec != codecNone {
		b += size
	}
	if c.optional && p.kind != pageDict {
		b += index * n
	}
	encoding := p.encoding
	if p.kind == pageDict {
		encoding = encPlain
	}
	switch {
	case encoding == encDict || encoding == encPlainDict:
		return b + index*n
	case p.kind == pageDict:
		b += index * n // column.seen
	case encoding == encDeltaLength || encoding == encDeltaBytes:
		b += size + 2*number*n
	case encoding == encSplit:
		b += size
	}
	if c.phys == physBytes || c.phys == physFixed {
		return b + size + index*n
	}
	return b + number*n
}

func (c *column) read(p *page) error {
	if err := c.take(p); err != nil {
		return err
	}
	c.raw = format.Resized(c.raw, p.packed)
	if _, err := io.ReadFull(c.in, c.raw); err != nil {
		return err
	}
	if p.crc != nil && crc32.ChecksumIEEE(c.raw) != *p.crc {
		return errPageSum
	}
	var levels, b []byte
	var err error
	switch p.kind {
	case pageDict:
		if b, err = c.uncompress(c.raw, p.size); err != nil {
			return err
		}
		c.hasDict = true
		return c.dict.decode(c.field, encPlain, p.values, b)
	case pageData:
		if b, err = c.uncompress(c.raw, p.size); err != nil {
			return err
		}
		if c.optional {
			if len(b) < 4 || p.levels != encRLE {
				return fmt.Errorf("definition levels of encoding %d: %w", p.levels, format.ErrUnsupported)
			}
			n := uint64(binary.LittleEndian.Uint32(b))
			b = b[4:]
			if n > uint64(len(b)) {
				return errShort
			}
			levels, b = b[:n], b[n:]
		}
	case pageDataV2:
		if p.repBytes < 0 || p.defBytes < 0 || p.repBytes > len(c.raw) || p.defBytes > len(c.raw)-p.repBytes {
			return errShort
		}
		levels, b = c.raw[p.repBytes:p.repBytes+p.defBytes], c.raw[p.repBytes+p.defBytes:]
		if !p.plain {
			if b, err = c.uncompress(b, p.size-p.repBytes-p.defBytes); err != nil {
				return err
			}
		}
	default:
		return nil // a page without values, such as an index
	}
	c.levels = c.levels[:0]
	if c.optional {
		if c.levels, err = hybrid(c.levels, levels, 1, p.values); err != nil {
			return err
		}
	}
	return c.data(p, b)
}

func (c *column) data(p *page, b []byte) error {
	n := p.values
	for _, l := range c.levels {
		n -= int(1 - min(l, 1))
	}
	c.rows, c.at, c.value, c.whole, c.indexed = p.values, 0, 0, n == p.values, p.encoding == encDict || p.encoding == encPlainDict
	if !c.indexed {
		return c.page.decode(c.field, p.encoding, n, b)
	}
	if !c.hasDict {
		return errors.New("a page refers to a dictionary that is not there")
	}
	c.index = c.index[:0]
	if n == 0 {
		return nil
	}
	if len(b) == 0 {
		return errShort
	}
	var err error
	if c.index, err = hybrid(c.index, b[1:], int(b[0]), n); err != nil {
		return err
	}
	if int64(slices.Max(c.index)) >= int64(c.dict.len()) {
		return errors.New("a page refers to values that its dictionary does not have")
	}
	return nil
}

func (c *column) uncompress(b []byte, size int) (_ []byte, err error) {
	if size < 0 || size > maxPage {
		return nil, errShort
	}
	if size == 0 || len(b) == 0 {
		return nil, nil
	}
	if c.codec == codecNone {
		return b, nil
	}
	c.plain = format.Resized(c.plain, size)
	switch c.codec {
	case codecSnappy:
		if n, err := snappy.DecodedLen(b); err != nil || n > size {
			return nil, errors.New("a page that is not as long uncompressed as its header says")
		}
		c.plain, err = snappy.Decode(c.plain, b)
	case codecZstd:
		if c.zstd == nil {
			if c.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPage), zstd.WithDecodeAllCapLimit(true)); err != nil {
				return nil, err
			}
		}
		c.plain, err = c.zstd.DecodeAll(b, c.plain[:0:size])
	case codecLZ4:
		var n int
		n, err = lz4.UncompressBlock(b, c.plain)
		c.plain = c.plain[:max(n, 0)]
	case codecBrotli:
		_, err = io.ReadFull(brotli.NewReader(bytes.NewReader(b)), c.plain)
	default:
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			_, err = io.ReadFull(z, c.plain)
		}
	}
	if err == nil && len(c.plain) != size {
		err = errors.New("a page that is not as long uncompressed as its header says")
	}
	return c.plain, err
}

func (c *column) close() {
	if c.zstd != nil {
		c.zstd.Close()
	}
	*c = column{}
}
