package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/stream/view"
)

// View is a view of the store, and its name in the report.
type View struct {
	Name     string
	Pipeline view.Pipeline // empty: the store as it is
}

// Options of Run. Ranks, Metrics, Dir and at least one of Views, Results, Lists and Vectors are required.
type Options struct {
	Views    []View
	Results  []*factor.Result // results of the training store, completions included, judged as they are
	Lists    []List           // lists of other programs, judged by the metrics of lists
	Vectors  []Vectors
	Ranks    []int // numbers of triplets
	Metrics  []Metric
	Dir      string                                 // existing directory for the factorisations, which stay there
	Relevant *float64                               // least value of a relevant entry of the test store; nil: all entries are relevant
	Users    float64                                // share of the users that are folded in; 0: all users are in the training
	Seed     uint64                                 // seed of the choice of users and of the replicates
	Memory   int64                                  // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers  int                                    // 0: all processors
	FS       vfs.FS                                 // nil: the operating system's
	Progress func(what string, done, total float64) // may be nil
}

type Report struct {
	Train   string   `json:"train"`               // store of the training entries
	Test    string   `json:"test"`                // store of the held-out entries
	Rows    int64    `json:"rows"`                // number of rows of the matrix
	Cols    int64    `json:"cols"`                // number of columns of the matrix
	Users   int64    `json:"users"`               // number of users that are evaluated: those with entries in both stores or, if only ratings are evaluated, in the test store
	NoTrain int64    `json:"users_not_train"`     // number of users with relevant entries in the test store but none in the training store, which are left out
	Folded  float64  `json:"folded_in,omitempty"` // share of the users that are left out of the training and folded in afterwards
	Targets float64  `json:"targets,omitempty"`   // share of the entries of folded-in users that are held out as targets; 0 if there is a test store
	Seed    uint64   `json:"seed"`                // seed of the random numbers
	Models  []*Model `json:"models"`              // the models that were compared
	Notes   []string `json:"notes"`               // notes about the comparison
}

// Model is a model with its metrics.
type Model struct {
	Name     string  `json:"model"`              // name of the model
	View     string  `json:"view,omitempty"`     // view of the store
	K        int     `json:"k,omitempty"`        // number of triplets
	Baseline bool    `json:"baseline,omitempty"` // whether the model is a baseline
	Scores   []Score `json:"scores"`             // the metrics and their values

	terms  int     // number of terms of the sum that predicts a value
	ratios []ratio // one for each metric
}

// Score is the value of a metric for a model; NaN if the metric does not apply to the model.
type Score struct {
	Metric string        `json:"metric"` // name of the metric
	Value  factor.Number `json:"value"`  // value of the metric
	Low    factor.Number `json:"low"`    // lower end of the interval that contains 95 % of the bootstrap replicates
	High   factor.Number `json:"high"`   // upper end of the interval that contains 95 % of the bootstrap replicates
}

type evaluation struct {
	Options
	rows, cols    int64
	trainStore    *csr.Store
	train, test   *history.Reader
	users         []int64                          // judged users; nil: all
	history       func(row int64, col uint32) bool // whether an entry is not a target; nil: no entry of the training store is a target
	entries       int64                            // number of entries read at a time
	held          int64                            // bytes that the vectors of another program take
	columns       columns
	lists, rating bool // whether Metrics has metrics of lists, and of ratings
	longest       int
	withRelevant  int64 // users with relevant entries of the test store
	report        *Report
}

const damping = 5

// Run trains a factorisation of the training store for each view, and judges it by the test store, with the number of
// triplets of each rank. If test is nil, the folded-in users are judged by a fifth of their entries.
func Run(ctx context.Context, train, test *csr.Store, o Options) (*Report, error) {
	e := &evaluation{Options: o, trainStore: train}
	e.Memory = cmp.Or(e.Memory, factor.DefaultMemory())
	e.Workers = cmp.Or(e.Workers, runtime.GOMAXPROCS(0))
	e.FS = cmp.Or(e.FS, vfs.OS())
	if e.Progress == nil {
		e.Progress = func(string, float64, float64) {}
	}
	e.rows, e.cols = factor.Dims(train)
	if test == nil {
		test = train
		e.history = func(row int64, col uint32) bool { return !heldOut(e.Seed, row, e.Users) || !target(e.Seed, row, col) }
	}
	if err := e.validate(test); err != nil {
		return nil, err
	}
	if err := e.open(ctx, train, test); err != nil {
		return nil, err
	}
	e.report = &Report{Train: train.Path(), Test: test.Path(), Rows: e.rows, Cols: e.cols, Folded: e.Users, Seed: e.Seed, Notes: []string{}}
	if e.history != nil {
		e.report.Targets = Targets
	}
	if e.Users > 0 {
		for i := range e.rows {
			if heldOut(e.Seed, i, e.Users) {
				e.users = append(e.users, i)
			}
		}
		if len(e.users) == 0 || int64(len(e.users)) == e.rows {
			return nil, fmt.Errorf("a share %g of %d users is %d of them: want some users to train with and some to fold in", e.Users, e.rows, len(e.users))
		}
	}
	if err := e.sumColumns(ctx); err != nil {
		return nil, err
	}
	if e.lists {
		if err := e.countRelevant(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.baselines(ctx); err != nil {
		return nil, err
	}
	for _, v := range e.Views {
		if err := e.view(ctx, v); err != nil {
			return nil, err
		}
	}
	for _, r := range e.Results {
		if err := e.result(ctx, r); err != nil {
			return nil, err
		}
	}
	if err := e.foreign(ctx); err != nil {
		return nil, err
	}
	if e.report.Users == 0 {
		if e.history != nil {
			return nil, fmt.Errorf("%d users are folded in, and none of them has relevant entries both to fold in by and to evaluate on", len(e.users))
		}
		return nil, fmt.Errorf("%s has no relevant entries of users that have entries in %s: nothing can be judged", test.Path(), train.Path())
	}
	e.finish()
	return e.report, nil
}

func (e *evaluation) validate(test *csr.Store) error {
	for _, m := range e.Metrics {
		e.rating = e.rating || m.Rating()
		e.lists = e.lists || !m.Rating()
		e.longest = max(e.longest, m.K)
		if int64(m.K) > e.cols {
			return fmt.Errorf("%v: the matrix has only %d columns", m, e.cols)
		}
	}
	e.entries = e.Memory / 8 / (4 * history.EntryBytes)
	switch {
	case len(e.Metrics) == 0 || len(e.Ranks) == 0:
		return errors.New("evaluate: want at least one metric and one rank")
	case e.Users < 0 || e.Users >= 1 || math.IsNaN(e.Users):
		return fmt.Errorf("a share %g of the users: want one between 0 and 1", e.Users)
	case e.history != nil && e.Users == 0:
		return errors.New("evaluate: want a test store, or a share of the users to fold in")
	case e.cols > history.MaxColumns:
		return fmt.Errorf("%s has %d columns: models are judged on %d at most", e.trainStore.Path(), e.cols, int64(history.MaxColumns))
	}
	for _, r := range e.Results {
		if e.Users > 0 {
			return fmt.Errorf("%s has been trained with all users: results are judged without users to fold in", r.Dir())
		}
		if err := recommend.Belongs(r, e.trainStore); err != nil {
			return err
		}
	}
	if e.Users > 0 && len(e.Vectors) > 0 {
		return fmt.Errorf("%s is of all users: vectors are judged without users to fold in", e.Vectors[0].Name)
	}
	for _, l := range e.Lists {
		switch rows, _ := csr.Orient(l.Store, true, false); {
		case e.Users > 0:
			return fmt.Errorf("%s is of all users: lists are judged without users to fold in", l.Name)
		case !e.lists:
			return fmt.Errorf("%s: a list has no rmse and no mae, which are of predicted values: take metrics of lists, such as ndcg@%d", l.Name, DefaultK)
		case !rows:
			return fmt.Errorf("evaluate: the store of %s is transposed", l.Name)
		}
	}
	for _, k := range e.Ranks {
		if len(e.Views) == 0 {
			break // ranks are for views
		}
		if k < 1 || int64(k) > min(e.rows, e.cols) {
			return fmt.Errorf("%d triplets: a %d × %d matrix has 1 to %d", k, e.rows, e.cols, min(e.rows, e.cols))
		}
	}
	for _, v := range e.Views {
		if _, err := view.Parse(strings.TrimSuffix(keepTrained+" · "+v.Pipeline.String(), " · ")); e.Users > 0 && err != nil {
			return fmt.Errorf("users cannot be folded in with the view %s: %w", v.Name, err)
		}
	}
	return fits(e.trainStore, test)
}

// keepTrained is the step that takes the folded-in users out of the matrix.
const keepTrained = "keep=rows,trained"

func (e *evaluation) model(m *Model) *Model {
	m.terms = cmp.Or(m.terms, m.K)
	m.ratios = make([]ratio, len(e.Metrics))
	e.report.Models = append(e.report.Models, m)
	return m
}

// baselines judges the models that are not factorisations.
func (e *evaluation) baselines(ctx context.Context) error {
	if e.lists {
		popularity := e.model(&Model{Name: "popularity", Baseline: true})
		if err := e.list(ctx, popularity, &recommend.Factorisation{
			Rows: e.rows, Cols: e.cols, Sigma: []float64{1},
			U: vectorOf(func(int64) float64 { return 1 }), V: vectorOf(func(j int64) float64 { return e.columns.counts[j] }),
		}, recommend.Model); err != nil {
			return err
		}
	}
	if !e.rating {
		return nil
	}
	mean := e.model(&Model{Name: "mean", Baseline: true})
	biases := e.model(&Model{Name: fmt.Sprintf("biases, damping %d", damping), Baseline: true})
	if err := e.rate(ctx, offset{columns: &e.columns}, nil, nil, []*Model{mean}); err != nil {
		return err
	}
	return e.rate(ctx, offset{&e.columns, true, true, damping}, nil, nil, []*Model{biases})
}

func (e *evaluation) view(ctx context.Context, v View) error {
	most := slices.Max(e.Ranks)
	dir := filepath.Join(e.Dir, fmt.Sprintf("%d.svd", len(e.report.Models)))
	p := v.Pipeline
	if e.Users > 0 {
		kept, err := e.kept()
		if err != nil {
			return err
		}
		p = append(kept, p...)
	}
	e.Progress("training "+v.Name, 0, 0)
	r, err := factor.Run(ctx, e.trainStore, factor.Options{Rank: most, Dir: dir, View: p, Memory: e.Memory, Workers: e.Workers, FS: e.FS, Seed: e.Seed, CheckpointEvery: -1, Replace: true})
	if ctx.Err() != nil {
		return ctx.Err() // there is no checkpoint to resume from
	}
	if err != nil {
		return fmt.Errorf("training %s: %w", v.Name, err)
	}
	f, err := recommend.Of(r)
	if err != nil {
		return err
	}
	if p, err = r.Pipeline(ctx); err != nil {
		return err
	}
	f.View = v.Pipeline
	by := recommend.Auto
	switch {
	case len(v.Pipeline) == 0:
		by = recommend.History // the same scores, for folded-in users, too
	case e.Users > 0 && !v.Pipeline.WeightsColumns():
		by = recommend.History
		if f.Fold, err = r.Fit(ctx, p, false); err != nil {
			return err
		}
		if len(f.Fold.Q()) > 0 {
			return fmt.Errorf("users cannot be folded in with the view %s, which makes zeros other numbers: take one without such a step", v.Name)
		}
	}
	var models []*Model
	for _, k := range e.Ranks {
		m := e.model(&Model{Name: fmt.Sprintf("%s, k = %d", v.Name, k), View: v.Pipeline.String(), K: k})
		models = append(models, m)
		some := *f
		some.Sigma = f.Sigma[:min(k, len(f.Sigma))]
		if err := e.list(ctx, m, &some, by); err != nil {
			return err
		}
	}
	return e.ratings(ctx, v, f, models)
}

// result judges an existing result with all its triplets.
func (e *evaluation) result(ctx context.Context, r *factor.Result) error {
	f, err := recommend.Predictions(ctx, r)
	if err != nil {
		return err
	}
	v := View{Name: r.Dir()}
	if v.Pipeline, err = r.Pipeline(ctx); err != nil {
		return err
	}
	m := e.model(&Model{Name: fmt.Sprintf("%s, k = %d", v.Name, r.K), View: v.Pipeline.String(), K: r.K, terms: len(f.Sigma)})
	if err := e.list(ctx, m, f, recommend.Auto); err != nil {
		return err
	}
	if r.Completion == nil || !e.rating {
		return e.ratings(ctx, v, f, []*Model{m})
	}
	return e.rate(ctx, offset{columns: e.columns.plain()}, f, f.U, []*Model{m})
}

// ratings judges the predictions of a factorisation of a view, if the view allows predictions.
func (e *evaluation) ratings(ctx context.Context, v View, f *recommend.Factorisation, models []*Model) error {
	if o, ok := e.predicts(v.Pipeline); ok && e.rating {
		if err := e.rate(ctx, o, f, nil, models); err != nil {
			return err
		}
		if len(v.Pipeline) == 0 {
			e.note("%s takes missing entries for zeros: it is a factorisation of the zero-filled matrix and does not predict ratings; --views 'bias=both' factorises the residuals of a bias model", v.Name)
		}
	}
	return nil
}

func (e *evaluation) note(format string, args ...any) {
	e.report.Notes = append(e.report.Notes, fmt.Sprintf(format, args...))
}

// kept returns the step keepTrained with the users that it keeps.
func (e *evaluation) kept() (view.Pipeline, error) {
	p, err := view.Parse(keepTrained)
	if err != nil {
		return nil, err
	}
	return p.Resolve(func(int, string) (*view.Mask, error) {
		kept := slices.Repeat([]bool{true}, int(e.rows))
		for _, i := range e.users {
			kept[i] = false
		}
		return view.NewMask(kept), nil
	})
}
