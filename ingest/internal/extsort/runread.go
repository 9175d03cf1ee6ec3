package extsort

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/crc"
)

type runReader struct {
	f    vfs.File
	info runInfo
	r    *bufio.Reader
	left int
	sum  uint32
	read int64
}

// openRun opens the file of a run for reading through a buffer of the given size.
func openRun(fsys vfs.FS, name string, info runInfo, buffer int) (*runReader, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("sort entries: %w", err)
	}
	r := bufio.NewReaderSize(io.NewSectionReader(f, runHeader, info.bytes), int(max(min(int64(buffer), info.bytes), 3*binary.MaxVarintLen64)))
	return &runReader{f: f, info: info, r: r, left: info.n}, nil
}

// next fills e, which must have room for a block or the rest of the run, with the next block and returns its length. It
// returns 0 at the end, after the whole file has been verified.
func (r *runReader) next(c *Coder, e []Entry) (int, error) {
	if r.left == 0 {
		if r.sum != r.info.crc || r.read != r.info.bytes {
			return 0, scratch.ErrDamaged
		}
		return 0, nil
	}
	b, err := r.block(c)
	if err != nil {
		return 0, err
	}
	n, size, err := c.decode(e, b, r.info.sorted)
	if err == nil && (size != len(b) || n > r.left) {
		err = scratch.ErrDamaged
	}
	if err != nil {
		return 0, err
	}
	r.left -= n
	return n, nil
}

func (r *runReader) block(c *Coder) ([]byte, error) {
	head, err := r.r.Peek(3 * binary.MaxVarintLen64)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("sort entries: %w", err)
	}
	h, ok := headOf(head)
	if !ok || h.size > r.info.bytes-r.read {
		return nil, scratch.ErrDamaged
	}
	c.out = slices.Grow(c.out[:0], int(h.size))[:h.size]
	if _, err := io.ReadFull(r.r, c.out); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, scratch.ErrDamaged
	} else if err != nil {
		return nil, fmt.Errorf("sort entries: %w", err)
	}
	r.sum = crc.Update(r.sum, c.out)
	r.read += h.size
	return c.out, nil
}

func (r *runReader) close() error { return r.f.Close() }
