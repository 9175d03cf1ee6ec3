package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
)

// spectrumOptions are the flags of gdsvd generate spectrum.
type spectrumOptions struct {
	matrix    synth.Spectrum
	out       string
	shardSize int64
	force     bool
	resume    bool
}

// decayingFloor is the least value of profiles that decay geometrically, unless another is given.
const decayingFloor = 1e-3

func (a *app) generateSpectrumCommand() *cobra.Command {
	o := spectrumOptions{shardSize: csr.DefaultShard}
	m, p := &o.matrix, &o.matrix.Values
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

Equal flags give equal stores. Memory does not grow with the size. What is
finished of a store that is interrupted stays in STORE.partial: the same command
goes on from there with --resume.`,
		Example: `  gdsvd generate spectrum --rows 100000 --cols 20000 --values exponential --decay 0.95 -o decay.csr
  gdsvd generate spectrum --rows 5000 --cols 5000 --values gap --gap 0.001 -o gap.csr`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.out == "" {
				return ui.Usagef(cmd, "no STORE to write: give one with -o")
			}
			decays := p.Kind == synth.Exponential || p.Kind == synth.Clustered || p.Kind == synth.Repeated
			if !cmd.Flags().Changed("least") && decays {
				p.Least = decayingFloor
			}
			if err := m.Validate(); err != nil {
				return ui.Usage(cmd, err)
			}
			return a.generateSpectrum(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	var kinds []ui.Choice[synth.ProfileKind]
	for _, k := range synth.ProfileKinds() {
		kinds = append(kinds, ui.Choice[synth.ProfileKind]{Name: string(k), Value: k})
	}
	f.StringVarP(&o.out, "out", "o", "", "the `STORE` to write, a directory that does not exist yet")
	f.Int64Var(&m.Rows, "rows", 0, "rows of the matrix")
	f.Int64Var(&m.Cols, "cols", 0, "columns of the matrix")
	ui.ChoiceFlag(cmd, f, &p.Kind, "values", "", synth.Exponential, kinds, "kind of singular values")
	f.Float64Var(&p.Decay, "decay", 0.9, "factor from one value or group to the next, of exponential, clustered and repeated")
	f.Float64Var(&p.Power, "power", 1, "exponent of polynomial")
	f.Float64Var(&p.Gap, "gap", 0.1, "relative difference of the two values of gap")
	f.Int64Var(&p.Group, "group", 4, "values in a group of clustered and repeated")
	f.Float64Var(&p.Width, "width", 1e-6, "relative width of the groups of clustered")
	f.Float64Var(&p.Least, "least", 0, "what would be a smaller value is this one (exponential, clustered, repeated: 0.001)")
	f.Int64Var(&m.Rank, "rank", 0, "number of values that are not zero (0: as many as there can be)")
	f.IntVar(&m.Layers, "layers", 4, "layers of rotations; a row has 2 to this power entries")
	f.Uint64Var(&m.Seed, "seed", 0, "seed of the random numbers")
	f.Var(ui.Size(&o.shardSize, false), "shard-size", "size of the files of the store")
	f.BoolVar(&o.force, "force", false, storeForceHelp)
	f.BoolVar(&o.resume, "resume", false, storeResumeHelp)
	return cmd
}

func (a *app) generateSpectrum(ctx context.Context, o *spectrumOptions) error {
	a.display.Begin("generate spectrum")
	defer a.display.End()
	err := o.matrix.Write(ctx, o.out, synth.WriteOptions{
		FS: a.fsys, ShardSize: o.shardSize, Force: o.force, Resume: o.resume,
		Progress: func(_ synth.Stage, done, total int64) {
			a.display.Update(ui.State{
				Done: done, Total: total,
				Text: fmt.Sprintf("%d rows", done), Attrs: []slog.Attr{slog.Int64("rows", done)},
			})
		},
	})
	a.display.End()
	return a.madeStore(o.out, err)
}
