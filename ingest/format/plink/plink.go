// Package plink reads genotypes in the format of PLINK 1: a .bed file with a .fam file of its samples and a .bim file of its
// variants beside it.
//
// Rows are samples and columns are variants. An entry is the number of copies of allele A1, 1 or 2, or [Missing] if the genotype
// was not called. The third byte of a .bed file gives its order, by variants or by samples.
// Source: C. Chang and S. Purcell, PLINK 1.9 file format reference, ".bed".
package plink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Missing is the value of genotypes that were not called.
const Missing = 3

// Magic is the first two bytes of a .bed file; 0 or 1 follows.
const Magic = "\x6c\x1b"

const headerBytes = 3

var Format = format.Format{Name: "plink", Sniff: sniff, Open: open,
	Beside: &format.Beside{Suffix: ".bed", Files: [...]string{format.RowSide: ".fam", format.ColSide: ".bim"}, Labels: Labels},
}

func sniff(h format.Head) bool {
	return len(h.Bytes) >= headerBytes && string(h.Bytes[:2]) == Magic && h.Bytes[2] <= 1
}

// values are the values of the two bits of a genotype: homozygous for A1, not called, heterozygous, homozygous for A2.
var values = [4]float64{2, Missing, 1, 0}

// A reader reads lines of genotypes of one variant, or of one sample if bySample: four a byte, the first in the lowest bits.
type reader struct {
	in            *format.Input
	bySample      bool
	lines, across int64 // number of lines, and of genotypes in each
	stride        int64 // bytes of a line
	at, end       int64 // offset of the next byte, and of the end
}

func open(in *format.Input) (format.Reader, error) {
	samples, variants := in.IDs[format.RowSide], in.IDs[format.ColSide]
	r := &reader{in: in, at: headerBytes}
	var b [headerBytes]byte
	_, err := io.ReadFull(in, b[:])
	switch {
	case err != nil && !ended(err):
		return nil, err
	case err != nil || string(b[:2]) != Magic || b[2] > 1:
		return nil, r.fail(0, fmt.Errorf("%w: no .bed file of PLINK 1 begins with %x", format.ErrHeader, b))
	case in.Events:
		return nil, r.fail(0, fmt.Errorf("genotypes counted as events: %w: missing genotypes would count", format.ErrUnsupported))
	case samples == 0 || variants == 0:
		return nil, r.fail(0, errors.New("genotypes without their samples and variants: the .fam and .bim files of the same name stand beside the .bed file, or --rows-ids and --cols-ids name files of ids"))
	}
	r.lines, r.across = variants, samples
	if r.bySample = b[2] == 0; r.bySample {
		r.lines, r.across = r.across, r.lines
	}
	if r.stride = (r.across + 3) / 4; r.lines > (math.MaxInt64-headerBytes)/r.stride {
		return nil, r.fail(0, fmt.Errorf("%w: %d × %d genotypes", format.ErrHeader, samples, variants))
	}
	r.end = headerBytes + r.lines*r.stride
	if in.At != nil && in.Size != r.end {
		err := format.ErrTruncated
		if in.Size > r.end {
			err = format.ErrCount
		}
		return nil, r.fail(0, fmt.Errorf("%w: %d bytes, but %d samples and %d variants take %d: the .bed, .bim and .fam files are not of one another, or the .bed file is damaged", err, in.Size, samples, variants, r.end))
	}
	return r, in.Declare(format.Shape{Rows: samples, Cols: variants, Missing: Missing})
}

func (r *reader) fail(at int64, err error) error {
	return &format.ParseError{File: r.in.Name, Byte: at, Err: err}
}

func ended(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// chunkBytes is the largest number of bytes of a chunk: each byte holds up to four entries.
const chunkBytes = 1 << 13

// Next reads bytes without regard to lines.
func (r *reader) Next(c *format.Chunk) error {
	if r.at == r.end {
		if _, err := r.in.Peek(1); err != nil {
			return err
		}
		return r.fail(r.at, fmt.Errorf("%w: data behind the last genotype", format.ErrCount))
	}
	n := min(r.end-r.at, chunkBytes, max(1, int64(cap(c.Data))))
	c.Data = format.Resized(c.Data, int(n))
	if k, err := io.ReadFull(r.in, c.Data); err != nil {
		if ended(err) {
			err = r.fail(r.at+int64(k), fmt.Errorf("%w: the data end, %d bytes are expected", format.ErrTruncated, r.end))
		}
		return err
	}
	c.Begin.Byte = r.at
	r.at += n
	c.End.Byte = r.at
	return nil
}

// Parse decodes the genotypes of the bytes.
func (r *reader) Parse(c *format.Chunk, b *format.Batch) error {
	line, k := (c.Begin.Byte-headerBytes)/r.stride, (c.Begin.Byte-headerBytes)%r.stride
	lines, across, other := &b.Col.Ints, &b.Row.Ints, ".fam"
	if r.bySample {
		lines, across, other = across, lines, ".bim"
	}
	for i, bits := range c.Data {
		n := min(4, r.across-4*k)
		if bits>>(2*n) != 0 { // for a full byte the shift leaves nothing
			return r.fail(c.Begin.Byte+int64(i), fmt.Errorf("%w: bits behind the last genotype of a line are not 0: the .bed and %s files are not of one another, or the .bed file is damaged", format.ErrCount, other))
		}
		for g := range n {
			if v := values[bits>>(2*g)&3]; v != 0 {
				*lines, *across, b.Val = append(*lines, line), append(*across, 4*k+g), append(b.Val, v)
			}
		}
		if k++; k == r.stride {
			line, k = line+1, 0
		}
	}
	b.Tally.Entries = int64(len(b.Val))
	return nil
}

// Check has nothing to do.
func (r *reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

// Seek continues at a byte.
func (r *reader) Seek(to format.Position) error {
	err := r.in.Skip(to.Byte - r.at)
	r.at = to.Byte
	return err
}

// Locate returns the beginning of the chunk that holds entry n: a byte offset cannot identify a genotype.
func (r *reader) Locate(c *format.Chunk, _ int) format.Position { return c.Begin }

// Describe returns the order of the genotypes.
func (r *reader) Describe() format.Description {
	order := "variant after variant"
	if r.bySample {
		order = "sample after sample"
	}
	return format.Description{Notes: []string{fmt.Sprintf("%s; values count allele A1, and genotypes that were not called are missing entries", order)}}
}

// Labels begins to read the samples of a .fam file or the variants of a .bim file. The id of a sample is its id within its
// family. The id of a variant is its id and the allele that is counted, as in the header of PLINK's .raw files; if the variant
// has no id, its position and alleles take the place of the id. Lines have six fields, separated by spaces or tabs.
func Labels(side format.Side, in *format.Input, close func() error) (format.IDs, error) {
	if side == format.RowSide {
		return labels(in, "family, sample, father, mother, sex and phenotype", func(f [][]byte, to *format.Label) { to.ID = f[1] }, close)
	}
	var id, title []byte
	return labels(in, "chromosome, variant, centimorgans, position, A1 and A2", func(f [][]byte, to *format.Label) {
		id, title = append(id[:0], f[1]...), fmt.Appendf(title[:0], "%s:%s %s/%s", f[0], f[3], f[4], f[5])
		if string(f[1]) == "." {
			id = fmt.Appendf(id[:0], "%s:%s:%s:%s", f[0], f[3], f[5], f[4])
		}
		id = append(append(id, '_'), f[4]...)
		to.ID, to.Title = id, title
	}, close)
}

func labels(in *format.Input, want string, label func(fields [][]byte, to *format.Label), close func() error) (format.IDs, error) {
	return text.NewLabels(in, want, func(line []byte, to *format.Label) error {
		f := bytes.Fields(line)
		if len(f) != 6 {
			return fmt.Errorf("%w: %d", text.ErrFields, len(f))
		}
		label(f, to)
		return nil
	}, close)
}
