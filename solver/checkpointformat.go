package solver

import (
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// A checkpoint is
//
//	magic        8 bytes "gdsvdckp"
//	version      uint32
//	header size  uint32
//	header       JSON: settings, counts, and the shapes of all that follows
//	checksum     uint32, of everything before
//	numbers      float64 each, in the order in which visit meets them
//	checksum     uint32, of everything before
//
// in little-endian order, the checksums CRC-32C. The header determines the
// length of the whole.
const (
	checkpointMagic   = "gdsvdckp"
	checkpointVersion = 4
	prefixSize        = len(checkpointMagic) + 8
	maxHeader         = 1 << 20
)

// header is the part of a checkpoint that is not float64.
type header struct {
	Settings []setting `json:"settings"` // must be those of the run that goes on
	N        int       `json:"n"`        // length of vectors
	Stats    Stats     `json:"stats"`

	Locked    int    `json:"locked"`
	Nulls     int    `json:"nulls"`
	Warm      int    `json:"warm"`
	Starts    uint64 `json:"starts"`
	Projected bool   `json:"projected"` // the deflation now, not the setting
	Stalled   bool   `json:"stalled"`
	Round     int    `json:"round"`

	Told     bool           `json:"told,omitempty"`
	Scouting bool           `json:"scouting,omitempty"` // the recurrence is a scout
	Outside  *outsideHeader `json:"outside,omitempty"`

	Recurrence  *recurrenceHeader  `json:"recurrence,omitempty"`
	Certificate *certificateHeader `json:"certificate,omitempty"`
}

type recurrenceHeader struct {
	First      int          `json:"first"`
	Products   int          `json:"products"`
	GivenStart bool         `json:"given_start"`
	Taken      int          `json:"taken"`
	Progress   []int        `json:"progress"` // of each Ritz pair: the product of its least residual
	Candidates int          `json:"candidates"`
	Version    int          `json:"version"` // of the parts
	Parts      []partHeader `json:"parts"`
}

// partHeader is a part of the State of the recurrence.
type partHeader struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
	Cols int    `json:"cols"`
}

// outsideHeader is a lookout that is known.
type outsideHeader struct {
	Steps       int     `json:"steps"`
	Value       float64 `json:"value"`
	Probability float64 `json:"probability"`
}

type certificateHeader struct {
	Values int `json:"values"`
	Rank   int `json:"rank"`
}

// setting is something that determines the result of a run, as text.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// count returns the number of float64 that follow the header, and whether it
// is one that memory could hold.
func (h *header) count() (uint64, bool) {
	total, ok := uint64(4), true
	add := func(rows, cols int) {
		hi, lo := bits.Mul64(uint64(rows), uint64(cols))
		sum, carry := bits.Add64(total, lo, 0)
		ok = ok && rows >= 0 && cols >= 0 && hi == 0 && carry == 0 && sum < 1<<48
		total = sum
	}
	add(h.Locked, 2)
	add(h.Locked, h.N)
	add(h.Warm, h.N)
	if r := h.Recurrence; r != nil {
		add(1, 1)
		add(len(r.Progress), 1)
		add(r.Candidates, 2)
		for _, p := range r.Parts {
			add(p.Rows, p.Cols)
		}
	}
	if c := h.Certificate; c != nil {
		add(1, 2)
		add(c.Values, 3)
		add(c.Values, h.N)
	}
	return total, ok
}

// visitor meets the numbers of a checkpoint in their order: to write them, or
// to fill them in.
type visitor interface{ visit(x []float64) }

// encoder is the visitor that writes. Its first error stays.
type encoder struct {
	w   io.Writer
	sum hash.Hash32
	buf []byte
	err error
}

const codecBuffer = 1 << 16

func newEncoder(w io.Writer) *encoder {
	return &encoder{w: w, sum: crc.New(), buf: make([]byte, 0, codecBuffer)}
}

func (e *encoder) visit(x []float64) {
	for _, v := range x {
		if len(e.buf) == cap(e.buf) {
			e.flush()
		}
		e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v))
	}
}

// raw writes bytes.
func (e *encoder) raw(p []byte) {
	e.flush()
	e.write(p)
}

// checksum writes that of everything before.
func (e *encoder) checksum() {
	e.flush()
	e.write(binary.LittleEndian.AppendUint32(nil, e.sum.Sum32()))
}

func (e *encoder) flush() {
	e.write(e.buf)
	e.buf = e.buf[:0]
}

func (e *encoder) write(p []byte) {
	if e.err == nil && len(p) > 0 {
		e.sum.Write(p) // never fails
		_, e.err = e.w.Write(p)
	}
}

// decoder is the visitor that reads. Its first error stays.
type decoder struct {
	r   io.Reader
	sum hash.Hash32
	at  int64
	buf []byte
	err error
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{r: r, sum: crc.New(), buf: make([]byte, codecBuffer)}
}

func (d *decoder) visit(x []float64) {
	for len(x) > 0 && d.err == nil {
		part := x[:min(len(x), codecBuffer/8)]
		p := d.buf[:8*len(part)]
		d.raw(p)
		for i := range part {
			part[i] = math.Float64frombits(binary.LittleEndian.Uint64(p[8*i:]))
		}
		x = x[len(part):]
	}
}

// raw fills p.
func (d *decoder) raw(p []byte) {
	if d.err != nil {
		return
	}
	n, err := io.ReadFull(d.r, p)
	d.at += int64(n)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("it ends at byte %d: %w", d.at, ErrCheckpoint)
	}
	d.err = err
	d.sum.Write(p[:n]) // never fails
}

// checksum reads the checksum of everything before it.
func (d *decoder) checksum(what string) {
	want := d.sum.Sum32()
	p := d.buf[:4]
	d.raw(p)
	if d.err == nil && binary.LittleEndian.Uint32(p) != want {
		d.err = fmt.Errorf("checksum of %s at byte %d is wrong: %w", what, d.at-4, ErrCheckpoint)
	}
}

// visitScalars meets single numbers.
func visitScalars(v visitor, scalars ...*float64) {
	x := make([]float64, len(scalars))
	for i, s := range scalars {
		x[i] = *s
	}
	v.visit(x)
	for i, s := range scalars {
		*s = x[i]
	}
}

// visitBlock meets the entries of a block, row by row.
func visitBlock(a *tallskinny.Arena, v visitor, m *mat.Dense) {
	rows, _ := m.Dims()
	a.EachTile(rows, tallskinny.Reads(m.RawMatrix()), func(from, to int) {
		for i := from; i < to; i++ {
			v.visit(m.RawRowView(i))
		}
	})
}

// visitVector meets the entries of a vector.
func visitVector(a *tallskinny.Arena, v visitor, x []float64) {
	a.EachTile(len(x), tallskinny.Reading(x), func(from, to int) { v.visit(x[from:to]) })
}
