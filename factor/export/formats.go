package export

import (
	"archive/zip"
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/factor/internal/parquet"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// textBytes is about the number of bytes of numbers that are formatted at a time.
const textBytes = 4 << 20

// text writes a line, or several, for every row.
type text struct {
	out     io.Writer
	workers int
	rows    int // rows at a time
	line    func(b []byte, w *window, i int) []byte
	parts   [][]byte
}

func (x *text) window() int  { return x.rows }
func (x *text) close() error { return nil }

// write formats parts of the window on all workers and writes them in order.
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
	return &text{out: out, workers: o.Workers, rows: rowsOf(min(textBytes, t.most), t.k), line: line}, err
}

// newMatrixMarket begins a matrix of coordinates: more programs read these than arrays, which are column by column.
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
	return &text{out: out, workers: workers, rows: rowsOf(min(textBytes, t.most), t.k), line: line}, err
}

type counter struct {
	w *bufio.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// tableFile writes a table as Parquet, each window as a row group.
type tableFile struct {
	t      *table
	w      *parquet.Writer
	ids    []int64
	values []parquet.Values
}

func newParquet(t *table, out io.Writer) (*tableFile, error) {
	var columns []parquet.Column
	if t.idName != "" {
		of := parquet.String
		if t.ints() {
			of = parquet.Int64
		}
		columns = append(columns, parquet.Column{Name: t.idName, Type: of})
	}
	if t.titled() {
		columns = append(columns, parquet.Column{Name: "title", Type: parquet.String})
	}
	for _, name := range t.columns {
		columns = append(columns, parquet.Column{Name: name, Type: parquet.Float64})
	}
	w, err := parquet.NewWriter(out, columns)
	return &tableFile{t: t, w: w}, err
}

// window returns the rows of a row group: those of t.most bytes, but at least 2¹³ unless rows are long, and at most 2¹⁷.
func (f *tableFile) window() int {
	return min(max(rowsOf(f.t.most, f.t.k), 1<<13), 1<<17, rowsOf(4*f.t.most, f.t.k))
}

func (f *tableFile) write(w *window) error {
	f.values = f.values[:0]
	if f.t.idName != "" && f.t.ints() {
		f.ids = f.ids[:0]
		for _, id := range w.ids {
			x, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return err
			}
			f.ids = append(f.ids, x)
		}
		f.values = append(f.values, parquet.Int64s(f.ids))
	} else if f.t.idName != "" {
		f.values = append(f.values, parquet.Strings(w.ids))
	}
	if f.t.titled() {
		f.values = append(f.values, parquet.Strings(w.titles))
	}
	m := w.x.RawMatrix()
	for j := range m.Cols {
		f.values = append(f.values, parquet.Float64s(m.Data[j:], m.Stride))
	}
	return f.w.Group(m.Rows, f.values...)
}

func (f *tableFile) close() error { return f.w.Close() }

type array struct {
	out    io.Writer
	k      int
	single bool // float32
	buf    []byte
}

func newArray(t *table, out io.Writer, single bool) (*array, error) {
	descr, shape := "<f8", []int64{t.rows, int64(t.k)}
	if single {
		descr = "<f4"
	}
	if t.factor == nil {
		shape = shape[:1]
	}
	_, err := out.Write(npy.HeaderOf(descr, shape...))
	return &array{out: out, k: t.k, single: single}, err
}

func (a *array) window() int  { return rowsOf(1<<20, a.k) }
func (a *array) close() error { return nil }

func (a *array) write(w *window) error {
	a.buf = a.buf[:0]
	for i, v := range w.x.RawMatrix().Data {
		if !a.single {
			a.buf = binary.LittleEndian.AppendUint64(a.buf, math.Float64bits(v))
			continue
		}
		if math.Abs(v) > math.MaxFloat32 {
			return fmt.Errorf("row %d, component %d: %g is larger than float32 can be: export it as npy", w.first+int64(i/a.k), i%a.k+1, v)
		}
		a.buf = binary.LittleEndian.AppendUint32(a.buf, math.Float32bits(float32(v)))
	}
	_, err := a.out.Write(a.buf)
	return err
}

type npz struct{ *zip.Writer }

// file begins the file of an array, and writes its head.
func (z npz) file(name string, head []byte) (io.Writer, error) {
	f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err == nil {
		_, err = f.Write(head)
	}
	return f, err
}

// archive writes several arrays: that of the table first.
type archive struct {
	ctx context.Context
	t   *table
	zip npz
	*array
}

func newArchive(ctx context.Context, t *table, out io.Writer) (*archive, error) {
	a := &archive{ctx: ctx, t: t, zip: npz{zip.NewWriter(out)}}
	w, err := a.zip.file(t.what, nil)
	if err == nil {
		a.array, err = newArray(t, w, false)
	}
	return a, err
}

func (a *archive) close() error {
	if a.t.what != "sigma" && a.t.sigma != nil {
		if err := a.numbers("sigma", "<f8", len(a.t.sigma), func(i int) (uint64, error) { return math.Float64bits(a.t.sigma[i]), nil }); err != nil {
			return err
		}
	}
	if a.t.names != nil {
		if err := a.ids(); err != nil {
			return err
		}
	}
	if a.t.titled() {
		if err := a.texts("titles", a.t.names.Title); err != nil {
			return err
		}
	}
	return a.zip.Close()
}

// numbers writes an array of n numbers of 8 bytes.
func (a *archive) numbers(name, descr string, n int, of func(i int) (uint64, error)) error {
	out, err := a.zip.file(name, npy.HeaderOf(descr, int64(n)))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for i := range n {
		x, err := of(i)
		if err = cmp.Or(err, a.stopped(i)); err != nil {
			return err
		}
		_, _ = w.Write(binary.LittleEndian.AppendUint64(w.AvailableBuffer(), x)) // Flush returns the error
	}
	return w.Flush()
}

func (a *archive) ids() error {
	if !a.t.ints() {
		return a.texts("ids", a.t.names.ID)
	}
	return a.numbers("ids", "<i8", int(a.t.rows), func(i int) (uint64, error) {
		id, err := a.t.names.ID(int64(i))
		if err != nil {
			return 0, err
		}
		x, err := strconv.ParseInt(id, 10, 64)
		return uint64(x), err
	})
}

// stopped returns the error of the context if i is a multiple of 2¹⁴, otherwise nil.
func (a *archive) stopped(i int) error {
	if i%(1<<14) != 0 {
		return nil
	}
	return a.ctx.Err()
}

// texts writes an array of strings. All elements of such an array have the size of the longest one: 4 bytes
// a character or, if a string is not UTF-8, the bytes of the strings.
func (a *archive) texts(name string, of func(int64) (string, error)) error {
	longest, bytes, valid := 1, 1, true
	for i := range int(a.t.rows) {
		s, err := of(int64(i))
		if err = cmp.Or(err, a.stopped(i)); err != nil {
			return err
		}
		longest, bytes, valid = max(longest, utf8.RuneCountInString(s)), max(bytes, len(s)), valid && utf8.ValidString(s)
	}
	descr, size := "<U"+strconv.Itoa(longest), 4*longest
	if !valid {
		descr, size = "|S"+strconv.Itoa(bytes), bytes
	}
	if most := int64(1<<30) + 64*int64(a.t.k)*a.t.rows; int64(size) > most/a.t.rows {
		return fmt.Errorf("%s of up to %d characters take %d bytes for each of %d rows in an array of NumPy: export parquet or csv, or leave ids out", name, longest, size, a.t.rows)
	}
	out, err := a.zip.file(name, npy.HeaderOf(descr, a.t.rows))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	var b []byte
	for i := range int(a.t.rows) {
		s, err := of(int64(i))
		if err = cmp.Or(err, a.stopped(i)); err != nil {
			return err
		}
		if b = append(b[:0], s...); valid {
			b = b[:0]
			for _, r := range s {
				b = binary.LittleEndian.AppendUint32(b, uint32(r))
			}
		}
		_, _ = w.Write(append(b, make([]byte, size-len(b))...)) // Flush returns the error
	}
	return w.Flush()
}
