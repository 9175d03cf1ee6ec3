package solver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Checkpoint is a saved run, to be given to one that goes on from there. It is
// used up by that.
type Checkpoint struct {
	header header
	d      *decoder
}

// ReadCheckpoint reads the beginning of a checkpoint of size bytes, all of
// which are to come from r: the rest is read by the run that goes on from it.
// The errors are those of r, and for anything that is not a whole checkpoint
// they wrap ErrCheckpoint.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	c := &Checkpoint{d: newDecoder(r)}
	if err := c.readHeader(size); err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return c, nil
}

func (c *Checkpoint) readHeader(size int64) error {
	var prefix [prefixSize]byte
	c.d.raw(prefix[:])
	version := binary.LittleEndian.Uint32(prefix[len(checkpointMagic):])
	length := binary.LittleEndian.Uint32(prefix[len(checkpointMagic)+4:])
	switch {
	case c.d.err != nil:
		return c.d.err
	case string(prefix[:len(checkpointMagic)]) != checkpointMagic:
		return fmt.Errorf("it does not begin with %q: %w", checkpointMagic, ErrCheckpoint)
	case version != checkpointVersion:
		return fmt.Errorf("version %d cannot be read, only %d: finish the run with the program that began it, or begin anew: %w", version, checkpointVersion, ErrCheckpoint)
	case length > maxHeader:
		return fmt.Errorf("header of %d bytes: %w", length, ErrCheckpoint)
	}
	text := make([]byte, length)
	c.d.raw(text)
	c.d.checksum("the header")
	if c.d.err != nil {
		return c.d.err
	}
	j := json.NewDecoder(bytes.NewReader(text))
	j.DisallowUnknownFields()
	if err := j.Decode(&c.header); err != nil {
		return fmt.Errorf("header: %v: %w", err, ErrCheckpoint)
	}
	if err := c.header.check(); err != nil {
		return fmt.Errorf("header: %v: %w", err, ErrCheckpoint)
	}
	numbers, ok := c.header.count()
	if want := c.d.at + 8*int64(numbers) + 4; !ok || size != want {
		return fmt.Errorf("it has %d bytes, its header calls for %d: %w", size, want, ErrCheckpoint)
	}
	return nil
}

// check refuses what no run can have written.
func (h *header) check() error {
	s := h.Stats
	nonneg := func(name string, values ...int) error {
		for _, v := range values {
			if v < 0 || v > math.MaxInt32 {
				return fmt.Errorf("%s %d", name, v)
			}
		}
		return nil
	}
	if err := nonneg("count", h.N, s.Passes, h.Nulls, h.Round); err != nil {
		return err
	}
	if o := h.Outside; o != nil && !(o.Steps >= 0 && o.Value >= 0 && o.Probability >= 0) || h.Scouting && h.Recurrence == nil {
		return fmt.Errorf("evidence %+v, scouting %t", o, h.Scouting)
	}
	if h.Nulls > h.rows("vectors", h.N) || h.Round > maxRounds || s.Products < 0 {
		return fmt.Errorf("%d nulls of %d vectors, round %d, %d products", h.Nulls, h.rows("vectors", h.N), h.Round, s.Products)
	}
	if r := h.Recurrence; r != nil {
		if err := nonneg("count", r.First, r.Taken, r.Products, r.Version); err != nil {
			return err
		}
		if err := nonneg("product", r.Progress...); err != nil {
			return err
		}
	}
	for _, p := range h.shapes() {
		if err := nonneg("dimension", p.Rows, p.Cols); err != nil {
			return err
		}
		if (p.Rows == 0) != (p.Cols == 0) {
			return fmt.Errorf("%v", p)
		}
	}
	if k := h.rows("certified values", 1); h.CertRank != nil && (*h.CertRank < 0 || *h.CertRank > k) {
		return fmt.Errorf("certificate of rank %d with %d values", *h.CertRank, k)
	}
	return nil
}

// Passes returns the number of passes that had been made.
func (c *Checkpoint) Passes() int { return c.header.Stats.Passes }

// Locked returns the number of triplets that had been found.
func (c *Checkpoint) Locked() int { return c.header.rows("vectors", c.header.N) }

// Setting returns a setting of the run that was saved, by the names of
// MismatchError: "method", "rank". It is empty for names that are not known.
func (c *Checkpoint) Setting(name string) string {
	for _, s := range c.header.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Method returns the one of methods that made the checkpoint, with its settings, nil
// if it is none of them or its settings are not such as it allows.
func (c *Checkpoint) Method(methods []method.Method) method.Method {
	i := slices.IndexFunc(methods, func(m method.Method) bool { return m.Traits(1).Name == c.Setting("method") })
	if i < 0 {
		return nil
	}
	t := methods[i].Traits(1)
	values := make([]float64, len(t.Settings))
	for j, s := range t.Settings {
		v, err := strconv.ParseFloat(c.Setting(s.Name), 64)
		if err != nil || !s.Allows(v) {
			return nil
		}
		values[j] = v
	}
	return t.With(values)
}

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
