package evaluate

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/stream/view"
)

// vectorOf returns a function that reads vectors of one number each.
func vectorOf(number func(i int64) float64) func(first int64, rows *mat.Dense) error {
	return func(first int64, rows *mat.Dense) error {
		for i := range rows.RawMatrix().Rows {
			rows.Set(i, 0, number(first+int64(i)))
		}
		return nil
	}
}

// list judges the lists of a model, if lists are asked for.
func (e *evaluation) list(ctx context.Context, m *Model, f *recommend.Factorisation, by recommend.Scoring) error {
	if !e.lists {
		return nil
	}
	o := recommend.Options{
		N: e.longest, Rows: e.users, By: by, Keep: e.history, Memory: e.Memory, Reserve: 16*e.cols + 24*e.entries + e.held, Workers: e.Workers,
		Progress: func(done, total int64) { e.Progress(m.Name, float64(done), float64(total)) },
	}
	return e.judge(ctx, m, func(emit func(int64, []recommend.Item) error) error {
		_, err := recommend.Rows(ctx, f, e.trainStore, o, emit)
		return err
	})
}

// judge measures the lists of columns that recommended emits: one for each user with entries in the training store, in
// ascending order of users.
func (e *evaluation) judge(ctx context.Context, m *Model, recommended func(emit func(row int64, items []recommend.Item) error) error) error {
	test := &aligned{reader: e.test, entries: e.entries, place: e.places()}
	var buf []uint32
	covered := make([][]bool, len(e.Metrics))
	for i, metric := range e.Metrics {
		if metric.Kind == Coverage {
			covered[i], m.ratios[i].over = make([]bool, e.cols), float64(e.cols) // coverage has no replicates
		}
	}
	var counts [replicates]uint8
	values := make([]float64, len(e.Metrics))
	users := int64(0)
	err := recommended(func(row int64, items []recommend.Item) error {
		for i, metric := range e.Metrics {
			for _, item := range items[:min(len(items), metric.K)] {
				if covered[i] != nil && !covered[i][item.Index] {
					covered[i][item.Index] = true
					m.ratios[i].sum++
				}
			}
		}
		cols, vals, err := test.row(ctx, row)
		if err != nil {
			return err
		}
		buf = e.relevant(cols, vals, buf)
		if len(buf) == 0 {
			return nil
		}
		users++
		sample(&counts, e.Seed, row)
		listed(values, e.Metrics, items, buf)
		for i, metric := range e.Metrics {
			if metric.Kind < Coverage {
				m.ratios[i].add(&counts, values[i], 1)
			}
		}
		return nil
	})
	e.report.Users, e.report.NoTrain = users, e.withRelevant-users
	return err
}

// finish computes the scores from the sums, and compares models with the baselines.
func (e *evaluation) finish() {
	for _, m := range e.report.Models {
		for i, metric := range e.Metrics {
			m.Scores = append(m.Scores, m.score(i, metric))
		}
	}
	for _, m := range e.report.Models {
		for _, b := range e.report.Models {
			if !m.Baseline && b.Baseline {
				e.compare(m, b)
			}
		}
	}
}

func (m *Model) score(i int, metric Metric) Score {
	none := factor.Number(math.NaN())
	s := Score{metric.String(), none, none, none}
	if m.ratios[i].over > 0 {
		value, all := m.ratios[i].values(metric.Kind == RMSE)
		low, high := interval(all)
		s.Value, s.Low, s.High = factor.Number(value), factor.Number(low), factor.Number(high)
	}
	return s
}

// compare notes the metrics in which a model is not better than a baseline, in the same replicates.
func (e *evaluation) compare(m, b *Model) {
	var worse, even []string
	for i, metric := range e.Metrics {
		if metric.Kind == Coverage || m.ratios[i].over == 0 || b.ratios[i].over == 0 {
			continue
		}
		value, all := m.ratios[i].values(metric.Kind == RMSE)
		than, others := b.ratios[i].values(metric.Kind == RMSE)
		for r := range all { // both have values for the same replicates: those that have users
			all[r] -= others[r]
			if metric.Rating() {
				all[r] *= -1 // less is better
			}
		}
		text := fmt.Sprintf("%v (%.4f against %.4f)", metric, value, than)
		switch low, high := interval(all); {
		case high < 0:
			worse = append(worse, text)
		case low <= 0:
			even = append(even, text)
		}
	}
	if len(worse) > 0 {
		e.note("%s loses to the baseline %s in %s", m.Name, b.Name, strings.Join(worse, ", "))
	}
	if len(even) > 0 {
		e.note("%s is not distinguishable from the baseline %s in %s", m.Name, b.Name, strings.Join(even, ", "))
	}
}

// predicts reports whether a factorisation of a view predicts values, and returns the offset to add to its elements.
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

// rate judges predictions: the offset of an entry and, unless f is nil, qᵀv_j. q is Σ_l (a_il − offset) v_l over the training
// entries or, if u reads left vectors, Σu_i. A model uses the first terms triplets; the models may be in any order.
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

// predict adds the errors of the models for one entry. rest is the entry less its offset.
func (e *evaluation) predict(errors [][2]float64, models []*Model, rest float64, q []float64, v *mat.Dense, col uint32) {
	sum, j := 0.0, 0
	for m, model := range models {
		if v != nil {
			if model.terms < j {
				sum, j = 0, 0
			}
			for row := v.RawRowView(int(col)); j < min(model.terms, len(row)); j++ {
				sum += q[j] * row[j]
			}
		}
		off := rest - sum
		errors[m][0] += off * off
		errors[m][1] += math.Abs(off)
	}
}
