package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// maxIDs bounds the size of a file of ids in bytes.
const maxIDs = 1 << 30

var scorings = []ui.Choice[recommend.Scoring]{{Name: "auto", Value: recommend.Auto}, {Name: "model", Value: recommend.Model}, {Name: "history", Value: recommend.History}}

type recommendFlags struct {
	recommend.Options
	listFile
	engine                  engineOptions
	by                      *remote.Options // nil: without an engine
	store, rows, candidates string
	excludeSeen             bool
}

func (a *app) recommendCommand() *cobra.Command {
	var o recommendFlags
	cmd := &cobra.Command{
		Use:   "recommend OUT --store STORE",
		Short: "The best columns for rows, from a result",
		Long: `recommend finds for each row the columns with the highest scores, exactly; of equal scores
the first columns of the store. It leaves out columns in which the row has an entry,
unless with --exclude-seen=false, and rows that have no entries.

The score of row i and column j is u_iᵀ Σ v_j (model), or hᵀV v_j with the entries h of the
row (history), each 1 where the view begins with binary. auto is history if the view
has the step weight=columns, as recsys does.

With -o FILE it writes row, column, rank, score and titles as FILE.csv, FILE.jsonl or
FILE.parquet;
without, it prints a table.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd ratings.csr -k 50 --view recsys -o ratings.svd
  gdsvd recommend ratings.svd --rows 1,7 -n 10
  gdsvd recommend ratings.svd --store ratings.csr -o recs.csv`,
		Args:              oneArgument("OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case o.store == "" && cmd.Flags().Changed("store"):
				return ui.Usagef(cmd, "the name of the STORE is empty")
			case o.N < 1:
				return ui.Usagef(cmd, "-n %d: at least 1 recommendation is wanted", o.N)
			case o.out == "" && o.rows == "all":
				return ui.Usagef(cmd, "--rows all prints too much: name some rows, or a file to write with -o")
			}
			o.Seen = !o.excludeSeen
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.by, err = o.engine.options(cmd, a.fsys); err != nil {
				return err
			}
			if o.by != nil {
				defer func() { err = errors.Join(err, o.by.Engine.Close()) }()
				if o.rows != "all" {
					return ui.Usagef(cmd, "--engine %s is for --rows all", o.engine.name)
				}
			}
			return a.onNamed(cmd, args[0], &o.Memory, true, true, func(r *named) error { return a.recommend(cmd, r, &o) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.store, "store", "", "the `STORE` that the result is of (without it: the one that the result names)")
	f.StringVar(&o.rows, "rows", "all", "`ROWS` to recommend to: ids with commas between them, a file with one a line, or all")
	f.IntVarP(&o.N, "number", "n", 20, "recommend `N` columns to each row at most")
	f.BoolVar(&o.excludeSeen, "exclude-seen", true, "leave out columns that the row has an entry in")
	f.StringVar(&o.candidates, "candidates", "", "recommend only columns whose ids `FILE` has, one a line")
	ui.ChoiceFlag(f, &o.By, "scores", recommend.Auto, scorings, "formula of the scores")
	o.add(f)
	o.engine.add(cmd)
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

func addBudgetFlags(f *pflag.FlagSet, memory *int64, workers *int) {
	f.IntVar(workers, "workers", 0, "compute with `N` threads (0: all processors); the result does not depend on N")
	memoryFlag(f, memory)
}

func memoryFlag(f *pflag.FlagSet, memory *int64) {
	f.Var(ui.Size(memory, true), "memory", "memory to stay within, such as 512M or 2GiB; auto takes 60 % of what is available")
}

// named is a result with the names of its rows and columns; nil for a side that is neither needed nor there.
type named struct {
	*factor.Result
	rows, cols *factor.Names
}

// onNamed calls do with a result and the names of its sides, within a memory budget, which is set to the default if it is 0. It
// returns an error if the result lacks a side that is needed.
func (a *app) onNamed(cmd *cobra.Command, dir string, memory *int64, rows, cols bool, do func(r *named) error) (err error) {
	defer a.within(memory)()
	r := new(named)
	if r.Result, err = a.openResult(cmd.Context(), dir); err != nil {
		return err
	}
	if rows || r.IDs.Rows != nil {
		if r.rows, err = r.RowNames(cmd.Context()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.rows.Close()) }()
	}
	if cols || r.IDs.Cols != nil {
		if r.cols, err = r.ColNames(cmd.Context()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.cols.Close()) }()
	}
	defer a.display.End()
	return do(r)
}

// idsOf returns the ids of a flag: the lines of a file, if text is the name of one, else the words between commas.
func (a *app) idsOf(flag, text string) ([]string, error) {
	if info, err := a.fsys.Stat(text); err != nil || info.IsDir() {
		return strings.Split(text, ","), nil
	}
	b, err := vfs.ReadFile(a.fsys, text, maxIDs)
	if err != nil {
		return nil, err
	}
	ids := recommend.ParseIDs(b)
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s %s: the file has no ids: give one a line", flag, text)
	}
	return ids, nil
}

// numbersOf returns the numbers of the ids of a flag, nil for all.
func (a *app) numbersOf(names *factor.Names, what, flag, text string) ([]int64, error) {
	if text == "all" {
		return nil, nil
	}
	ids, err := a.idsOf(flag, text)
	if err != nil {
		return nil, err
	}
	whole, missing := names.Index(text)
	list := len(ids) > 1 && strings.Join(ids, ",") == text
	if list { // a title may have a comma
		whole, missing = recommend.Number(names, what, text)
	}
	numbers, err := recommend.Numbers(names, what, ids)
	switch is := missing == nil && whole >= 0; {
	case err != nil && list && is:
		return []int64{whole}, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	case is && (len(ids) != 1 || ids[0] != text):
		return nil, fmt.Errorf("%s %s is the id or title of a %s, and a file or a list of ids: move the file, or write ./%s for it, or the id into a file", flag, text, what, text)
	}
	return numbers, nil
}

// storePath returns the path of the store that a result names; a relative path without a file is tried beside the result.
func (a *app) storePath(r *factor.Result) string {
	beside := filepath.Join(filepath.Dir(r.Dir()), r.Store.Path)
	if _, err := a.fsys.Stat(r.Store.Path); errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(r.Store.Path) {
		if _, err := a.fsys.Stat(beside); err == nil {
			return beside
		}
	}
	return r.Store.Path
}

func (a *app) recommend(cmd *cobra.Command, r *named, o *recommendFlags) (err error) {
	ctx := cmd.Context()
	store, err := a.openStore(cmp.Or(o.store, a.storePath(r.Result)))
	if err != nil && o.store == "" {
		return fmt.Errorf("%w (the store that the result names; --store names where it is now)", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := recommend.Belongs(r.Result, store); err != nil {
		return err
	}
	if o.Rows, err = a.numbersOf(r.rows, "row", "--rows", o.rows); err != nil {
		return err
	}
	if o.candidates != "" {
		numbers, err := a.numbersOf(r.cols, "column", "--candidates", o.candidates)
		if err != nil {
			return err
		}
		for _, n := range numbers {
			o.Candidates = append(o.Candidates, uint32(n))
		}
	}
	a.display.Begin("recommend")
	o.Progress, o.Reserve = a.rows, recommend.WriterBytes
	var s *recommend.Summary
	all := func(take func(row int64, items []recommend.Item) error) error {
		if o.by != nil {
			o.by.FS, o.by.Log = a.fsys, a.display.Logger()
			s, err = recommend.RowsBy(ctx, r.Result, store, o.Options, *o.by, take)
			return err
		}
		f, err := recommend.Predictions(ctx, r.Result)
		if err == nil {
			s, err = recommend.Rows(ctx, f, store, o.Options, take)
		}
		if err == nil && o.out == "" && s.Empty > 0 {
			err = fmt.Errorf("--rows %s: %d of %d rows have no entries, and nothing to recommend from: leave them out", o.rows, s.Empty, len(o.Rows))
		}
		return err
	}
	if o.out != "" {
		err := o.write(a.fsys, recommend.Side{What: "row", Names: r.rows}, recommend.Side{What: "column", Names: r.cols}, all)
		a.display.End()
		return a.print(recommended{o.out, s}, err, func(out *show.Printer) {
			out.Printf("%s: %d recommendations for %d rows%s\n", o.out, s.Items, s.Rows, left(s))
		})
	}
	return a.rankings("row", "column", r.rows, r.cols, all)
}

// listFile is an output file of recommendations, or of similar rows or columns.
type listFile struct {
	out            string // "": tables are printed
	guarded, force bool
}

func (o *listFile) add(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "the `FILE` to write: its name ends in .csv, .jsonl or .parquet")
	f.BoolVar(&o.guarded, "spreadsheet-safe", false, spreadsheetSafe)
	f.BoolVar(&o.force, "force", false, "replace an existing FILE, in one step at the end")
}

func (o *listFile) check(cmd *cobra.Command) error {
	if o.out == "" {
		return nil
	}
	if _, err := recommend.FormatOf(o.out); err != nil {
		return ui.Usagef(cmd, "-o %v", err)
	}
	return nil
}

// write writes the rows that all passes to take. of names these rows, to the recommended items.
func (o *listFile) write(fsys vfs.FS, of, to recommend.Side, all func(take func(row int64, items []recommend.Item) error) error) error {
	return replaceFile(fsys, o.out, o.force, func(w io.Writer) error {
		format, err := recommend.FormatOf(o.out)
		if err != nil {
			return err
		}
		out, err := recommend.NewWriter(w, format, of, to, o.guarded)
		if err != nil {
			return err
		}
		if err := all(out.Row); err != nil {
			return err
		}
		return out.Close()
	})
}

type recommended struct {
	File string `json:"file"` // name of the file
	*recommend.Summary
}

func left(s *recommend.Summary) (text string) {
	if s.Empty > 0 {
		text += fmt.Sprintf("; %d rows have no entries, and none", s.Empty)
	}
	if s.Short > 0 {
		text += fmt.Sprintf("; %d rows have fewer than was asked for", s.Short)
	}
	return text
}

type scored struct {
	factor.Name
	Score float64 `json:"score"` // score; that of the best is the largest
}

// scoredOf returns items with their names. kept caches names up to a number of them, as they recur; nil: no cache.
func scoredOf(names *factor.Names, items []recommend.Item, kept map[uint32]factor.Name) ([]scored, error) {
	const most = 1 << 16
	all := make([]scored, len(items))
	for i, item := range items {
		name, ok := kept[item.Index]
		if !ok {
			var err error
			if name, err = names.At(int64(item.Index)); err != nil {
				return nil, err
			}
			if kept != nil && len(kept) < most {
				kept[item.Index] = name
			}
		}
		all[i] = scored{name, item.Score}
	}
	return all, nil
}

// ranking is a row or column with its best items.
type ranking struct {
	factor.Name
	Best []scored `json:"best"` // the best items, best first
}

// rankings prints a table for each ranking that all passes to take, or one JSON object of all. what and of are the nouns for the
// ranked row or column and for its items.
func (a *app) rankings(what, of string, names, others *factor.Names, all func(take func(row int64, items []recommend.Item) error) error) error {
	kept := map[uint32]factor.Name{}
	each := func(take func(ranking) error) error {
		defer a.display.End()
		return all(func(row int64, items []recommend.Item) error {
			name, err := names.At(row)
			if err != nil {
				return err
			}
			best, err := scoredOf(others, items, kept)
			if err != nil {
				return err
			}
			return take(ranking{name, best})
		})
	}
	if a.json {
		return ui.PrintList(a.stdout, "rankings", each)
	}
	to := bufio.NewWriter(a.stdout)
	out, n := show.NewPrinter(to), 0
	err := each(func(r ranking) error {
		if n++; n > 1 {
			out.Printf("\n")
		}
		printRanking(out, what, of, r)
		return nil
	})
	return cmp.Or(err, out.End(), to.Flush())
}

func printRanking(out *show.Printer, what, of string, r ranking) {
	out.Printf("%s %v\nrank\tscore\t%s\n", what, r.Name, of)
	for j, x := range r.Best {
		out.Printf("%d\t%.6g\t%v\n", j+1, x.Score, x.Name)
	}
}

type allRankings struct {
	Rankings []ranking `json:"rankings"` // a ranking for each row or column that is asked for
}
