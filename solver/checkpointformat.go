package solver

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// A checkpoint is
//
//	magic        8 bytes "gdsvdckp"
//	version      uint32
//	header size  uint32
//	header       JSON: settings, counts, and the names and shapes of all that follows
//	checksum     uint32, of everything before
//	numbers      float64 each: the parts of the run, then those of the recurrence
//	checksum     uint32, of everything before
//
// in little-endian order, the checksums CRC-32C. The header determines the
// length of the whole.
const (
	checkpointMagic   = "gdsvdckp"
	checkpointVersion = 5
	prefixSize        = len(checkpointMagic) + 8
	maxHeader         = 1 << 20
)

// header is the part of a checkpoint that is not float64.
type header struct {
	Settings []setting `json:"settings"` // must be those of the run that goes on
	N        int       `json:"n"`        // length of vectors
	Stats    Stats     `json:"stats"`

	Nulls     int    `json:"nulls"`
	Starts    uint64 `json:"starts"`
	Projected bool   `json:"projected"` // the deflation now, not the setting
	Stalled   bool   `json:"stalled"`
	Round     int    `json:"round"`

	Told     bool           `json:"told,omitempty"`
	Scouting bool           `json:"scouting,omitempty"` // the recurrence is a scout
	Outside  *outsideHeader `json:"outside,omitempty"`
	CertRank *int           `json:"certified_rank,omitempty"` // absent: there is no certificate

	Parts      []shape           `json:"parts"` // of the run
	Recurrence *recurrenceHeader `json:"recurrence,omitempty"`
}

type recurrenceHeader struct {
	First      int     `json:"first"`
	Products   int     `json:"products"`
	GivenStart bool    `json:"given_start"`
	Taken      int     `json:"taken"`
	Progress   []int   `json:"progress"` // of each Ritz pair: the product of its least residual
	Version    int     `json:"version"`  // of its parts
	Parts      []shape `json:"parts"`
}

// shape is the name and the size of a part.
type shape struct {
	Name string `json:"name"`
	Rows int    `json:"rows"`
	Cols int    `json:"cols"`
}

func (s shape) String() string { return fmt.Sprintf("%s of %d×%d", s.Name, s.Rows, s.Cols) }

// rows is the number of rows of a part of the run, 0 if there is none with that number of
// columns.
func (h *header) rows(name string, cols int) int {
	i := slices.IndexFunc(h.Parts, func(s shape) bool { return s.Name == name && s.Cols == cols })
	if i < 0 {
		return 0
	}
	return h.Parts[i].Rows
}

// outsideHeader is a lookout that is known.
type outsideHeader struct {
	Steps       int     `json:"steps"`
	Value       float64 `json:"value"`
	Probability float64 `json:"probability"`
}

// setting is something that determines the result of a run, as text.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// shapes are those of all parts, in their order.
func (h *header) shapes() []shape {
	if h.Recurrence == nil {
		return h.Parts
	}
	return slices.Concat(h.Parts, h.Recurrence.Parts)
}

// count returns the number of float64 that follow the header, and whether it
// is one that memory could hold.
func (h *header) count() (total uint64, ok bool) {
	ok = true
	for _, p := range h.shapes() {
		hi, lo := bits.Mul64(uint64(p.Rows), uint64(p.Cols))
		sum, carry := bits.Add64(total, lo, 0)
		ok = ok && p.Rows >= 0 && p.Cols >= 0 && hi == 0 && carry == 0 && sum < 1<<48
		total = sum
	}
	return total, ok
}

// visitor meets the numbers of a checkpoint in their order: to write them, or
// to fill them in.
type visitor interface{ visit(x []float64) }

const codecBuffer = 1 << 16

// encoder is the visitor that writes. Its first error stays.
type encoder struct {
	w   *bufio.Writer // to sum, too
	sum hash.Hash32
}

func newEncoder(w io.Writer) *encoder {
	sum := crc.New()
	return &encoder{bufio.NewWriterSize(io.MultiWriter(w, sum), codecBuffer), sum}
}

func (e *encoder) visit(x []float64) {
	for _, v := range x {
		e.raw(binary.LittleEndian.AppendUint64(e.w.AvailableBuffer(), math.Float64bits(v)))
	}
}

// raw writes bytes.
func (e *encoder) raw(p []byte) { _, _ = e.w.Write(p) }

// checksum writes that of everything before.
func (e *encoder) checksum() error {
	_ = e.w.Flush()
	e.raw(binary.LittleEndian.AppendUint32(nil, e.sum.Sum32()))
	return e.w.Flush()
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

// part is something that a checkpoint holds of the run itself.
type part struct {
	shape
	visit func(v visitor)
}

func shapes(all []part) (of []shape) {
	for _, p := range all {
		of = append(of, p.shape)
	}
	return of
}

// scalars are single numbers under one name.
func scalars(name string, all ...*float64) part {
	return part{shape{name, len(all), 1}, func(v visitor) {
		for _, s := range all {
			x := []float64{*s}
			v.visit(x)
			*s = x[0]
		}
	}}
}

func numbers(name string, x []float64) part {
	return part{shape{name, len(x), 1}, func(v visitor) { v.visit(x) }}
}

// vectors are tall, met one after the other.
func vectors(a *tallskinny.Arena, name string, n int, all [][]float64) part {
	return part{shape{name, len(all), n}, func(v visitor) {
		for _, x := range all {
			a.EachTile(n, tallskinny.Reading(x), func(from, to int) { v.visit(x[from:to]) })
		}
	}}
}

// block is a matrix, met row by row.
func block(a *tallskinny.Arena, name string, m *mat.Dense) part {
	rows, cols := m.Dims()
	return part{shape{name, rows, cols}, func(v visitor) {
		a.EachTile(rows, tallskinny.Reads(m.RawMatrix()), func(from, to int) {
			for i := from; i < to; i++ {
				v.visit(m.RawRowView(i))
			}
		})
	}}
}
