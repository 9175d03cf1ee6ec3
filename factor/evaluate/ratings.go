package evaluate

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/stream/view"
)

// predicts tells whether a factorisation of a view predicts values, and what is added to its elements.
func (e *evaluation) predicts(p view.Pipeline) (offset, bool) {
	zero := offset{columns: e.columns.plain()}
	if len(p) == 0 {
		return zero, true
	}
	rows, columns, damping, ok := p.Bias()
	if !ok {
		return zero, false
	}
	return offset{&e.columns, columns, rows, damping}, true
}

// rate judges predictions: the offset of an entry and, unless f is nil, qᵀv_j with q = Σ_l (a_il − offset) v_l over the
// entries of the training or, where u reads left vectors, with q = Σu_i. models have the triplets that their ranks say, in ascending order or not.
func (e *evaluation) rate(ctx context.Context, o offset, f *recommend.Factorisation, u func(first int64, rows *mat.Dense) error, models []*Model) error {
	var v, left *mat.Dense
	k := 0
	if f != nil {
		k = len(f.Sigma)
		if need := 8 * e.cols * int64(k); need > e.Memory/2 {
			return &budget.Error{Budget: e.Memory, Need: 2 * need, What: "predictions of ratings, half of it for V"}
		}
		v, left = mat.NewDense(int(e.cols), k, nil), mat.NewDense(1, k, nil)
		if err := f.V(0, v); err != nil {
			return err
		}
	}
	q := make([]float64, k)
	errors := make([][2]float64, len(models)) // sums of squares and of absolute values
	var counts [replicates]uint8
	done := int64(0)
	users := int64(0)
	err := eachBatch(ctx, e.users, e.rows, e.entries, []*history.Reader{e.train, e.test}, func(rows []int64, of []*history.Rows) error {
		for i, row := range rows {
			cols, vals := of[1].Row(i)
			if len(cols) == 0 {
				continue
			}
			seen, had := of[0].Row(i)
			bias := o.row(seen, had)
			users++
			clear(q)
			switch {
			case u != nil:
				if err := u(row, left); err != nil {
					return err
				}
				for j, x := range left.RawRowView(0) {
					q[j] = x * f.Sigma[j]
				}
			case v != nil:
				for p, c := range seen {
					rest := had[p] - o.mean() - o.column(c) - bias
					for j, x := range v.RawRowView(int(c)) {
						q[j] += rest * x
					}
				}
			}
			clear(errors)
			for p, c := range cols {
				e.predict(errors, models, vals[p]-o.mean()-o.column(c)-bias, q, v, c)
			}
			sample(&counts, e.Seed, row)
			for m, model := range models {
				for at, metric := range e.Metrics {
					if metric.Rating() {
						model.ratios[at].add(&counts, errors[m][metric.Kind-RMSE], float64(len(cols)))
					}
				}
			}
		}
		done += int64(len(rows))
		e.Progress("ratings of "+models[0].Name, float64(done), float64(e.rows))
		return nil
	})
	if !e.lists {
		e.report.Users = users
	}
	return err
}

// predict adds the errors of the models for one entry, of which rest is what the offset does not have.
func (e *evaluation) predict(errors [][2]float64, models []*Model, rest float64, q []float64, v *mat.Dense, col uint32) {
	sum, j := 0.0, 0
	for m, model := range models {
		if v != nil {
			if model.terms < j {
				sum, j = 0, 0
			}
			for row := v.RawRowView(int(col)); j < model.terms; j++ {
				sum += q[j] * row[j]
			}
		}
		off := rest - sum
		errors[m][0] += off * off
		errors[m][1] += math.Abs(off)
	}
}
