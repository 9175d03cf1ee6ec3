package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Labels reads ids, one a line. It is a format.IDs.
type Labels struct {
	lines *Lines
	parse func(line []byte, to *format.Label) error
	close func() error
}

// NewLabels returns the Labels of a text; parse parses its lines, whose form is want.
func NewLabels(in *format.Input, want string, parse func(line []byte, to *format.Label) error, close func() error) (*Labels, error) {
	lines, err := NewLines(in)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	lines.Want = want
	return &Labels{lines, parse, close}, nil
}

func (l *Labels) Next() (format.Label, error) {
	label := format.Label{File: l.lines.In.Name, Line: l.lines.Line()}
	line, err := l.lines.ReadLine()
	if err != nil {
		return label, err
	}
	if err := l.parse(line, &label); err != nil {
		return label, l.lines.Fail(label.Line, -1, "", line, err)
	}
	return label, nil
}

func (l *Labels) Close() error { return l.close() }

// FieldLabels returns the Labels of a text whose lines may have fields separated by tabs. id and title are the fields, counted
// from 0, of the id and the title; id < 0: the whole line is the id, title < 0: there are no titles.
func FieldLabels(in *format.Input, id, title int, close func() error) (*Labels, error) {
	return NewLabels(in, "one id a line", func(line []byte, to *format.Label) error {
		to.ID = line
		if id >= 0 {
			to.ID = field(line, id)
		}
		to.Title = field(line, title)
		switch {
		case len(to.ID) == 0:
			return fmt.Errorf("%w: no id", ErrEmptyField)
		case id < 0 && bytes.IndexByte(line, '\t') >= 0:
			return fmt.Errorf("%w: a tab in the id", ErrFields)
		}
		return nil
	}, close)
}

func field(line []byte, n int) []byte {
	for part := range bytes.SplitSeq(line, []byte{'\t'}) {
		if n == 0 {
			return part
		}
		n--
	}
	return nil
}

// ReadLabels calls visit with all labels and their numbers from 0, and closes ids.
func ReadLabels(ids format.IDs, visit func(n int64, l format.Label) error) (err error) {
	defer func() { err = errors.Join(err, ids.Close()) }()
	for n := int64(0); ; n++ {
		l, err := ids.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(n, l); err != nil {
			return err
		}
	}
}
