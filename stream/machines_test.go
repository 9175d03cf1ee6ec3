package stream

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// machines is a matrix whose rows are split over parts, each on a goroutine that stands for a
// machine. Sums and R factors are combined in the order of the parts, so the bits depend on the
// parts alone. Rows in a block are read and written in place; rows of functions pass through the
// goroutine that drives the pass. The Info of all parts has the same Exponent.
type machines []solver.Matrix

var _ solver.Matrix = machines(nil)

// Info implements solver.Matrix. The split decides the bits, so ID includes it.
func (m machines) Info() solver.Info {
	all := solver.Info{Cols: m[0].Info().Cols, Exponent: m[0].Info().Exponent}
	var names []string
	for _, part := range m {
		i := part.Info()
		all.Rows, all.NNZ, all.Norm = all.Rows+i.Rows, all.NNZ+i.NNZ, math.Hypot(all.Norm, i.Norm)
		names = append(names, fmt.Sprintf("%s %d", i.ID, i.Rows))
	}
	all.ID = strings.Join(names, ", ")
	return all
}

// Run implements solver.Matrix.
func (m machines) Run(ctx context.Context, p solver.Pass) (cost solver.Cost, err error) {
	info := m.Info()
	l, rows := p.Columns(info), int(info.Rows)
	whole := p
	if p.RowsIn.Func != nil {
		whole.RowsIn.Block = mat.NewDense(rows, l, nil)
	}
	if p.RowsOut.Func != nil {
		whole.RowsOut.Block = mat.NewDense(rows, l, nil)
	}
	if err := serve(whole.RowsIn); err != nil {
		return cost, err
	}
	parts, costs := make([]solver.Pass, len(m)), make([]solver.Cost, len(m))
	group, groupCtx := errgroup.WithContext(ctx)
	from := 0
	for i, part := range m {
		to := from + int(part.Info().Rows)
		parts[i] = share(whole, from, to, l)
		from = to
		group.Go(func() (err error) {
			costs[i], err = part.Run(groupCtx, parts[i])
			return err
		})
	}
	err = group.Wait()
	for _, c := range costs {
		cost.BytesRead, cost.Multiply, cost.Wait = cost.BytesRead+c.BytesRead, max(cost.Multiply, c.Multiply), max(cost.Wait, c.Wait)
	}
	if err != nil {
		return cost, err
	}
	combine(p, parts, l)
	return cost, serve(whole.RowsOut)
}

// share returns the part of pass p for the rows from … to−1.
func share(p solver.Pass, from, to, l int) solver.Pass {
	part := solver.Pass{X: p.X}
	if b := p.RowsIn.Block; b != nil {
		part.RowsIn.Block = denseRows(b, from, to)
	}
	if b := p.RowsOut.Block; b != nil {
		part.RowsOut.Block = denseRows(b, from, to)
	}
	if p.Sum != nil {
		n, _ := p.Sum.Dims()
		part.Sum = mat.NewDense(n, l, nil)
	}
	if p.R != nil {
		part.R = mat.NewDense(l, l, nil)
	}
	return part
}

// combine sets Sum and R of p from those of all parts.
func combine(p solver.Pass, parts []solver.Pass, l int) {
	stack := mat.NewDense(len(parts)*l, l, nil)
	for i, part := range parts {
		switch {
		case p.Sum == nil:
		case i == 0:
			p.Sum.Copy(part.Sum)
		default:
			p.Sum.Add(p.Sum, part.Sum)
		}
		if p.R != nil {
			denseRows(stack, i*l, (i+1)*l).Copy(part.R)
		}
	}
	if p.R != nil {
		var qr mat.QR
		var r mat.Dense
		qr.Factorize(stack)
		qr.RTo(&r)
		p.R.Copy(r.Slice(0, l, 0, l))
	}
}

// serve calls the function of r, if not nil, with all rows of its block.
func serve(r solver.Rows) error {
	if r.Func == nil {
		return nil
	}
	n, _ := r.Block.Dims()
	for at := 0; at < n; at += portion {
		if err := r.Func(int64(at), denseRows(r.Block, at, min(n, at+portion))); err != nil {
			return err
		}
	}
	return nil
}

// portion is the number of rows per call of a function.
const portion = 7

// denseRows returns rows from … to−1 of x.
func denseRows(x *mat.Dense, from, to int) *mat.Dense {
	_, k := x.Dims()
	return x.Slice(from, to, 0, k).(*mat.Dense)
}

// split returns a as a matrix on count machines with about equal numbers of rows.
func split(t *testing.T, a *mat.Dense, count int) (m machines) {
	n, _ := a.Dims()
	count = min(count, n)
	for i := range count {
		part := must.Get(FromSparse(sparseOf(mat.DenseCopyOf(denseRows(a, i*n/count, (i+1)*n/count))), Options{Workers: 1}))(t)
		m = append(m, part)
	}
	return m
}

// TestMachines runs CheckMatrix on matrices split over machines, and checks that factorisations of
// them converge.
func TestMachines(t *testing.T) {
	for name, a := range kinds() {
		for _, count := range []int{1, 3} {
			solvertest.CheckMatrix(t, split(t, a, count), a)
		}
		n, cols := a.Dims()
		for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
			set := solver.Settings{Rank: min(n, cols, 4), Operator: operator, MaxPasses: 20_000}
			if operator == solver.Dilation {
				set.Method = momentum.Nesterov{}
			}
			left := solver.NewDenseRows(n, set.Rank)
			set.Left = left
			res, err := solver.SVD(t.Context(), split(t, a, 3), set)
			if err != nil {
				t.Fatal(name, err)
			}
			if res.Status != solver.Converged {
				t.Error(name, operator, res.Status)
			}
			solvertest.CheckTriplets(t, a, res, left.Dense)
		}
	}
}
