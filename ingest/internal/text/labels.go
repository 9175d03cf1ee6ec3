package text

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Labels are ids, one a line, as format.IDs. Where the lines have fields that tabs
// separate, one is the id and one may be the title.
type Labels struct {
	lines     *Lines
	id, title int
	close     func() error
}

// NewLabels begins to read a text. id and title are fields counted from 0; id < 0: the whole
// line is the id, title < 0: there are none.
func NewLabels(in *format.Input, id, title int, close func() error) (*Labels, error) {
	lines, err := NewLines(in)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return &Labels{lines, id, title, close}, nil
}

func (l *Labels) Next() (format.Label, error) {
	label := format.Label{File: l.lines.In.Name, Line: l.lines.Line()}
	line, err := l.lines.ReadLine()
	if err != nil {
		return label, err
	}
	label.ID = line
	if l.id >= 0 {
		label.ID = field(line, l.id)
	}
	label.Title = field(line, l.title)
	bad := error(nil)
	switch {
	case len(label.ID) == 0:
		bad = fmt.Errorf("%w: no id", ErrEmptyField)
	case l.id < 0 && bytes.IndexByte(line, '\t') >= 0:
		bad = fmt.Errorf("%w: a tab in the id", ErrFields)
	}
	if bad != nil {
		return label, &format.ParseError{File: label.File, Line: label.Line, Text: Shorten(line), Err: bad, Want: "one id a line"}
	}
	return label, nil
}

func (l *Labels) Close() error { return l.close() }

func field(line []byte, n int) []byte {
	for part := range bytes.SplitSeq(line, []byte{'\t'}) {
		if n == 0 {
			return part
		}
		n--
	}
	return nil
}

// ReadLabels gives visit all labels with their numbers from 0, and closes them.
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
