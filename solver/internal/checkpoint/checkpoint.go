// Package checkpoint writes and reads a saved run: a header and numbers, every bit of them under a checksum. A checkpoint is
//
//	magic        8 bytes "gdsvdckp"
//	version      uint32
//	header size  uint32
//	header       JSON, with the names and shapes of all that follows
//	checksum     uint32, of everything before
//	numbers      float64 each: the parts, row by row
//	checksum     uint32, of everything before
//
// in little-endian order, the checksums CRC-32C. The header determines the length of the whole. The version covers this
// layout and the start of a run: since version 7 random numbers depend on the seed and the ID of the matrix, since version 8
// given vectors are mixed with random ones.
package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

const (
	magic      = "gdsvdckp"
	version    = 8
	prefixSize = len(magic) + 8
	maxHeader  = 1 << 22
	bufferSize = 1 << 16
)

// ErrBad is wrapped by the errors for bytes that are not a whole checkpoint: cut short, damaged, or of an unknown version.
var ErrBad = errors.New("bad checkpoint")

// Shape is the name and the size of a part.
type Shape struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
	Cols int    `json:"cols"`
}

// Shapes returns the shapes of parts.
func Shapes(parts []method.Part) (all []Shape) {
	for _, p := range parts {
		rows, cols := p.Block.Dims()
		all = append(all, Shape{p.Name, rows, cols})
	}
	return all
}

func count(shapes []Shape) (total uint64, err error) {
	for _, s := range shapes {
		hi, lo := bits.Mul64(uint64(s.Rows), uint64(s.Cols))
		sum, carry := bits.Add64(total, lo, 0)
		if s.Rows < 0 || s.Cols < 0 || (s.Rows == 0) != (s.Cols == 0) || max(s.Rows, s.Cols) > math.MaxInt32 || hi != 0 || carry != 0 || sum >= 1<<48 {
			return 0, fmt.Errorf("%.60s is of %d×%d: %w", s.Name, s.Rows, s.Cols, ErrBad)
		}
		total = sum
	}
	return total, nil
}

// Numbers returns the number of float64s in parts of the given shapes, which Sized has accepted.
func Numbers(shapes []Shape) uint64 {
	n, _ := count(shapes)
	return n
}

// Write writes a header, which must contain the shapes of parts, and the parts, without copying them. If w has a method
// Expect Write first calls it with the number of bytes to come.
func Write(w io.Writer, a *tallskinny.Arena, header any, parts []method.Part) error {
	text, err := json.Marshal(header)
	if err == nil && len(text) > maxHeader {
		err = fmt.Errorf("header of %d bytes, at most %d are possible", len(text), maxHeader)
	}
	if err != nil {
		return err
	}
	numbers, err := count(Shapes(parts))
	if err != nil {
		return err
	}
	if e, ok := w.(interface{ Expect(bytes int64) }); ok {
		e.Expect(int64(prefixSize+len(text)) + 4 + 8*int64(numbers) + 4)
	}
	sum := crc.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), bufferSize) // keeps its first error
	prefix := binary.LittleEndian.AppendUint32([]byte(magic), version)
	_, _ = out.Write(binary.LittleEndian.AppendUint32(prefix, uint32(len(text))))
	_, _ = out.Write(text)
	checksum := func() error {
		_ = out.Flush()
		_, _ = out.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
		return out.Flush()
	}
	if err := checksum(); err != nil {
		return err
	}
	for _, p := range parts {
		eachSlice(a, p.Block, func(x []float64) {
			for _, v := range x {
				_, _ = out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), math.Float64bits(v)))
			}
		})
	}
	return checksum()
}

func eachSlice(a *tallskinny.Arena, x *mat.Dense, f func([]float64)) {
	g := x.RawMatrix()
	a.EachTile(g.Rows, tallskinny.Reads(g), func(from, to int) {
		if g.Stride == g.Cols {
			f(g.Data[from*g.Cols : to*g.Cols])
			return
		}
		for i := from; i < to; i++ {
			f(x.RawRowView(i))
		}
	})
}

// Reader reads a checkpoint. After its first error it reads no more.
type Reader struct {
	r   io.Reader
	sum hash.Hash32
	at  int64
	buf []byte
	err error
}

// Open reads the beginning of a checkpoint and decodes its header.
func Open(r io.Reader, header any) (*Reader, error) {
	d := &Reader{r: r, sum: crc.New(), buf: make([]byte, bufferSize)}
	prefix := make([]byte, prefixSize)
	d.raw(prefix)
	found, length := binary.LittleEndian.Uint32(prefix[len(magic):]), binary.LittleEndian.Uint32(prefix[len(magic)+4:])
	switch {
	case d.err != nil:
		return nil, d.err
	case string(prefix[:len(magic)]) != magic:
		return nil, fmt.Errorf("it does not begin with %q: %w", magic, ErrBad)
	case found != version:
		return nil, fmt.Errorf("version %d cannot be read, only %d: finish the run with the program that began it, or begin anew: %w", found, version, ErrBad)
	case length > maxHeader:
		return nil, fmt.Errorf("header of %d bytes: %w", length, ErrBad)
	}
	text := make([]byte, length)
	d.raw(text)
	d.checksum("the header")
	if d.err != nil {
		return nil, d.err
	}
	j := json.NewDecoder(bytes.NewReader(text))
	j.DisallowUnknownFields()
	if err := j.Decode(header); err != nil {
		return nil, fmt.Errorf("header: %v: %w", err, ErrBad)
	}
	return d, nil
}

// Sized returns an error if the rest of a checkpoint of size bytes is shorter or longer than parts of these shapes.
func (d *Reader) Sized(size int64, shapes []Shape) error {
	numbers, err := count(shapes)
	if err != nil {
		return err
	}
	if want := d.at + 8*int64(numbers) + 4; size != want {
		return fmt.Errorf("it has %d bytes, its header calls for %d: %w", size, want, ErrBad)
	}
	return nil
}

// Parts reads the next parts. The arena allocates the parts of n rows.
func (d *Reader) Parts(a *tallskinny.Arena, n int, shapes []Shape) (parts []method.Part) {
	for _, s := range shapes {
		x := new(mat.Dense)
		switch s.Rows {
		case 0:
		case n:
			x = a.Dense(s.Rows, s.Cols)
		default:
			x = mat.NewDense(s.Rows, s.Cols, nil)
		}
		eachSlice(a, x, d.numbers)
		parts = append(parts, method.Part{Name: s.Name, Block: x})
	}
	return parts
}

// End checks the last checksum, and returns the first error of the Reader.
func (d *Reader) End() error {
	d.checksum("the numbers")
	return d.err
}

// Verify reads parts of these shapes without keeping them, and checks the last checksum and that nothing follows.
func (d *Reader) Verify(shapes []Shape) error {
	left, err := count(shapes)
	row := make([]float64, bufferSize/8)
	for ; left > 0 && d.err == nil; left -= min(left, uint64(len(row))) {
		d.numbers(row[:min(left, uint64(len(row)))])
	}
	err = errors.Join(err, d.End())
	if err != nil {
		return err
	}
	if _, err := d.r.Read(d.buf[:1]); err != io.EOF {
		return fmt.Errorf("it goes on after byte %d: %w", d.at, ErrBad)
	}
	return nil
}

// numbers reads len(x) numbers into x.
func (d *Reader) numbers(x []float64) {
	for len(x) > 0 && d.err == nil {
		part := x[:min(len(x), bufferSize/8)]
		p := d.buf[:8*len(part)]
		d.raw(p)
		for i := range part {
			part[i] = math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:]))
		}
		x = x[len(part):]
	}
}

// raw reads len(p) bytes into p.
func (d *Reader) raw(p []byte) {
	if d.err != nil {
		return
	}
	n, err := io.ReadFull(d.r, p)
	d.at += int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("it ends at byte %d: %w", d.at, ErrBad)
	}
	d.err = err
	d.sum.Write(p[:n]) // never fails
}

// checksum reads a checksum and compares it to that of all bytes before it.
func (d *Reader) checksum(what string) {
	want := d.sum.Sum32()
	p := d.buf[:4]
	d.raw(p)
	if d.err == nil && binary.LittleEndian.Uint32(p) != want {
		d.err = fmt.Errorf("checksum of %s at byte %d is wrong: %w", what, d.at-4, ErrBad)
	}
}
