package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

func (a *app) generateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "generate",
		Short:   "Generate input for trying things out",
		Example: `  gdsvd generate ratings -o ratings.dat`,
		Args:    unknownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.generateRatingsCommand(), a.generateKronCommand(), a.generateSpectrumCommand())
	return cmd
}

func (a *app) generateRatingsCommand() *cobra.Command {
	g := synth.MovieLens10M(0)
	var (
		out   string
		force bool
	)
	cmd := &cobra.Command{
		Use:   "ratings -o FILE",
		Short: "Generate a ratings file in the format of MovieLens 10M",
		Long: `generate ratings writes user::item::rating::timestamp lines with the shape and
the statistics of MovieLens 10M: every user has at least 20 ratings, popularity
and activity are skewed, ratings have low-rank structure. Equal flags give
equal files.`,
		Example: `  gdsvd generate ratings -o ratings.dat
  gdsvd generate ratings -o - --users 1000 --items 500 --ratings 50000 | gdsvd ingest - -o small.csr`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return ui.Usagef(cmd, "no FILE to write: give one with -o, - for standard output")
			}
			if err := g.Validate(); err != nil {
				return ui.Usage(cmd, err)
			}
			return a.generateRatings(cmd.Context(), g, out, force)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "the `FILE` to write, - for standard output")
	f.IntVar(&g.Users, "users", g.Users, "number of users")
	f.IntVar(&g.Items, "items", g.Items, "number of items")
	f.Int64Var(&g.Ratings, "ratings", g.Ratings, "number of ratings")
	f.Uint64Var(&g.Seed, "seed", g.Seed, "seed of the random numbers")
	f.BoolVar(&force, "force", false, "replace an existing FILE, in one step at the end")
	return cmd
}

func (a *app) generateRatings(ctx context.Context, g synth.Ratings, out string, force bool) error {
	a.display.Begin("generate")
	defer a.display.End()
	write := func(w io.Writer) error {
		return g.Write(ctx, w, func(done int64) {
			a.display.Update(ui.State{
				Done: done, Total: g.Ratings,
				Text: fmt.Sprintf("%d ratings", done), Attrs: []slog.Attr{slog.Int64("ratings", done)},
			})
		})
	}
	if out == "-" {
		if err := a.stdout.Wanted(); err != nil {
			return err
		}
		return write(a.stdout)
	}
	if err := replaceFile(out, force, write); err != nil {
		return err
	}
	a.display.End()
	if a.json {
		return a.printJSON(generatedRatings{out, g.Users, g.Items, g.Ratings, g.Seed})
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %d ratings, %d users × %d items\n", out, g.Ratings, g.Users, g.Items)
	return err
}

// generatedRatings is the --json form of what generate ratings has made.
type generatedRatings struct {
	File    string `json:"file"`
	Users   int    `json:"users"`
	Items   int    `json:"items"`
	Ratings int64  `json:"ratings"`
	Seed    uint64 `json:"seed"`
}

// generatedStore is the --json form of what generate kron and generate spectrum have made.
type generatedStore struct {
	Store       string  `json:"store"`
	Fingerprint string  `json:"fingerprint"`
	Rows        int64   `json:"rows"`
	Cols        int64   `json:"cols"`
	NNZ         int64   `json:"nnz"`
	Bytes       int64   `json:"bytes"`
	Known       int     `json:"known"`       // singular values known
	KnownError  float64 `json:"known_error"` // of them, at most
}

// replaceFile writes a file beside its place and moves it there when it is complete.
func replaceFile(name string, force bool, write func(io.Writer) error) (err error) {
	old, err := os.Lstat(name)
	switch {
	case err == nil && old.IsDir():
		return &fs.PathError{Op: "create", Path: name, Err: errors.New("it is a directory; name a file")}
	case err == nil && !force:
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	lock, err := vfs.OS().Lock(name + ".lock")
	switch {
	case errors.Is(err, vfs.ErrLocked):
		return fmt.Errorf("create %s: %w that is writing it", name, vfs.ErrLocked)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("create %s: make the directory %s first: %w", name, filepath.Dir(name), fs.ErrNotExist)
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return durable.Replace(vfs.OS(), name, name+vfs.PartialSuffix, func(f vfs.File) error { return write(f) })
}

// madeStore says what has come of the writing of a store.
func (a *app) madeStore(path string, err error) error {
	if errors.Is(err, csr.ErrFinished) {
		a.nothingToResume("store", path)
		err = nil
	}
	if err != nil {
		return ui.Unfinished(err)
	}
	return a.printMade(path)
}

// Help for the flags of commands that write a store shard by shard.
const (
	storeForceHelp  = "replace an existing store, in one step at the end; begin anew what was interrupted, unless with --resume"
	storeResumeHelp = "go on where the same command was interrupted; the store has the same bytes as without a break; if it is finished, only say so"
)

// printMade says what a store that has been generated is like.
func (a *app) printMade(path string) (err error) {
	made, err := csr.Open(path, csr.OpenOptions{FS: a.fsys})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	truth, err := made.Truth()
	if err != nil {
		return err
	}
	rows, cols := factor.Dims(made)
	if a.json {
		return a.printJSON(generatedStore{path, made.Fingerprint(), rows, cols, made.NNZ(), made.Size(), len(truth.Sigma), truth.Error})
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %d × %d, %d entries%s; %d singular values known to %.1g\n",
		path, rows, cols, made.NNZ(), perEntry(made.Size(), made.NNZ()), len(truth.Sigma), truth.Error)
	return err
}
