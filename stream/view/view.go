package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// src is the source of a View, embedded under a name that is not exported.
type src = stream.Source

// View is a stream.Source of the matrix B that a pipeline makes of a source. Its blocks have the
// rows, columns and places of the blocks of the source.
type View struct {
	src
	pipeline   Pipeline
	transposed bool

	ops         []op
	stages      []stage
	statistics  []Statistic
	derived     []func()
	lead, store int  // ops up to lead change the table, those up to store the values; the rest is in D, E, P and Q
	values      int  // leading ops of the rest that must change values, because later ops depend on these
	ofValues    bool // some op of the rest depends on values
	byRow       bool // values have codes, and results depend on the value and its row alone: rows may have tables of their own
	used        int  // bound on the codes of the table of the source; 0: it has no table
	scaled      bool // D is not I
	analytic    bool // ‖B‖ follows from the sums of the last stage
	rank        int

	// rounding bounds the relative error of values after the steps so far: a sum is 0, and a column is constant, if it
	// is no more than that. Errors of sums grow with the square root of their length; after steps that subtract, the
	// differences have fewer digits.
	rounding float64

	e     []float64
	q     [][]float64
	norm  float64
	terms float64 // ‖S‖_F
	last  *sums   // of the stage that has just been measured, if the norm may follow from it

	refused  error // why a measured stage makes no view
	measured bool
	table    atomic.Pointer[mapping]
	rows     sync.Pool // of *lane
	known    countTables
}

var _ stream.Sided = (*View)(nil)

// New returns the view of a measured source: see Plan and View.Measure. A store whose rows
// are the columns of the user's matrix is transposed.
func New(ctx context.Context, src stream.Source, p Pipeline, transposed bool, o stream.Options) (*View, error) {
	v := Plan(src, p, transposed)
	return v, v.Measure(ctx, o)
}

// Plan returns a View that has not been measured: it has a name and sizes, but no values.
func Plan(src stream.Source, p Pipeline, transposed bool) *View {
	if err := p.check(); len(p) == 0 || err != nil {
		panic(fmt.Sprintf("view: %v is not what Parse returns: %v", p, err))
	}
	v := &View{src: src, pipeline: p, transposed: transposed}
	v.rows.New = func() any { return new(lane) }
	v.compile()
	return v
}

// local reports whether the rows or columns of the user are the rows of the store.
func (v *View) local(axis string) bool { return (axis == "rows") != v.transposed }

// form decides which ops are computed where.
func (v *View) form() {
	for v.lead < len(v.ops) && (v.ops[v.lead].kind == mapValues || v.ops[v.lead].kind == times) {
		v.lead++
	}
	v.store = v.lead
	for i := v.lead; i < len(v.ops); i++ {
		if !v.ops[i].kind.diagonal() {
			v.store = i + 1
		}
	}
	if coded, ok := v.src.(interface{ Values() csr.Values }); ok {
		var table [256]float64
		if copy(table[:], coded.Values().Table) > 0 {
			v.used = codesOf(&table)
		}
		tables := v.used > 0 || coded.Values().Coding == csr.Integer
		v.byRow = tables && !slices.ContainsFunc(v.ops[v.lead:v.store], func(o op) bool { return !o.ofRow() })
	}
	for i, o := range v.ops[v.store:] {
		switch o.kind {
		case times, rowFactor, rowStd, rowMask, correspond:
			v.scaled = true
		}
		if o.kind.ofValues() {
			v.values, v.ofValues = i, true
		}
	}
	if len(v.stages) == 0 {
		return
	}
	last := v.stages[len(v.stages)-1]
	v.analytic = last.need.squares
	for i, o := range v.ops {
		linear := o.kind == colOffset || o.kind == colFactor || o.kind == times
		v.analytic = v.analytic && !o.keeps && (i < last.at || linear)
	}
}

// bytes returns the memory that the view keeps: numbers of the columns of the store, and those of
// its rows that are written into a result.
func (v *View) bytes() (b int64) {
	n := 8 * v.src.Cols()
	for i := range v.ops {
		col, keep := v.numbers(&v.ops[i])
		b += 8 * (col + keep)
		if k := v.ops[i].kind; k == colFactor || k == rowOffset {
			b += n // of E, or Q
		}
	}
	if v.lead < len(v.ops) && v.ops[v.lead].kind == rowFactor && v.ops[v.lead].stat == total {
		b += (8 + 160) * int64(len(v.known)) // a pointer and a table each, if these are counts
	}
	return b + int64(v.rank)*2*n
}

// numbers returns the lengths of col and keep of an op.
func (v *View) numbers(o *op) (col, keep int64) {
	switch o.kind {
	case colFactor, bm25Columns, ppmi, colOffset, correspond, pearson, lift:
		col = v.src.Cols()
	case rowMask:
		col = v.src.Rows()
	case bm25Rows:
		col = 1
	case bias, impute:
		if o.other {
			col = v.src.Cols()
		}
	}
	if o.keeps {
		keep = v.src.Rows()
	}
	return col, keep
}

// Fingerprint names the matrix: the source and the pipeline.
func (v *View) Fingerprint() string {
	of := v.src.Fingerprint()
	if of == "" {
		return ""
	}
	h := sha256.Sum256([]byte("gdsvd-view/1\n" + of + "\n" + v.pipeline.String()))
	return hex.EncodeToString(h[:])
}

// Reads returns how often Measure reads the source.
func (v *View) Reads() (n int) {
	for _, s := range v.stages {
		if !s.same {
			n++
		}
	}
	if !v.analytic {
		n++
	}
	return n
}

// Terms implements stream.Sided: ‖S‖_F.
func (v *View) Terms() float64 { return v.terms }

// Norm implements stream.Source: ‖B‖_F.
func (v *View) Norm() (float64, int) { return v.norm, 0 }
func (v *View) anew() bool           { return v.store > v.lead }

// Remake estimates the nanoseconds that a worker takes to make the value of an entry anew, as measured on ratings, counts
// and images: a step takes 0.5 to 0.8 with a table for each row, else 2 to 5, or 12 to 25 if it calls a function.
func (v *View) Remake() (nanos float64) {
	most := v.src.MaxBlock()
	tables := v.byRow && int64(v.used)*most.Rows <= most.NNZ
	for _, o := range v.ops[v.lead:v.store] {
		switch {
		case tables:
			nanos++
		case o.kind == mapValues:
			nanos += 14
		default:
			nanos += 3
		}
	}
	return nanos
}

// Columns implements stream.Sided. If B is 0 but for rounding, e and q are 0.
func (v *View) Columns() (e []float64, q [][]float64) {
	if v.norm != 0 {
		return v.e, v.q
	}
	e = make([]float64, v.src.Cols())
	return e, slices.Repeat([][]float64{e}, v.rank)
}

func (v *View) Sides() (scaled bool, rank int, bytes int64) { return v.scaled, v.rank, v.bytes() }

// made returns the number of float64s for the values of a block that are made anew: one for each entry or, if that is
// no less, a table of step = used numbers for each row, and the padding of the last table.
func (v *View) made(rows, nnz int64, used int) (n int64, step int) {
	if n = rows*int64(used) + 256; v.byRow && used > 0 && n <= nnz {
		return n, used
	}
	return nnz, 0
}

func (v *View) DecodedSize(rows, nnz int64) int64 {
	size := v.src.DecodedSize(rows, nnz)
	const some = 1 << 20
	if coded := v.src.DecodedSize(0, some) < 9*some; v.anew() && coded { // columns and at most a byte for each entry
		const page = 8 << 10
		n, _ := v.made(rows, nnz, v.used)
		size += (8*n + page - 1) / page * page
	}
	return size
}

func (v *View) Scratch() *csr.Block {
	b := v.src.Scratch()
	if v.anew() && cap(b.Val) == 0 {
		most := v.src.MaxBlock()
		n, _ := v.made(most.Rows, most.NNZ, v.used)
		b.Val = make([]float64, 0, n)
	}
	return b
}

// mapping is a table of values and the table that ops have made of it.
type mapping struct {
	from *[256]float64
	to   [256]float64
}

// DecodeBlock implements stream.Source: the values are those of S.
func (v *View) DecodeBlock(i int, dst *csr.Block) error {
	if !v.measured {
		panic("view: a View that has not been measured has no values")
	}
	kept := cap(dst.Val) == 0 // dst is kept for good: it is to hold no unused memory
	if err := v.src.DecodeBlock(i, dst); err != nil {
		return err
	}
	if dst.Table == nil {
		for i := range dst.Rows() {
			lo, hi := dst.RowPtr[i], dst.RowPtr[i+1]
			r := row{at: dst.FirstRow + int64(i), n: int(v.src.Cols()), val: dst.Val[lo:hi], d: 1}
			runBlock(v.ops[:v.store], v.store, dst, lo, hi, &r)
		}
		return nil
	}
	used := codesOf(dst.Table)
	if v.lead > 0 {
		t := v.table.Load()
		if t == nil || t.from != dst.Table {
			t = &mapping{dst.Table, mappedTable(dst.Table, v.ops[:v.lead])}
			v.table.Store(t)
		}
		dst.Table = &t.to
	}
	ops := v.ops[v.lead:v.store]
	if len(ops) == 0 {
		return nil
	}
	n, step := v.made(int64(dst.Rows()), int64(dst.NNZ()), used)
	val := memory.Resized(dst.Val, int(n))
	expand(ops, int(v.src.Cols()), used, dst, val, step, &v.known)
	dst.Val, dst.Table, dst.Step = val, nil, step
	if step == 0 {
		dst.Code = dst.Code[:0]
		if kept {
			dst.Code = nil
		}
	}
	return nil
}

func (v *View) RowSides(b *csr.Block, d, p []float64) {
	l := v.rows.Get().(*lane)
	defer v.rows.Put(l)
	ops, rank := v.ops[v.store:], v.rank
	for i := range b.Rows() {
		lo, hi := b.RowPtr[i], b.RowPtr[i+1]
		l.val = memory.Resized(l.val, int(hi-lo))
		if v.ofValues {
			table := b.Table
			if b.Step > 0 {
				table = (*[256]float64)(b.Val[i*b.Step:])
			}
			load(l.val, b, table, lo, hi)
		}
		r := row{at: b.FirstRow + int64(i), n: int(v.src.Cols()), val: l.val, d: 1}
		runBlock(ops, v.values, b, lo, hi, &r)
		if v.scaled {
			d[i] = r.d
		}
		copy(p[i*rank:], r.p[:rank])
	}
}
