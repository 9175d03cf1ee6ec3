package solver

import (
	"fmt"
	"io"
)

// Verify reads the rest of the checkpoint and checks it as a run would that goes on
// from there, save for what only the matrix can tell. The checkpoint is used up. The
// error wraps ErrCheckpoint if it is damaged.
func (c *Checkpoint) Verify() error {
	numbers, _ := c.header.count()
	buf := make([]float64, codecBuffer/8)
	for left := numbers; left > 0 && c.d.err == nil; {
		part := buf[:min(left, uint64(len(buf)))]
		c.d.visit(part)
		left -= uint64(len(part))
	}
	c.d.checksum("the numbers")
	if c.d.err != nil {
		return fmt.Errorf("read checkpoint: %w", c.d.err)
	}
	if _, err := c.d.r.Read(c.d.buf[:1]); err != io.EOF {
		return fmt.Errorf("read checkpoint: it goes on after byte %d: %w", c.d.at, ErrCheckpoint)
	}
	return nil
}
