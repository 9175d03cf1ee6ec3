package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/parquet"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream/view"
)

type evalFlags struct {
	evaluate.Options
	train, test, metrics, folds string
	views, results, lists       []string
	vectors                     []string
	ranks                       []int
	relevant                    float64
}

func (a *app) evalCommand() *cobra.Command {
	var o evalFlags
	cmd := &cobra.Command{
		Use:   "eval --train STORE --test STORE.test",
		Short: "Judge views and ranks by entries that were held out",
		Long: `eval factorises the training store through each view, and evaluates lists and predictions
for each number of triplets -k on the entries of the test store, which ingest --holdout
has written beside it. Baselines are popularity and, for ratings, the mean and damped
biases. Intervals contain 95 % of 400 bootstrap replicates over users.

recall@K is hits/min(K, T) of a user with T relevant columns, ndcg@K is over that of the best
list; both of them as in Liang et al. 2018. The package factor/evaluate has all formulas.

With --folds users:0.1 a tenth of the users is left out of the factorised matrix, folded
in by their entries of the training store, and evaluated alone. Without a test store,
neither --test nor one beside the training store, they are folded in by four fifths of
their entries and evaluated on the others.

--lists evaluates recommendations of any program by the metrics of lists: files as recommend writes them, or of
any format of ingest with named columns: row and column (or user and item), ids as in the training store, and
rank or, without it, score. The users are those of the models: a user missing from the file has an empty list.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd ingest ratings.dat -o ratings.csr --holdout random:0.2
  gdsvd eval --train ratings.csr --test ratings.csr.test --views recsys,none -k 10,50
  gdsvd eval --train ratings.csr --test ratings.csr.test --views bias=both --metrics rmse,mae
  gdsvd eval --train all.csr --folds users:0.1
  gdsvd eval --train ratings.csr --results ratings.complete,ratings.svd --metrics rmse,ndcg@20
  gdsvd eval --train ratings.csr --lists recs.csv --metrics ndcg@20`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.checkEval(cmd, &o); err != nil {
				return err
			}
			return a.eval(cmd, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.train, "train", "", "the `STORE` to train with (without it: the one that the first of --results names)")
	f.StringVar(&o.test, "test", "", "the `STORE` of what was held out (default that of --train with "+ingest.TestSuffix+")")
	f.StringArrayVar(&o.views, "views", []string{"recsys"}, "`VIEWS` to compare, with commas between them; none is the store as it is")
	completeView(cmd, "views", "|,")
	f.StringSliceVar(&o.results, "results", nil, "`OUT,…` to judge, of svd or complete and of the training store, instead of views or with those that are named")
	f.StringSliceVar(&o.lists, "lists", nil, "`FILE,…` of recommendations to judge, instead of views or with those that are named")
	f.StringSliceVar(&o.vectors, "vectors", nil, "`ROWS.npy,COLS.npy` of another program to evaluate by inner products; ROWS.ids and COLS.ids have the ids of their vectors, one a line. Or ROWS.parquet,COLS.parquet with a column id")
	f.IntSliceVarP(&o.ranks, "rank", "k", []int{10, 50, 100}, "numbers of triplets to compare: `K,…`")
	f.StringVar(&o.metrics, "metrics", "recall@20,precision@10,ndcg@20,map@10,coverage", "`METRICS` to compute: recall, precision, ndcg and map with @K, coverage, rmse, mae")
	f.Float64Var(&o.relevant, "relevant", 0, "only entries of the test store of value `T` or more are relevant; without it all are")
	f.StringVar(&o.folds, "folds", "", "judge users who are no part of the training: `users:SHARE`")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the users that are held out, and of the bootstrap")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

func (a *app) checkEval(cmd *cobra.Command, o *evalFlags) (err error) {
	for _, dir := range o.results {
		r, err := a.openResult(cmd.Context(), dir)
		if err != nil {
			return err
		}
		o.Results = append(o.Results, r)
		o.train = cmp.Or(o.train, a.storePath(r))
	}
	switch {
	case o.train == "":
		return ui.Usagef(cmd, "no STORE to train with: give one with --train")
	case len(o.vectors) > 0 && len(o.vectors) != 2:
		return ui.Usagef(cmd, "--vectors: want ROWS.npy,COLS.npy")
	case cmd.Flags().Changed("relevant"):
		if math.IsNaN(o.relevant) || math.IsInf(o.relevant, 0) {
			return ui.Usagef(cmd, "--relevant %g: want a number", o.relevant)
		}
		o.Relevant = &o.relevant
	}
	o.test = cmp.Or(o.test, strings.TrimSuffix(o.train, "/")+ingest.TestSuffix)
	if o.Metrics, err = evaluate.ParseMetrics(o.metrics); err != nil {
		return ui.Usagef(cmd, "--metrics: %v", err)
	}
	if share, ok := strings.CutPrefix(o.folds, "users:"); o.folds != "" {
		if o.Users, err = strconv.ParseFloat(share, 64); !ok || err != nil || !(o.Users > 0 && o.Users < 1) {
			return ui.Usagef(cmd, "--folds %q: want users:SHARE with a share between 0 and 1, such as users:0.1", o.folds)
		}
	}
	if len(o.results)+len(o.lists)+len(o.vectors) > 0 && !cmd.Flags().Changed("views") {
		o.views = nil
	}
	for _, text := range o.views {
		for _, name := range viewsOf(text) {
			v := evaluate.View{Name: name}
			if name != "none" {
				if v.Pipeline, err = a.readView(cmd, name); err != nil {
					return err
				}
			}
			o.Views = append(o.Views, v)
		}
	}
	for _, k := range o.ranks {
		if k < 1 {
			return ui.Usagef(cmd, "-k %d: at least 1 triplet is wanted", k)
		}
		if !slices.Contains(o.Ranks, k) {
			o.Ranks = append(o.Ranks, k)
		}
	}
	slices.Sort(o.Ranks)
	return nil
}

// viewsOf splits views at commas. A comma inside a view, as in bm25=50,0.5, is recognised by the text up to the next comma
// being a view as well.
func viewsOf(text string) (views []string) {
	pieces := strings.Split(text, ",")
	for i := 0; i < len(pieces); {
		n := 1
		for m := len(pieces) - i; m > 1; m-- {
			if _, err := view.Parse(strings.Join(pieces[i:i+m], ",")); err == nil {
				n = m
				break
			}
		}
		views = append(views, strings.Join(pieces[i:i+n], ","))
		i += n
	}
	return views
}

func (a *app) eval(cmd *cobra.Command, o *evalFlags) (err error) {
	defer a.within(&o.Memory)()
	train, err := a.openStore(o.train)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, train.Close()) }()
	var test *csr.Store // nil: users are folded in, and judged by some of their entries
	if there, e := a.hasTest(cmd, o); e != nil {
		return e
	} else if there {
		if test, err = a.openStore(o.test); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, test.Close()) }()
	}
	if o.Dir, err = os.MkdirTemp("", "gdsvd-eval-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	if len(o.vectors) > 0 {
		v := evaluate.Vectors{Name: strings.Join(o.vectors, ",")}
		for i, to := range []**csr.Store{&v.Rows, &v.Cols} {
			if *to, err = a.openVectors(cmd, o.vectors[i], [...]string{"rows", "columns"}[i], o); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, (*to).Close()) }()
		}
		o.Vectors = append(o.Vectors, v)
	}
	for _, name := range o.lists {
		l, err := a.openList(cmd, name, o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Store.Close()) }()
		o.Lists = append(o.Lists, l)
	}
	o.FS = a.fsys
	a.display.Begin("eval")
	o.Progress = func(what string, done, total float64) {
		a.display.Update(ui.State{Done: int64(done), Total: int64(total), Text: what})
	}
	r, err := evaluate.Run(cmd.Context(), train, test, o.Options)
	a.display.End()
	return a.print(r, err, func(out *show.Printer) { printEvaluated(out, r, o.Metrics) })
}

// hasTest reports whether there is a test store. It is an error if there is none and no users are folded in.
func (a *app) hasTest(cmd *cobra.Command, o *evalFlags) (bool, error) {
	if cmd.Flags().Changed("test") {
		return true, nil
	}
	_, err := a.fsys.Stat(o.test)
	if !errors.Is(err, fs.ErrNotExist) {
		return true, err
	}
	if o.Users == 0 {
		return false, ui.Usagef(cmd, "there is no %s: give the store of held-out entries with --test, make one with ingest --holdout, or evaluate users on some of their own entries with --folds users:0.1", o.test)
	}
	return false, nil
}

func printEvaluated(out *show.Printer, r *evaluate.Report, metrics []evaluate.Metric) {
	out.Printf("model")
	for _, m := range metrics {
		out.Printf("\t%v", m)
	}
	out.Printf("\n")
	for _, m := range r.Models {
		out.Printf("%s", m.Name)
		for _, s := range m.Scores {
			switch v := float64(s.Value); {
			case math.IsNaN(v):
				out.Printf("\t–")
			case math.IsNaN(float64(s.Low)):
				out.Printf("\t%.3f", v)
			default:
				out.Printf("\t%.3f ±%.3f", v, float64(s.High-s.Low)/2)
			}
		}
		out.Printf("\n")
	}
	by := r.Test
	if r.Targets > 0 {
		by = fmt.Sprintf("%.3g %% of their entries of %s", 100*r.Targets, r.Train)
	}
	out.Printf("\n%d users of %d, judged by %s; ± is half of the interval with 95 %% of the replicates\n", r.Users, r.Rows, by)
	if r.Folded > 0 {
		out.Printf("these users, %.3g %% of all, are left out of the training and folded in\n", 100*r.Folded)
	}
	if r.NoTrain > 0 && r.Targets > 0 {
		out.Printf("%d users have no entries left to fold in by, and are left out\n", r.NoTrain)
	} else if r.NoTrain > 0 {
		out.Printf("%d users have entries in the test store only, and are left out\n", r.NoTrain)
	}
	for _, note := range r.Notes {
		out.Printf("%s\n", note)
	}
}

// openList converts a file of recommendations to a temporary store.
func (a *app) openList(cmd *cobra.Command, name string, o *evalFlags) (l evaluate.List, err error) {
	l.Name = name
	options := ingest.Options{Memory: o.Memory, Workers: o.Workers, Orient: ingest.OrientRows, CheckpointEvery: -1, FS: a.fsys, Transport: a.net}
	counted := options
	counted.Events = true // so that no column has to hold values
	var ambiguity *format.AmbiguityError
	d, err := ingest.Sniff(cmd.Context(), []string{name}, counted)
	if err != nil && !errors.As(err, &ambiguity) {
		return l, err
	}
	options.Columns = make([]string, 3) // row, column, value
	if ambiguity == nil {
		for _, c := range d.Inputs[0].Columns {
			lower := strings.ToLower(c.Name)
			switch {
			case c.Role == "row":
				options.Columns[0] = c.Name
			case c.Role == "column":
				options.Columns[1] = c.Name
			case lower == "rank" || lower == "score" && !l.Ranked:
				options.Columns[2], l.Ranked = c.Name, lower == "rank"
			}
		}
	}
	if slices.Contains(options.Columns, "") {
		return l, fmt.Errorf("%s: want columns that are named row, column, and rank or score, as gdsvd recommend -o writes them", name)
	}
	path := filepath.Join(o.Dir, fmt.Sprintf("list-%d.csr", len(o.Lists)))
	_, err = a.ingest(cmd, []string{name}, path, options)
	if errors.Is(err, ingest.ErrDuplicates) {
		text, _, _ := strings.Cut(err.Error(), "; ")
		return l, fmt.Errorf("%s: want each column once for a row", text)
	}
	if err != nil {
		return l, err
	}
	l.Store, err = a.openStore(path)
	return l, err
}

// openVectors converts an array of vectors and the file of their ids, or a table of both, to a temporary store.
func (a *app) openVectors(cmd *cobra.Command, name, what string, o *evalFlags) (*csr.Store, error) {
	base, ok := strings.CutSuffix(name, ".npy")
	if table := strings.HasSuffix(name, ".parquet"); table {
		base = filepath.Join(o.Dir, "vectors-"+what)
		if err := a.tableVectors(name, base); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, ui.Usagef(cmd, "--vectors: %s ends neither in .npy nor in .parquet: gdsvd export writes such files", name)
	}
	path := filepath.Join(o.Dir, what+".csr")
	options := ingest.Options{Format: "npy", RowIDs: base + ".ids", Memory: o.Memory, Workers: o.Workers, Orient: ingest.OrientRows, CheckpointEvery: -1}
	if _, err := a.ingest(cmd, []string{base + ".npy"}, path, options); err != nil {
		return nil, err
	}
	return a.openStore(path)
}

// tableVectors writes the vectors of a Parquet file, and their ids, to base.npy and base.ids.
func (a *app) tableVectors(name, base string) (err error) {
	f, err := a.fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var array *npy.Array
	n := int64(0)
	err = replaceFile(a.fsys, base+".ids", true, func(w io.Writer) error {
		ids := bufio.NewWriter(w)
		err := parquet.Vectors(&format.Input{Name: name, At: f, Size: info.Size()}, func(rows int64, k int) (err error) {
			array, err = npy.Create(a.fsys, base+".npy", rows, int64(k))
			return err
		}, func(id string, x []float64) error {
			if strings.ContainsAny(id, "\r\n") {
				return fmt.Errorf("%s: row %d: the id %q has an end of line in it", name, n+1, id)
			}
			fmt.Fprintln(ids, id) // Flush returns the error
			n++
			return array.WriteRows(n-1, mat.NewDense(1, len(x), x))
		})
		return cmp.Or(err, ids.Flush())
	})
	if array == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, array.Discard())
	}
	_, err = array.Finish()
	return err
}
