package hostile

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// entry is an entry of a matrix, with the value that the text gives.
type entry struct {
	i, j int
	v    float64
}

// matrix is a small sparse matrix without duplicates.
type matrix struct {
	rows, cols int
	entries    []entry
	kind       string
	definite   bool // symmetric and positive semidefinite
}

// fromDense returns the matrix of the nonzero entries of a.
func fromDense(kind string, a *mat.Dense) *matrix {
	m := &matrix{kind: kind}
	m.rows, m.cols = a.Dims()
	for i := range m.rows {
		for j := range m.cols {
			if v := a.At(i, j); v != 0 {
				m.entries = append(m.entries, entry{i, j, v})
			}
		}
	}
	return m
}

// place returns a matrix in which each entry is set to a value of f with probability share.
func (t *Trial) place(rows, cols int, share float64, f func() float64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			if t.Float64() < share {
				a.Set(i, j, f())
			}
		}
	}
	return a
}

// structures lists kinds of matrices that have made a solver fail.
var structures = []struct {
	name string
	make func(t *Trial, m, n int) *mat.Dense
}{
	{"gaussian", func(t *Trial, m, n int) *mat.Dense { return t.place(m, n, t.Float64(), t.NormFloat64) }},
	{"ratings", func(t *Trial, m, n int) *mat.Dense {
		return t.place(m, n, 0.05+0.4*t.Float64(), func() float64 { return float64(t.between(1, 10)) / 2 })
	}},
	{"constant", func(t *Trial, m, n int) *mat.Dense {
		return t.place(m, n, t.Float64(), func() float64 { return 1 })
	}},
	{"ones", func(t *Trial, m, n int) *mat.Dense { return t.place(m, n, 2, func() float64 { return 1 }) }},
	{"zero", func(_ *Trial, m, n int) *mat.Dense { return mat.NewDense(m, n, nil) }},
	{"low rank", func(t *Trial, m, n int) *mat.Dense {
		r := t.between(1, max(1, min(m, n)/3))
		integer := func() float64 { return float64(t.between(-3, 3)) }
		var a mat.Dense
		a.Mul(t.place(m, r, 0.8, integer), t.place(r, n, 0.8, integer))
		return &a
	}},
	{"repeated", func(t *Trial, m, n int) *mat.Dense { // a diagonal of few values, rows permuted
		a, p := mat.NewDense(m, n, nil), t.Perm(m)
		several := t.between(1, 3)
		for i := range min(m, n) {
			a.Set(p[i], i, float64(1+i*several/min(m, n)))
		}
		return a
	}},
	{"copies", func(t *Trial, m, n int) *mat.Dense { // copies of one block: every value many times
		a := mat.NewDense(m, n, nil)
		r, c := max(1, m/t.between(2, 6)), max(1, n/t.between(2, 6))
		b := t.place(r, c, 0.7, t.NormFloat64)
		for i, j := 0, 0; i+r <= m && j+c <= n; i, j = i+r, j+c {
			a.Slice(i, i+r, j, j+c).(*mat.Dense).Copy(b)
		}
		return a
	}},
	{"graded", func(t *Trial, m, n int) *mat.Dense {
		a := t.place(m, n, 0.3+0.7*t.Float64(), t.NormFloat64)
		decades := -12 * t.Float64()
		a.Apply(func(i, _ int, v float64) float64 { return v * math.Pow(10, decades*float64(i)/float64(m)) }, a)
		return a
	}},
	{"dominant", func(t *Trial, m, n int) *mat.Dense { // one large value, then a cluster
		a := t.place(m, n, 0.5, func() float64 { return 1 + 0.01*t.NormFloat64() })
		d := 1 + 0.001*t.Float64()
		for i := range min(m, n) {
			a.Set(i, i, a.At(i, i)+d)
		}
		return a
	}},
	{"duplicates", func(t *Trial, m, n int) *mat.Dense { // duplicate rows and columns
		few := t.place(m, n, 0.5, func() float64 { return float64(t.between(1, 5)) })
		a := mat.NewDense(m, n, nil)
		r, c := t.between(1, m), t.between(1, n)
		a.Apply(func(i, j int, _ float64) float64 { return few.At(i%r, j%c) }, a)
		return a
	}},
	{"empty rows", func(t *Trial, m, n int) *mat.Dense {
		a := t.place(m, n, 0.6, t.NormFloat64)
		gone := t.Perm(m)[:m/2]
		a.Apply(func(i, j int, v float64) float64 {
			if slices.Contains(gone, i) || j%3 == 1 {
				return 0
			}
			return v
		}, a)
		return a
	}},
	{"läuchli", func(t *Trial, m, n int) *mat.Dense {
		a, eps := mat.NewDense(m, n, nil), math.Pow(10, -9*t.Float64())
		for j := range n {
			a.Set(0, j, 1)
			if j+1 < m {
				a.Set(j+1, j, eps)
			}
		}
		return a
	}},
	{"hilbert", func(_ *Trial, m, n int) *mat.Dense {
		a := mat.NewDense(m, n, nil)
		a.Apply(func(i, j int, _ float64) float64 { return 1 / float64(i+j+1) }, a)
		return a
	}},
	{"blocks", func(t *Trial, m, n int) *mat.Dense { // disconnected blocks of very different size
		a := mat.NewDense(m, n, nil)
		for i, j, scale := 0, 0, 1.0; i < m && j < n; scale *= math.Pow(10, 2-4*t.Float64()) {
			r, c := min(m-i, t.between(1, 1+m/3)), min(n-j, t.between(1, 1+n/3))
			b := t.place(r, c, 0.8, func() float64 { return scale * float64(t.between(1, 9)) })
			a.Slice(i, i+r, j, j+c).(*mat.Dense).Copy(b)
			i, j = i+r, j+c
		}
		return a
	}},
}

// shape draws the numbers of rows and columns, sometimes extreme ones.
func (t *Trial) shape() (m, n int) {
	switch t.IntN(8) {
	case 0:
		return 1, t.between(1, 80)
	case 1:
		return t.between(1, 80), 1
	case 2:
		n = t.between(2, 40)
		return n, n
	case 3:
		return t.between(60, 120), t.between(2, 12)
	case 4:
		return t.between(2, 12), t.between(60, 120)
	}
	return t.between(2, 60), t.between(2, 60)
}

// matrix draws a matrix.
func (t *Trial) matrix() *matrix {
	m, n := t.shape()
	if t.IntN(6) == 0 { // BᵀB, for the operator symmetric
		s := structures[t.IntN(len(structures))]
		b := s.make(t, m, min(n, 40))
		var a mat.Dense
		a.Mul(b.T(), b)
		x := fromDense("symmetric "+s.name, &a)
		x.definite = true
		return x
	}
	s := structures[t.IntN(len(structures))]
	return fromDense(s.name, s.make(t, m, n))
}

// dense returns the matrix times 2^−e.
func (m *matrix) dense(e int) *mat.Dense {
	a := mat.NewDense(m.rows, m.cols, nil)
	for _, x := range m.entries {
		a.Set(x.i, x.j, math.Ldexp(x.v, -e))
	}
	return a
}

// exponent returns e such that the largest entry times 2^−e lies in [½, 1).
func (m *matrix) exponent() int {
	_, e := math.Frexp(m.largest())
	return e
}

func (m *matrix) largest() (v float64) {
	for _, x := range m.entries {
		v = max(v, math.Abs(x.v))
	}
	return v
}

// write writes the matrix as a Matrix Market file, every value with all its
// digits, in random order.
func (m *matrix) write(t *Trial, name string) error {
	lines := slices.Clone(m.entries)
	t.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return writeText(name, func(w *bufio.Writer) {
		fmt.Fprintf(w, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", m.rows, m.cols, len(lines))
		for _, x := range lines {
			fmt.Fprintf(w, "%d %d %s\n", x.i+1, x.j+1, strconv.FormatFloat(x.v, 'g', -1, 64))
		}
	})
}

// writeIDs writes the matrix as lines of row id, column id and value, in random order.
func (m *matrix) writeIDs(t *Trial, name string, row, col func(int) string) error {
	lines := slices.Clone(m.entries)
	t.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return writeText(name, func(w *bufio.Writer) {
		for _, x := range lines {
			fmt.Fprintf(w, "%s,%s,%s\n", row(x.i), col(x.j), strconv.FormatFloat(x.v, 'g', -1, 64))
		}
	})
}

func writeText(name string, write func(*bufio.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	write(w)
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// readMarket reads a file of write: results are judged against the matrix of the text, not against
// the matrix that the text was made from.
func readMarket(name string) (*matrix, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, sc := &matrix{}, bufio.NewScanner(f)
	for line := 0; sc.Scan(); line++ {
		var x entry
		var v string
		switch {
		case line == 0:
		case line == 1:
			n := 0
			_, err = fmt.Sscan(sc.Text(), &m.rows, &m.cols, &n)
		default:
			_, err = fmt.Sscan(sc.Text(), &x.i, &x.j, &v)
			if err == nil {
				x.v, err = strconv.ParseFloat(v, 64)
			}
			m.entries = append(m.entries, entry{x.i - 1, x.j - 1, x.v})
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line+1, err)
		}
	}
	return m, sc.Err()
}

// readIDs reads a file of writeIDs: rows and columns in ascending order of their ids, as integers
// if all ids of a side are integers, else as strings.
func readIDs(name string) (*matrix, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var rows, cols []string
	lines := strings.Fields(string(b))
	for _, line := range lines {
		f := strings.Split(line, ",")
		rows, cols = append(rows, f[0]), append(cols, f[1])
	}
	row, col := order(rows), order(cols)
	m := &matrix{rows: len(row), cols: len(col)}
	for _, line := range lines {
		f := strings.Split(line, ",")
		v, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return nil, err
		}
		m.entries = append(m.entries, entry{row[f[0]], col[f[1]], v})
	}
	return m, nil
}

// order returns the index of each id.
func order(ids []string) map[string]int {
	integers := true
	for _, id := range ids {
		_, err := strconv.ParseInt(id, 10, 64)
		integers = integers && err == nil
	}
	slices.SortFunc(ids, func(a, b string) int {
		if integers {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			return cmp.Compare(x, y)
		}
		return cmp.Compare(a, b)
	})
	at := map[string]int{}
	for i, id := range slices.Compact(ids) {
		at[id] = i
	}
	return at
}
