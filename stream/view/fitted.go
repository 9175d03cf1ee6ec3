package view

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// Fitted transforms rows, or columns, that its matrix does not have. Statistics of such a line are computed from the
// line, and statistics of the matrix come from [View.Statistics]. It is safe for concurrent use.
type Fitted struct {
	v *View
}

// frame is a source that has a shape and nothing else.
type frame struct {
	stream.Source
	rows, cols int64
}

func (f frame) Rows() int64 { return f.rows }
func (f frame) Cols() int64 { return f.cols }

// Fit returns a pipeline fitted to a rows × cols matrix, for lines that are rows or, if columns is true, columns.
// measured returns the statistics of that matrix: n numbers of a name, in the order of View.Statistics. A step that
// keeps listed or highly variable lines keeps all new lines. A step that needs numbers of the other side that are not
// kept is an error.
func Fit(p Pipeline, rows, cols int64, columns bool, measured func(step int, name string, n int64) ([]float64, error)) (*Fitted, error) {
	rows, cols = csr.Exchanged(columns, rows, cols)
	v := Plan(frame{rows: rows, cols: cols}, p, columns)
	for _, s := range v.statistics {
		if s.set == nil {
			continue
		}
		x, err := measured(s.Step, s.Name, s.n)
		switch {
		case err != nil:
			return nil, err
		case int64(len(x)) != s.n:
			return nil, fmt.Errorf("view: %s of %v: %d numbers, not %d", s.Name, p[s.Step], len(x), s.n)
		}
		s.set(x)
	}
	for _, f := range v.derived {
		f()
	}
	for i := range v.ops {
		o := &v.ops[i]
		if o.kind == rowMask {
			*o = op{kind: times, step: o.step, c: 1}
		}
		if col, _ := v.numbers(o); col > 0 && o.col == nil {
			what := "rows"
			if !columns {
				what = "columns"
			}
			return nil, fmt.Errorf("view: %v needs a number of each of the %s of the matrix, and these are not kept", p[o.step], what)
		}
	}
	v.prepare(len(v.ops))
	return &Fitted{v}, nil
}

// Bytes returns the memory that a Fitted keeps.
func (f *Fitted) Bytes() int64 { return f.v.bytes() }

// Q returns the columns of Q in B = S + P·Qᵀ, each with a number for every element of a line.
func (f *Fitted) Q() [][]float64 { return f.v.q }

// Line transforms a line with the values val, none of them 0, in the columns (or rows) at. It sets s to the values of S
// and returns the row of P. If a value becomes NaN or infinite, the error is a *ValueError about line i.
func (f *Fitted) Line(i int64, at []uint32, val, s []float64) (p [2]float64, err error) {
	r := row{n: int(f.v.src.Cols()), val: s[:len(val)], d: 1}
	copy(r.val, val)
	run(f.v.ops, len(f.v.ops), at, &r)
	if !finite(largest.of(r.val, 0)) || !finite(largest.of(r.p[:], 0)) {
		copy(s, val)
		err = blame(f.v, &row{at: i, n: r.n, val: s[:len(val)], d: 1}, f.v.ops, at)
	}
	return r.p, err
}
