package align

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// vectors holds the vectors of a result, of which a window of rows is in memory.
type vectors struct {
	factor *factor.Factor
	names  *factor.Names
	sigma  []float64 // factors of the columns
	errors []float64 // see factor.Result.Errors
	npy.Window
}

// Bytes of a window of rows that are read in their order, and of rows that may be read in any order: the ids of the two results may be
// ordered differently, as integers and as texts.
const orderedBytes, anyBytes = 4 << 20, 4 << 10

func open(ctx context.Context, r *factor.Result, what string, windowBytes int64) (v *vectors, err error) {
	v = &vectors{sigma: slices.Repeat([]float64{1}, r.K)}
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
	v.errors = r.Errors(n, v.sigma)
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
	rows.Apply(func(_, j int, x float64) float64 { return x * v.sigma[j] }, rows)
	return err
}

type pair struct {
	o           Options
	k           int
	fresh, old  *vectors
	done, total int64 // rows, for the progress
}

func (p *pair) close() error { return errors.Join(p.fresh.close(), p.old.close()) }

// batch is the number of common rows processed at a time.
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

// compare computes, for a sample of common rows, the share of nearest rows that have changed.
func (p *pair) compare(ctx context.Context, a *Alignment) error {
	sample := int(min(int64(p.o.Sample), a.Common))
	near := min(p.o.Neighbours, int(min(a.Common-1, math.MaxInt32)))
	a.Sample, a.Neighbours = sample, near
	if near < 1 {
		return nil
	}
	queries := [2]*mat.Dense{mat.NewDense(sample, p.k, nil), mat.NewDense(sample, p.k, nil)}
	of := func(s int) int64 { return int64(s) * a.Common / int64(sample) } // index of a query among the common rows
	each := func(f func(first int64, which int, rows *mat.Dense)) error {
		n := int64(0)
		return p.common(ctx, func(x, y *mat.Dense) {
			factor.Units(x, p.fresh.errors)
			factor.Units(y, p.old.errors)
			f(n, 0, x)
			f(n, 1, y)
			n += int64(x.RawMatrix().Rows)
		})
	}
	err := each(func(first int64, which int, rows *mat.Dense) {
		for s := range sample {
			if i := of(s) - first; i >= 0 && i < int64(rows.RawMatrix().Rows) {
				queries[which].SetRow(s, rows.RawRowView(int(i)))
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
				if at := first + int64(i); at != of(s) {
					best[which][s] = offer(best[which][s], neighbour{at, v}, near)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	kept := 0
	err = each(func(first int64, which int, rows *mat.Dense) {
		for s := range sample {
			for _, x := range best[0][s] {
				i := x.at - first
				if which == 1 && i >= 0 && i < int64(rows.RawMatrix().Rows) && floats.Dot(queries[1].RawRowView(s), rows.RawRowView(int(i))) >= best[1][s][near-1].score-same {
					kept++
				}
			}
		}
	})
	a.Changed = factor.Number(1 - float64(kept)/float64(sample*near))
	return err
}

// same is the difference up to which two cosines count as equal. Columns with proportional entries have equal cosines, and the last
// digits decide which of them comes first.
const same = 1e-8

// neighbour is a row with its cosine.
type neighbour struct {
	at    int64
	score float64
}

// offer inserts a row into the nearest rows so far, the nearest first. Of rows with equal scores, the first one offered comes first.
func offer(best []neighbour, x neighbour, most int) []neighbour {
	if len(best) == most && !(x.score > best[most-1].score) {
		return best
	}
	at := sort.Search(len(best), func(i int) bool { return best[i].score < x.score })
	best = slices.Insert(best, at, x)
	return best[:min(len(best), most)]
}
