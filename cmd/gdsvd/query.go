package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
)

func (a *app) queryCommand() *cobra.Command {
	var o recommend.SimilarOptions
	cmd := &cobra.Command{
		Use:   "query OUT WORDS...",
		Short: "The rows that are most like some words",
		Long: `query takes words, which are ids of columns, for a row that the matrix does not have, each word
as often as it is given, and finds the rows that are most like it: latent semantic indexing, where
rows are documents. The row is made what the view of the result makes of it, with what that has measured
of the matrix (idf, means), and projected: x = bᵀV. The score of row i is cos(x, Σu_i).

Words are given as one argument, or several; an argument that is an id with blanks is that
id. Words that are no ids are left out, with a warning.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd documents.csr -k 200 --view lsi -o documents.svd
  gdsvd query documents.svd "human computer interaction"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return ui.Usagef(cmd, "want a result OUT and at least one word")
			}
			for _, words := range args[1:] {
				if strings.TrimSpace(words) == "" {
					return ui.Usagef(cmd, "%q has no word in it: want ids of columns", words)
				}
			}
			return nil
		},
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.N < 1 {
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", o.N)
			}
			return a.onNamed(cmd, args[0], &o.Memory, func(r *named) error { return a.query(cmd, r, args[1:], o) })
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.N, "number", "n", 10, "find `N` rows at most")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

// wordsOf finds the columns that words name, each as often as it is there, and the words that name none.
func wordsOf(names *factor.Names, args []string) (cols []int64, unknown []string, err error) {
	find := func(word string) (bool, error) {
		i, err := names.Index(word)
		if i >= 0 {
			cols = append(cols, i)
		}
		return i >= 0, err
	}
	for _, arg := range args {
		found, err := find(arg)
		if err != nil {
			return nil, nil, err
		}
		if found {
			continue
		}
		for _, word := range strings.Fields(arg) {
			if found, err = find(word); err != nil {
				return nil, nil, err
			} else if !found {
				unknown = append(unknown, word)
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
		return fmt.Errorf("none of the words %q is the id of a column of %s: give ids as the file that was ingested has them", text, r.Dir())
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
