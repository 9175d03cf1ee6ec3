package plink

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// labels are the lines of a .fam or .bim file, of six fields with spaces or tabs between them.
type labels struct {
	lines *text.Lines
	side  format.Side
	close func() error
	id    []byte
	title []byte
}

// Labels begins to read the samples of a .fam file, or the variants of a .bim file.
func Labels(side format.Side, in *format.Input, close func() error) (format.IDs, error) {
	lines, err := text.NewLines(in)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return &labels{lines: lines, side: side, close: close}, nil
}

// fields of a line: of a sample family, id, father, mother, sex, phenotype; of a variant chromosome, id, centimorgans, position, A1, A2.
const fields = 6

// Next is the next sample, by its id within its family, or variant: its id and the allele that is counted, as
// in the header of PLINK's .raw files. A variant without id is known by its place and alleles.
func (l *labels) Next() (format.Label, error) {
	label := format.Label{File: l.lines.In.Name, Line: l.lines.Line()}
	line, err := l.lines.ReadLine()
	if err != nil {
		return label, err
	}
	f := bytes.Fields(line)
	if len(f) != fields {
		want := map[format.Side]string{format.RowSide: "family, sample, father, mother, sex and phenotype", format.ColSide: "chromosome, variant, centimorgans, position, A1 and A2"}[l.side]
		return label, &format.ParseError{File: label.File, Line: label.Line, Text: text.Shorten(line), Err: fmt.Errorf("%w: %d", text.ErrFields, len(f)), Want: want}
	}
	if l.side == format.RowSide {
		label.ID = f[1]
		return label, nil
	}
	l.id, l.title = append(l.id[:0], f[1]...), fmt.Appendf(l.title[:0], "%s:%s %s/%s", f[0], f[3], f[4], f[5])
	if string(f[1]) == "." {
		l.id = fmt.Appendf(l.id[:0], "%s:%s:%s:%s", f[0], f[3], f[5], f[4])
	}
	l.id = append(append(l.id, '_'), f[4]...)
	label.ID, label.Title = l.id, l.title
	return label, nil
}

// Close closes the file.
func (l *labels) Close() error { return l.close() }
