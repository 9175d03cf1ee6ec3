package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
)

func (a *app) similarCommand() *cobra.Command {
	var (
		o        recommend.SimilarOptions
		to       listFile
		row, col string
	)
	cmd := &cobra.Command{
		Use:   "similar OUT --col ID|--row ID",
		Short: "The columns or rows that are most like one",
		Long: `similar finds the columns (or rows) nearest to a given one by the cosine of their vectors
scaled by the singular values:
cos(i, j) = (Σv_i)ᵀ(Σv_j)/(‖Σv_i‖·‖Σv_j‖), which is the cosine of columns i and j of the
approximation UΣVᵀ. With all it prints those of each column (row).

With -o FILE it writes column (or row), similar, rank, score and titles as FILE.csv,
FILE.jsonl or FILE.parquet.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd similar ratings.svd --col 318 -n 5
  gdsvd similar ratings.svd --row 1,7
  gdsvd similar films.svd --col "Toy Story (1995)"
  gdsvd similar ratings.svd --col all -o neighbours.parquet`,
		Args:              oneArgument("OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (row == "") == (col == ""):
				return ui.Usagef(cmd, "similar to what? give one of --col and --row")
			case o.N < 1:
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", o.N)
			}
			if err := to.check(cmd); err != nil {
				return err
			}
			return a.onNamed(cmd, args[0], &o.Memory, row != "", col != "", func(r *named) error { return a.similar(cmd, r, o, to, row, col) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&col, "col", "", "find columns like the one with this `ID` or title: some with commas between them, a file with one a line, or all")
	f.StringVar(&row, "row", "", "find rows like the one with this `ID`, likewise")
	f.IntVarP(&o.N, "number", "n", 10, "find `N` at most")
	to.add(f)
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

func (a *app) similar(cmd *cobra.Command, r *named, o recommend.SimilarOptions, to listFile, row, col string) error {
	f, err := recommend.Of(r.Result)
	if err != nil {
		return err
	}
	names, vectors, what, text := r.cols, f.Columns(), "column", col
	if row != "" {
		names, vectors, what, text = r.rows, f.Lines(), "row", row
	}
	if o.Of, err = a.numbersOf(names, what, "--"+what[:3], text); err != nil {
		return err
	}
	a.display.Begin("similar")
	o.Progress = a.rows
	if to.out != "" || o.Of == nil {
		o.Reserve = recommend.WriterBytes
	}
	var s similarFound
	all := func(take func(int64, []recommend.Item) error) error {
		return recommend.Similar(cmd.Context(), vectors, o, func(i int64, zero bool, items []recommend.Item) error {
			if !zero {
				s.Of++
				s.Items += int64(len(items))
			}
			if !zero || o.Of == nil {
				return take(i, items)
			}
			name, err := names.At(i)
			return cmp.Or(err, fmt.Errorf("%s %v has no entries, or its vector is 0 within the residuals: it has no neighbours", what, name))
		})
	}
	if to.out == "" {
		return a.rankings(what, what, names, names, all)
	}
	err = to.write(a.fsys, recommend.Side{What: what, Names: names}, recommend.Side{What: "similar", Names: names}, all)
	a.display.End()
	s.File = to.out
	return a.print(s, err, func(out *show.Printer) { out.Printf("%s: %d neighbours of %d %ss\n", s.File, s.Items, s.Of, what) })
}

type similarFound struct {
	File  string `json:"file"`  // name of the file
	Of    int64  `json:"of"`    // number of rows or columns for which similar ones are listed
	Items int64  `json:"items"` // number of similar rows or columns in total
}

func (a *app) topicsCommand() *cobra.Command {
	var (
		n      int
		memory int64
	)
	cmd := &cobra.Command{
		Use:   "topics OUT",
		Short: "The strongest rows and columns of each component",
		Long: `topics prints for each singular triplet the rows and columns with the largest and the
smallest entries of its vectors. Rows and columns of the same sign belong together;
exchanging the two signs of a component changes nothing.` + "\n" + ui.ExitHelp,
		Example:           `  gdsvd topics ratings.svd -n 10`,
		Args:              oneArgument("OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", n)
			}
			return a.onNamed(cmd, args[0], &memory, false, true, func(r *named) error {
				all, err := a.topics(cmd.Context(), r, n, memory)
				return a.print(allTopics{all}, err, func(out *show.Printer) {
					for _, t := range all {
						printTopic(out, t)
					}
				})
			})
		},
	}
	f := cmd.Flags()
	f.IntVarP(&n, "number", "n", 10, "print `N` of each sign at most")
	memoryFlag(f, &memory)
	return cmd
}

type sideTopic struct {
	Positive []scored `json:"positive"` // rows or columns with the largest elements in the singular vector
	Negative []scored `json:"negative"` // rows or columns with the smallest elements in the singular vector
}

type allTopics struct {
	Topics []topic `json:"topics"` // the topics, one for each component
}

type topic struct {
	Component int           `json:"component"`         // number of the component, counted from 1
	Sigma     factor.Number `json:"sigma"`             // singular value of the component
	Rows      *sideTopic    `json:"rows,omitempty"`    // the strongest rows
	Columns   *sideTopic    `json:"columns,omitempty"` // the strongest columns
}

func (a *app) topics(ctx context.Context, r *named, n int, memory int64) ([]topic, error) {
	f, err := recommend.Of(r.Result)
	if err != nil {
		return nil, err
	}
	all := make([]topic, len(f.Sigma))
	a.display.Begin("topics")
	defer a.display.End()
	for side, x := range []struct {
		names   *factor.Names
		vectors recommend.Vectors
	}{{r.cols, f.Columns()}, {r.rows, f.Lines()}} {
		if x.names == nil {
			continue // the result has no vectors of the rows
		}
		found, err := recommend.Topics(ctx, x.vectors, int(min(int64(n), x.vectors.N)), memory, a.rows)
		if err != nil {
			return nil, err
		}
		for j, t := range found {
			positive, err := scoredOf(x.names, t.Positive, nil)
			negative, bad := scoredOf(x.names, t.Negative, nil)
			if err = cmp.Or(err, bad); err != nil {
				return nil, err
			}
			all[j].Component, all[j].Sigma = j+1, factor.Number(f.Sigma[j])
			*[]**sideTopic{&all[j].Columns, &all[j].Rows}[side] = &sideTopic{positive, negative}
		}
	}
	return all, nil
}

// printTopic prints a table of the columns and one of the rows, with positive and negative elements side by side.
func printTopic(out *show.Printer, t topic) {
	out.Printf("component %d, σ = %.6g\n", t.Component, t.Sigma)
	cell := func(all []scored, i int) (score string, name any) {
		if i >= len(all) {
			return "", ""
		}
		return fmt.Sprintf("%.4f", all[i].Score), all[i].Name
	}
	for _, side := range []struct {
		what string
		of   *sideTopic
	}{{"column", t.Columns}, {"row", t.Rows}} {
		if side.of == nil {
			continue
		}
		out.Printf("+\t%[1]s\t−\t%[1]s\n", side.what)
		for i := range max(len(side.of.Positive), len(side.of.Negative)) {
			plus, name := cell(side.of.Positive, i)
			minus, other := cell(side.of.Negative, i)
			out.Printf("%s\t%v\t%s\t%v\n", plus, name, minus, other)
		}
	}
	out.Printf("\n")
}

func (a *app) queryCommand() *cobra.Command {
	var o recommend.SimilarOptions
	cmd := &cobra.Command{
		Use:   "query OUT WORDS...",
		Short: "The rows that are most like some words",
		Long: `query treats words, which are ids of columns, as a new row b, counts each word, and finds
the most similar rows: latent semantic indexing, where rows are documents. The steps of
the view of the result are applied to b, with the statistics of the factorised matrix
(idf, means), and b is projected: x = bᵀV. The score of row i is cos(x, Σu_i).

Words are given as one argument, or several; an argument that is an id with blanks, or a title, is
one word. Words that are no ids are left out, with a warning.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd documents.csr -k 200 --view lsi -o documents.svd
  gdsvd query documents.svd "human computer interaction"`,
		Args: func(cmd *cobra.Command, args []string) error {
			for _, words := range args[min(1, len(args)):] {
				if strings.TrimSpace(words) == "" {
					return ui.Usagef(cmd, "%q has no word in it: want ids of columns", words)
				}
			}
			return atLeast(2, "want a result OUT and at least one word")(cmd, args)
		},
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.N < 1 {
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", o.N)
			}
			return a.onNamed(cmd, args[0], &o.Memory, true, true, func(r *named) error { return a.query(cmd, r, args[1:], o) })
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.N, "number", "n", 10, "find `N` rows at most")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

// wordsOf returns the columns that words name, repeated as often as the words, and the words that name no column.
func wordsOf(names *factor.Names, args []string) (cols []int64, unknown []string, err error) {
	for _, arg := range args {
		words := strings.Fields(arg)
		if i, err := recommend.Number(names, "column", arg); i >= 0 || err != nil {
			words = []string{arg}
		}
		for _, word := range words {
			switch i, err := recommend.Number(names, "column", word); {
			case err != nil:
				return nil, nil, err
			case i < 0:
				unknown = append(unknown, word)
			default:
				cols = append(cols, i)
			}
		}
	}
	return cols, unknown, nil
}

func (a *app) query(cmd *cobra.Command, r *named, words []string, o recommend.SimilarOptions) error {
	cols, unknown, err := wordsOf(r.cols, words)
	if err != nil {
		return err
	}
	text := strings.Join(words, " ")
	if len(cols) == 0 {
		return fmt.Errorf("none of the words %q is the id of a column of %s: give ids of the ingested file", text, r.Dir())
	}
	a.display.Begin("query")
	if len(unknown) > 0 {
		a.display.Logger().Warn("words that are no ids of columns are left out", "words", strings.Join(unknown, " "))
	}
	items, err := recommend.Find(cmd.Context(), r.Result, recommend.QueryOf(cols), o)
	if err != nil {
		return err
	}
	best, err := scoredOf(r.rows, items, nil)
	a.display.End()
	found := ranking{factor.Name{ID: text}, best}
	return a.print(allRankings{[]ranking{found}}, err, func(out *show.Printer) { printRanking(out, "query", "row", found) })
}
