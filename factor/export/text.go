package export

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor/internal/tabular"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// textBytes is about how many bytes of numbers are made text of at a time.
const textBytes = 4 << 20

// text writes a line, or several, for every row.
type text struct {
	out     io.Writer
	workers int
	rows    int // at a time
	line    func(b []byte, w *window, i int) []byte
	parts   [][]byte
}

func (x *text) window() int  { return x.rows }
func (x *text) close() error { return nil }

// write makes text of parts of the window on all workers and writes it in order.
func (x *text) write(w *window) error {
	n := w.x.RawMatrix().Rows
	count := min(4*x.workers, n)
	for len(x.parts) < count {
		x.parts = append(x.parts, nil)
	}
	parallel.Each(x.workers, count, func(_, part int) {
		b := x.parts[part][:0]
		for i := part * n / count; i < (part+1)*n/count; i++ {
			b = x.line(b, w, i)
		}
		x.parts[part] = b
	})
	for _, b := range x.parts[:count] {
		if _, err := x.out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func number(b []byte, x float64) []byte { return strconv.AppendFloat(b, x, 'g', -1, 64) }

// newText begins a table with a separator.
func newText(t *table, out io.Writer, o Options, separator byte) (*text, error) {
	var head []byte
	if t.idName != "" {
		head = append(append(head, t.idName...), separator)
	}
	if t.titled() {
		head = append(append(head, "title"...), separator)
	}
	head = append(head, strings.Join(t.columns, string(separator))...)
	_, err := out.Write(append(head, '\n'))
	name := func(b []byte, s string) []byte {
		if o.Guarded {
			s = escape.Formula(s)
		}
		return append(tabular.Field(b, s, separator), separator)
	}
	line := func(b []byte, w *window, i int) []byte {
		if len(w.ids) > 0 {
			b = name(b, w.ids[i])
		}
		if len(w.titles) > 0 {
			b = name(b, w.titles[i])
		}
		for j, v := range w.x.RawRowView(i) {
			if j > 0 {
				b = append(b, separator)
			}
			b = number(b, v)
		}
		return append(b, '\n')
	}
	return &text{out: out, workers: o.Workers, rows: rowsOf(textBytes, t.k), line: line}, err
}

// newMatrixMarket begins a matrix of coordinates, which more programs read than arrays, column by column.
func newMatrixMarket(t *table, out io.Writer, workers int) (*text, error) {
	_, err := fmt.Fprintf(out, "%%%%MatrixMarket matrix coordinate real general\n%% %s, all entries row by row\n%d %d %d\n", t.what, t.rows, t.k, t.rows*int64(t.k))
	line := func(b []byte, w *window, i int) []byte {
		for j, v := range w.x.RawRowView(i) {
			b = append(strconv.AppendInt(b, w.first+int64(i)+1, 10), ' ')
			b = append(strconv.AppendInt(b, int64(j)+1, 10), ' ')
			b = append(number(b, v), '\n')
		}
		return b
	}
	return &text{out: out, workers: workers, rows: rowsOf(textBytes, t.k), line: line}, err
}

// counter counts the bytes it hands on.
type counter struct {
	w *bufio.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
