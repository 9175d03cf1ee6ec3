package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// The matrix of the demonstration: with this seed neighbouring leading values are at least 9 % apart, so that every method
// needs few passes.
const (
	demoUsers, demoItems, demoSeed = 40, 20, 2729
	demoRank                       = 10
	demoMaxError                   = 1e-9
)

func (a *app) demoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole way on a small matrix with known singular values",
		Long: `demo writes a ratings file whose singular values are known exactly, ingests it,
computes the leading ones and compares. It works in a temporary directory and takes a few
seconds.`,
		Example: `  gdsvd demo
  gdsvd demo --keep demo`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd, keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "work in the new directory `DIR` and leave everything there")
	return cmd
}

type demoResult struct {
	Users    int             `json:"users"`                // number of users, which are the rows
	Items    int             `json:"items"`                // number of items, which are the columns
	Ratings  int             `json:"ratings"`              // number of ratings, which are the entries
	Sigma    []factor.Number `json:"sigma"`                // the singular values, descending
	Known    []float64       `json:"known"`                // the singular values that are known by construction
	Error    []float64       `json:"relative_error"`       // relative error of each singular value
	Residual []factor.Number `json:"residual"`             // relative residual of each triplet
	Worst    float64         `json:"worst_relative_error"` // largest relative error of a singular value
	Passes   int             `json:"passes"`               // number of passes over the matrix
	Seconds  float64         `json:"seconds"`              // seconds of the run
}

func (a *app) demo(cmd *cobra.Command, keep string) (err error) {
	dir := keep
	if keep == "" {
		if dir, err = os.MkdirTemp("", "gdsvd-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if err := os.Mkdir(keep, 0o777); errors.Is(err, os.ErrExist) {
		return ui.Usagef(cmd, "--keep %s: it exists already", keep)
	} else if err != nil {
		return err
	}
	file, store, out := filepath.Join(dir, "ratings.dat"), filepath.Join(dir, "ratings.csr"), filepath.Join(dir, "ratings.svd")

	to := io.Writer(a.stdout)
	if a.json {
		to = io.Discard
	}
	say := show.NewPrinter(to)
	truth := synth.NewKronecker(demoUsers, demoItems, demoSeed)
	users, items := truth.Dims()
	if err := replaceFile(a.fsys, file, false, func(w io.Writer) error { return truth.WriteRatings(w) }); err != nil {
		return err
	}
	say.Printf("A ratings file with known singular values: %d users × %d items, %d ratings\n", users, items, truth.NNZ())

	budget := a.budget(0) // of both steps: the second reuses memory of the first, which then counts as taken
	report, err := a.ingest(cmd, []string{file}, store, ingest.Options{Memory: min(ingest.DefaultMemory, budget), ShardSize: csr.DefaultShard})
	if err != nil {
		return err
	}
	say.Printf("ingest: %s of text became a store of %s, %.2f bytes per rating\n",
		memory.FormatSize(report.InputBytes), memory.FormatSize(report.Bytes), show.Ratio(float64(report.Bytes), float64(report.NNZ)))

	r, err := a.svd(cmd, store, factor.Options{Rank: demoRank, Dir: out, CheckpointEvery: -1, Memory: budget})
	if err != nil {
		return err
	}
	say.Printf("svd: %d triplets by %s in %d passes, %.2f s\n\n", r.K, r.Method, r.Passes, r.Seconds.Total)
	d := compareDemo(truth, r)
	if err = say.End(); err == nil {
		err = a.print(d, nil, func(to *show.Printer) { printDemo(to, d, keep != "", file, store, out) })
	}
	if err == nil && !(d.Worst <= demoMaxError) {
		err = fmt.Errorf("the values are wrong: relative error %.2g, want at most %.0e", d.Worst, demoMaxError)
	}
	return err
}

func compareDemo(truth *synth.Kronecker, r *factor.Result) *demoResult {
	users, items := truth.Dims()
	d := &demoResult{
		Users: users, Items: items, Ratings: truth.NNZ(),
		Sigma: r.Sigma, Known: truth.Singular(demoRank), Residual: r.Residual, Passes: r.Passes, Seconds: r.Seconds.Total,
	}
	for i, known := range d.Known {
		e := math.Abs(float64(r.Sigma[i])-known) / known
		d.Error = append(d.Error, e)
		d.Worst = max(d.Worst, e) // NaN stays NaN
	}
	return d
}

func printDemo(say *show.Printer, d *demoResult, kept bool, file, store, out string) {
	say.AlignRight()
	say.Printf("i\tsigma\tknown\trelative error\tresidual\t\n")
	for i := range d.Known {
		say.Printf("%d\t%.12g\t%.12g\t%.1e\t%.1e\t\n", i+1, d.Sigma[i], d.Known[i], d.Error[i], d.Residual[i])
	}
	if d.Worst <= demoMaxError {
		say.Printf("\nAll %d values agree with the known ones.\n", len(d.Known))
	}
	say.Printf("\nNext, with ratings of your own:\n")
	if kept {
		say.Printf("  gdsvd info %s\n  gdsvd info %s\n", store, out)
	} else {
		file, store, out = "ratings.dat", "ratings.csr", "ratings.svd"
	}
	say.Printf("  gdsvd ingest %s -o %s\n  gdsvd svd %s -k %d -o %s\n", file, store, store, demoRank, out)
}
