package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/durable"
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
			a.display.Update(ui.Counted(done, g.Ratings, done, "ratings"))
		})
	}
	if out == "-" {
		if err := a.stdout.Wanted(); err != nil {
			return err
		}
		return write(a.stdout)
	}
	err := replaceFile(a.fsys, out, force, write)
	a.display.End()
	return a.print(generatedRatings{out, g.Users, g.Items, g.Ratings, g.Seed}, err, func(to *show.Printer) {
		to.Printf("%s: %d ratings, %d users × %d items\n", out, g.Ratings, g.Users, g.Items)
	})
}

type generatedRatings struct {
	File    string `json:"file"`    // name of the file
	Users   int    `json:"users"`   // number of users, which are the rows
	Items   int    `json:"items"`   // number of items, which are the columns
	Ratings int64  `json:"ratings"` // number of ratings, which are the entries
	Seed    uint64 `json:"seed"`    // seed of the random numbers
}

type generatedStore struct {
	Store       string  `json:"store"`       // the store
	Fingerprint string  `json:"fingerprint"` // fingerprint of the matrix, 64 hex digits
	Rows        int64   `json:"rows"`        // number of rows of the matrix
	Cols        int64   `json:"cols"`        // number of columns of the matrix
	NNZ         int64   `json:"nnz"`         // number of stored entries
	Bytes       int64   `json:"bytes"`       // size of the store in bytes
	Known       int     `json:"known"`       // number of singular values that are known
	KnownError  float64 `json:"known_error"` // bound on the error of the known values
}

// replaceFile writes a temporary file and moves it to its name when it is complete.
func replaceFile(fsys vfs.FS, name string, force bool, write func(io.Writer) error) error {
	old, err := fsys.Lstat(name)
	info, bad := fsys.Stat(name)
	switch {
	case err == nil && old.IsDir():
		return &fs.PathError{Op: "create", Path: name, Err: errors.New("it is a directory; name a file")}
	case bad == nil && !info.Mode().IsRegular(): // a file would take the place of a device or a pipe
		return vfs.Regular(name, info)
	case err == nil && !force:
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	return durable.Publish(fsys, name, func(f vfs.File) error { return write(f) })
}

// storeForceHelp is the help text of --force of commands that make a store.
const storeForceHelp = "replace an existing store, in one step at the end"

func (a *app) printMade(path string, failed error) (err error) {
	if failed != nil {
		return failed
	}
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
	return a.print(generatedStore{path, made.Fingerprint(), rows, cols, made.NNZ(), made.Size(), len(truth.Sigma), truth.Error}, nil, func(out *show.Printer) {
		out.Printf("%s: %d × %d, %d entries%s; %d singular values known to %.1g\n",
			path, rows, cols, made.NNZ(), perEntry(made.Size(), made.NNZ()), len(truth.Sigma), truth.Error)
	})
}

type kronOptions struct {
	factor    synth.Factor
	base, out string
	write     synth.WriteOptions
}

func (a *app) generateKronCommand() *cobra.Command {
	o := kronOptions{write: synth.WriteOptions{FS: a.fsys, Memory: 1 << 30, ShardSize: csr.DefaultShard}}
	cmd := &cobra.Command{
		Use:   "kron --base STORE --rows R --cols C --nnz Z -o STORE",
		Short: "Expand a store to any size, with known singular values",
		Long: `generate kron writes the Kronecker product of a random sparse R × C factor with Z
entries and the matrix of the base store: each entry of the factor becomes a
copy of the matrix multiplied by it. Rows, structure and popularity stay those
of the base; the singular values are the products of those of both, and the
leading ones, 200 at least, are written to truth.json in the new store.

Equal flags give equal stores. Memory does not grow with the size.`,
		Example: `  gdsvd generate kron --base ml-1m.csr --rows 4 --cols 4 --nnz 12 -o ml-12m.csr`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.base == "":
				return ui.Usagef(cmd, "no STORE to expand: give one with --base")
			case o.out == "":
				return ui.Usagef(cmd, "no STORE to write: give one with -o")
			}
			if err := o.factor.Validate(); err != nil {
				return ui.Usage(cmd, err)
			}
			return a.generateKron(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.base, "base", "", "the `STORE` to expand")
	f.StringVarP(&o.out, "out", "o", "", "the `STORE` to write, a directory that does not exist yet")
	f.IntVar(&o.factor.Rows, "rows", 0, "rows of the factor")
	f.IntVar(&o.factor.Cols, "cols", 0, "columns of the factor")
	f.IntVar(&o.factor.NNZ, "nnz", 0, "entries of the factor")
	f.Float64SliceVar(&o.factor.Values, "values", synth.DefaultFactorValues(), "`list` of numbers that the factor's entries are drawn from")
	f.Uint64Var(&o.factor.Seed, "seed", 0, "seed of the random numbers")
	f.Var(ui.Size(&o.write.Memory, false), "memory", "memory to stay within while the values of the base are computed")
	f.Var(ui.Size(&o.write.ShardSize, false), "shard-size", "size of the files of the store")
	f.BoolVar(&o.write.Force, "force", false, storeForceHelp)
	return cmd
}

func (a *app) generateKron(ctx context.Context, o *kronOptions) (err error) {
	base, err := a.openStore(o.base)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, base.Close()) }()
	defer heap.Limit(heap.Unplanned(a.budget(o.write.Memory)))()
	var stage synth.Stage
	e := synth.Expansion{Factor: o.factor, Base: base}
	o.write.Progress = func(s synth.Stage, done, total int64) {
		if s != stage {
			stage = s
			a.display.Begin("generate kron: " + string(s))
		}
		now := ui.Counted(done, total, done, "entries")
		if s == synth.StageTruth {
			now.Text, now.Attrs = fmt.Sprintf("pass %d over the base", done), []slog.Attr{slog.Int64("passes", done)}
		}
		a.display.Update(now)
	}
	err = e.Write(ctx, o.out, o.write)
	a.display.End()
	return a.printMade(o.out, err)
}

// decayingFloor is the default of --least for profiles that decay geometrically.
const decayingFloor = 1e-3

func (a *app) generateSpectrumCommand() *cobra.Command {
	var m synth.Spectrum
	var out string
	p, write := &m.Values, synth.WriteOptions{FS: a.fsys, ShardSize: csr.DefaultShard}
	cmd := &cobra.Command{
		Use:   "spectrum --rows R --cols C --values KIND -o STORE",
		Short: "Make a store of any size with singular values of choice",
		Long: `generate spectrum writes a sparse matrix P·Σ·Qᵀ whose singular values are those
asked for. P and Q are products of layers of random rotations of pairs of
coordinates, and permutations; with L layers a row along the longer side has 2^L
entries. The leading values, up to 4096, are written to truth.json in the new
store. KIND is how value i of r, from 0, is made:

  exponential  decay^i
  polynomial   (i+1)^-power
  linear       1 - i/r
  gap          two values, 1 and 1-gap
  clustered    groups around decay^g, each spread over a relative width
  repeated     decay^g, each as often as a group is long

Equal flags give equal stores. Memory does not grow with the size.`,
		Example: `  gdsvd generate spectrum --rows 100000 --cols 20000 --values exponential --decay 0.95 -o decay.csr
  gdsvd generate spectrum --rows 5000 --cols 5000 --values gap --gap 0.001 -o gap.csr`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return ui.Usagef(cmd, "no STORE to write: give one with -o")
			}
			decays := p.Kind == synth.Exponential || p.Kind == synth.Clustered || p.Kind == synth.Repeated
			if !cmd.Flags().Changed("least") && decays {
				p.Least = decayingFloor
			}
			if err := m.Validate(); err != nil {
				return ui.Usage(cmd, err)
			}
			a.display.Begin("generate spectrum")
			write.Progress = func(_ synth.Stage, done, total int64) {
				a.display.Update(ui.Counted(done, total, done, "rows"))
			}
			err := m.Write(cmd.Context(), out, write)
			a.display.End()
			return a.printMade(out, err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "the `STORE` to write, a directory that does not exist yet")
	f.Int64Var(&m.Rows, "rows", 0, "rows of the matrix")
	f.Int64Var(&m.Cols, "cols", 0, "columns of the matrix")
	ui.ChoiceFlag(f, &p.Kind, "values", synth.Exponential, ui.Words(synth.ProfileKinds()), "kind of singular values")
	f.Float64Var(&p.Decay, "decay", 0.9, "factor from one value or group to the next, of exponential, clustered and repeated")
	f.Float64Var(&p.Power, "power", 1, "exponent of polynomial")
	f.Float64Var(&p.Gap, "gap", 0.1, "relative difference of the two values of gap")
	f.Int64Var(&p.Group, "group", 4, "values in a group of clustered and repeated")
	f.Float64Var(&p.Width, "width", 1e-6, "relative width of the groups of clustered")
	f.Float64Var(&p.Least, "least", 0, "what would be a smaller value is this one (exponential, clustered, repeated: 0.001)")
	f.Int64Var(&m.Rank, "rank", 0, "number of values that are not zero (0: as many as there can be)")
	f.IntVar(&m.Layers, "layers", 4, "layers of rotations; a row has 2 to this power entries")
	f.Uint64Var(&m.Seed, "seed", 0, "seed of the random numbers")
	f.Var(ui.Size(&write.ShardSize, false), "shard-size", "size of the files of the store")
	f.BoolVar(&write.Force, "force", false, storeForceHelp)
	return cmd
}
