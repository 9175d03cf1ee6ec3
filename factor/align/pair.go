package align

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// vectors are those of one result, a window of rows in memory.
type vectors struct {
	factor *factor.Factor
	names  *factor.Names
	sigma  []float64 // nil: not multiplied with
	npy.Window
}

const windowBytes = 4 << 20

func open(ctx context.Context, r *factor.Result, what string) (v *vectors, err error) {
	v = new(vectors)
	openVectors, openNames := r.OpenU, r.RowNames
	switch what {
	case "US", "VS":
		v.sigma = r.Values()
	case "U", "V":
	default:
		return nil, fmt.Errorf("%q is nothing to align: want U, V, US or VS", what)
	}
	if what[0] == 'V' {
		openVectors, openNames = r.OpenV, r.ColNames
	}
	if v.factor, err = openVectors(); err != nil {
		return nil, err
	}
	if v.names, err = openNames(ctx); err != nil {
		return nil, errors.Join(err, v.factor.Close())
	}
	n, k := v.factor.Dims()
	v.Window = npy.Window{N: n, Most: max(1, windowBytes/8/int64(k)), K: k, Read: v.read}
	return v, nil
}

func (v *vectors) close() error {
	if v == nil {
		return nil
	}
	return errors.Join(v.factor.Close(), v.names.Close())
}

func (v *vectors) read(first int64, rows *mat.Dense) error {
	err := v.factor.ReadRows(first, rows)
	if err == nil && v.sigma != nil {
		rows.Apply(func(_, j int, x float64) float64 { return x * v.sigma[j] }, rows)
	}
	return err
}

type pair struct {
	o           Options
	k           int
	fresh, old  *vectors
	done, total int64 // rows, for the progress
}

func (p *pair) close() error { return errors.Join(p.fresh.close(), p.old.close()) }

// batch is how many common rows are taken at a time.
const batch = 1 << 10

// common calls f with the rows of both results whose ids are the same, some at a time, in order.
func (p *pair) common(ctx context.Context, f func(x, y *mat.Dense)) error {
	x, y := mat.NewDense(batch, p.k, nil), mat.NewDense(batch, p.k, nil)
	n := 0
	some := func() {
		if n > 0 {
			f(x.Slice(0, n, 0, p.k).(*mat.Dense), y.Slice(0, n, 0, p.k).(*mat.Dense))
			n = 0
		}
	}
	err := p.old.names.Match(ctx, p.fresh.names.All(ctx), func(i, at int64, _ string) error {
		p.done++
		if p.done%(1<<12) == 0 {
			p.o.Progress(p.done, p.total)
		}
		if at < 0 {
			return nil
		}
		a, err := p.fresh.Row(i)
		if err != nil {
			return err
		}
		x.SetRow(n, a)
		if a, err = p.old.Row(at); err != nil {
			return err
		}
		y.SetRow(n, a)
		n++
		if n == batch {
			some()
		}
		return nil
	})
	some()
	return err
}

// compare finds how many of the nearest rows of some common ones have changed.
func (p *pair) compare(ctx context.Context, a *Alignment) error {
	sample := int(min(int64(p.o.Sample), a.Common))
	near := min(p.o.Neighbours, int(min(a.Common-1, math.MaxInt32)))
	a.Sample = sample
	if near < 1 {
		return nil
	}
	queries := [2]*mat.Dense{mat.NewDense(sample, p.k, nil), mat.NewDense(sample, p.k, nil)}
	of, n := make([]int64, 0, sample), int64(0) // the number of each among the common rows
	each := func(f func(number int64, which int, rows *mat.Dense)) error {
		n = 0
		return p.common(ctx, func(x, y *mat.Dense) {
			for which, rows := range []*mat.Dense{x, y} {
				unit(rows)
				f(n, which, rows)
			}
			n += int64(x.RawMatrix().Rows)
		})
	}
	err := each(func(first int64, which int, rows *mat.Dense) {
		count := int64(rows.RawMatrix().Rows)
		for s := range int64(sample) {
			at := s * a.Common / int64(sample)
			if at < first || at >= first+count {
				continue
			}
			queries[which].SetRow(int(s), rows.RawRowView(int(at-first)))
			if which == 0 {
				of = append(of, at)
			}
		}
	})
	if err != nil {
		return err
	}
	best := [2][][]neighbour{make([][]neighbour, sample), make([][]neighbour, sample)}
	err = each(func(first int64, which int, rows *mat.Dense) {
		var scores mat.Dense
		scores.Mul(queries[which], rows.T())
		for s := range sample {
			for i, v := range scores.RawRowView(s) {
				if at := first + int64(i); at != of[s] {
					best[which][s] = offer(best[which][s], neighbour{at, v}, near)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	kept := 0
	for s := range sample {
		for _, x := range best[0][s] {
			if slices.ContainsFunc(best[1][s], func(y neighbour) bool { return x.at == y.at }) {
				kept++
			}
		}
	}
	a.Changed = factor.Number(1 - float64(kept)/float64(sample*near))
	return nil
}

// unit divides rows by their lengths, but for those that are 0.
func unit(rows *mat.Dense) {
	for i := range rows.RawMatrix().Rows {
		row := rows.RawRowView(i)
		if length := mat.Norm(mat.NewVecDense(len(row), row), 2); length > 0 {
			for j := range row {
				row[j] /= length
			}
		}
	}
}

// neighbour is a row with its cosine.
type neighbour struct {
	at    int64
	score float64
}

// offer adds a row to the nearest ones so far, the nearest first; of equals, the one that comes first.
func offer(best []neighbour, x neighbour, most int) []neighbour {
	if len(best) == most && !(x.score > best[most-1].score) {
		return best
	}
	at, _ := slices.BinarySearchFunc(best, x, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at, b.at))
	})
	best = slices.Insert(best, at, x)
	return best[:min(len(best), most)]
}
