package main

import (
	"errors"
	"fmt"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
)

func (a *app) similarCommand() *cobra.Command {
	var (
		o        recommend.SimilarOptions
		row, col string
	)
	cmd := &cobra.Command{
		Use:   "similar OUT --col ID|--row ID",
		Short: "The columns or rows that are most like one",
		Long: `similar finds the columns (or rows) whose vectors have the smallest angles with that of
one, in the space that is scaled by the singular values:
cos(i, j) = (Σv_i)ᵀ(Σv_j)/(‖Σv_i‖·‖Σv_j‖), which is the cosine of columns i and j of the
approximation UΣVᵀ. With all it prints those of each column (row).` + "\n" + ui.ExitHelp,
		Example: `  gdsvd similar ratings.svd --col 318 -n 5
  gdsvd similar ratings.svd --row 1,7
  gdsvd similar films.svd --col "Toy Story (1995)"
  gdsvd similar ratings.svd --col all`,
		Args:              oneArgument("OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case (row == "") == (col == ""):
				return ui.Usagef(cmd, "similar to what? give one of --col and --row")
			case o.N < 1:
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", o.N)
			}
			return a.similar(cmd, args[0], o, row, col)
		},
	}
	f := cmd.Flags()
	f.StringVar(&col, "col", "", "find columns like the one with this `ID` or title: some with commas between them, a file with one a line, or all")
	f.StringVar(&row, "row", "", "find rows like the one with this `ID`, likewise")
	f.IntVarP(&o.N, "number", "n", 10, "find `N` at most")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

func (a *app) similar(cmd *cobra.Command, dir string, o recommend.SimilarOptions, row, col string) (err error) {
	o.Memory = a.budget(o.Memory)
	defer heap.Limit(heap.Unplanned(o.Memory))()
	r, err := a.openNamed(cmd.Context(), dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
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
	defer a.display.End()
	o.Progress = a.rows
	out := a.rankings(what, what)
	err = recommend.Similar(cmd.Context(), vectors, o, func(i int64, zero bool, items []recommend.Item) error {
		name, err := names.At(i)
		if err != nil {
			return err
		}
		if zero && o.Of != nil {
			return fmt.Errorf("%s %v has no entries, or none that the components know of: it is like no other", what, name)
		}
		best, err := scoredOf(names, items)
		return errors.Join(err, out.add(ranking{name, best}))
	})
	if err != nil {
		return err
	}
	return out.end()
}

func (a *app) topicsCommand() *cobra.Command {
	var (
		n      int
		memory int64
	)
	cmd := &cobra.Command{
		Use:   "topics OUT",
		Short: "The strongest rows and columns of each component",
		Long: `topics prints for each singular triplet the rows and columns with the largest numbers in
its vectors, and those with the smallest. Signs belong together: rows and columns of the same sign
go with one another, and the two signs of a component may be exchanged.` + "\n" + ui.ExitHelp,
		Example:           `  gdsvd topics ratings.svd -n 10`,
		Args:              oneArgument("OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return ui.Usagef(cmd, "-n %d: at least 1 is wanted", n)
			}
			return a.topics(cmd, args[0], n, memory)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&n, "number", "n", 10, "print `N` of each sign at most")
	f.Var(ui.Size(&memory, true), "memory", "memory to stay within, such as 512M or 2GiB; auto takes 60 % of what is available")
	return cmd
}

// sideTopic is what is strongest of one side in a component.
type sideTopic struct {
	Positive []scored `json:"positive"`
	Negative []scored `json:"negative"`
}

// allTopics is the --json form of topics.
type allTopics struct {
	Topics []topic `json:"topics"`
}

// topic is a component.
type topic struct {
	Component int           `json:"component"` // from 1
	Sigma     factor.Number `json:"sigma"`
	Rows      *sideTopic    `json:"rows,omitempty"` // nil: the result has no U
	Columns   *sideTopic    `json:"columns,omitempty"`
}

func (a *app) topics(cmd *cobra.Command, dir string, n int, memory int64) (err error) {
	memory = a.budget(memory)
	defer heap.Limit(heap.Unplanned(memory))()
	r, err := a.openNamed(cmd.Context(), dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	f, err := recommend.Of(r.Result)
	if err != nil {
		return err
	}
	all := make([]topic, len(f.Sigma))
	a.display.Begin("topics")
	defer a.display.End()
	for side, x := range []struct {
		names   *factor.Names
		vectors recommend.Vectors
	}{{r.cols, f.Columns()}, {r.rows, f.Lines()}} {
		found, err := recommend.Topics(cmd.Context(), x.vectors, int(min(int64(n), x.vectors.N)), memory, a.rows)
		if err != nil {
			return err
		}
		for j, t := range found {
			one := new(sideTopic)
			if one.Positive, err = scoredOf(x.names, t.Positive); err != nil {
				return err
			}
			if one.Negative, err = scoredOf(x.names, t.Negative); err != nil {
				return err
			}
			all[j].Component, all[j].Sigma = j+1, factor.Number(f.Sigma[j])
			if side == 0 {
				all[j].Columns = one
			} else {
				all[j].Rows = one
			}
		}
	}
	a.display.End()
	if a.json {
		return a.printJSON(allTopics{all})
	}
	for _, t := range all {
		if err := a.printTopic(t); err != nil {
			return err
		}
	}
	return nil
}

// printTopic prints a table of the columns and one of the rows, both signs side by side.
func (a *app) printTopic(t topic) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "component %d, σ = %.6g\n", t.Component, t.Sigma)
	for _, side := range []struct {
		what string
		of   *sideTopic
	}{{"column", t.Columns}, {"row", t.Rows}} {
		fmt.Fprintf(w, "+\t%[1]s\t−\t%[1]s\n", side.what)
		cell := func(all []scored, i int) (float64, any) {
			if i >= len(all) {
				return math.NaN(), ""
			}
			return all[i].Score, all[i].Name
		}
		for i := range max(len(side.of.Positive), len(side.of.Negative)) {
			plus, name := cell(side.of.Positive, i)
			minus, other := cell(side.of.Negative, i)
			fmt.Fprintf(w, "%s\t%v\t%s\t%v\n", weight(plus), name, weight(minus), other)
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
}

// weight is a number of a vector, "" if there is none.
func weight(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return fmt.Sprintf("%.4f", x)
}
