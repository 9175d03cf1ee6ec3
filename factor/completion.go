package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// CompleteOptions are the options of Complete. Fields with the name of a field of complete.Options have its meaning.
type CompleteOptions struct {
	Options // Rank and Tol are those of complete.Options; View, Method and their options are ignored

	Lambda  float64
	Biases  bool
	Damping float64
	Holdout float64
	Rounds  int

	Round   func(*complete.State)   // is called after every round
	Reading func(done, total int64) // reports the bytes of a round; several goroutines may call it at the same time
	Proof   func(done, of int)      // is called before every read for the factors and the bound: the number of reads done, and the largest number of reads
}

// Completion describes the fit whose Z is the U·Σ·Vᵀ of a result (see package complete). The prediction of a missing entry
// is Mean plus the biases of its row and column plus its entry of Z.
type Completion struct {
	Lambda        Number `json:"lambda"`         // weight of the nuclear norm
	Chosen        bool   `json:"chosen"`         // whether λ was chosen by the error on held-out entries
	HeldOut       Number `json:"held_out_rmse"`  // root mean square error on held-out entries
	Holdout       Number `json:"holdout"`        // share of the entries that are held out where λ is chosen
	Biases        bool   `json:"biases"`         // whether the means of rows and columns are subtracted
	Damping       Number `json:"damping"`        // damping of the means of rows and columns
	Mean          Number `json:"mean"`           // mean of all entries
	Rounds        int    `json:"rounds"`         // number of rounds of the iteration
	RMSE          Number `json:"rmse"`           // root mean square error on all entries that were fitted
	Objective     Number `json:"objective"`      // value of the objective F
	Bound         Number `json:"bound"`          // lower bound on F over all matrices Z of any rank
	Gap           Number `json:"gap"`            // (F − bound)/F
	Stationarity  Number `json:"stationarity"`   // how far the result is from a stationary point of F
	Residual      Number `json:"residual"`       // σ₁ of the residual on the stored entries
	ResidualBound Number `json:"residual_bound"` // upper bound on `completion.residual`
}

// RowBiases returns the biases of the rows of a completion, or nil if the result has none.
func (r *Result) RowBiases(ctx context.Context) ([]float64, error) {
	return r.biases(ctx, layout.RowBiases, r.Rows)
}

// ColBiases is RowBiases for the columns.
func (r *Result) ColBiases(ctx context.Context) ([]float64, error) {
	return r.biases(ctx, layout.ColBiases, r.Cols)
}

func (r *Result) biases(ctx context.Context, name string, n int64) ([]float64, error) {
	if r.Completion == nil || !r.Completion.Biases {
		return nil, nil
	}
	return r.vector(ctx, name, n)
}

func (r *Result) vector(ctx context.Context, name string, n int64) (x []float64, err error) {
	m, err := r.array(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if m.Rows != n || m.Dims != 1 {
		return nil, damagedResult(m.Name(), "it is %s, not %d numbers", m.Shape(), n)
	}
	x = make([]float64, n)
	return x, m.Each(ctx, 1, func(i int64, row []float64) { x[i] = row[0] })
}

type completion struct {
	*task
	fit   complete.Options
	of    string // settings and store of the run, which a checkpoint must have, too
	out   *output
	keep  *checkpoints
	began time.Time // start of the run, earlier by the time that the resumed runs took
}

// Complete fits a matrix of low rank to the stored entries of a store, all others being missing, and writes its
// singular value decomposition to the directory o.Dir: package complete has the formulas. A run that is cancelled leaves
// a checkpoint to go on from.
func Complete(ctx context.Context, store *csr.Store, o CompleteOptions) (_ *Result, err error) {
	c := &completion{task: newTask(store, o.Options), began: time.Now()}
	if o.Dir == "" {
		return nil, errors.New("a completion needs a directory for its result")
	}
	c.Dir = filepath.Clean(c.Dir)
	before, err := inspectOut(c.FS, c.Dir)
	if c.Resume && !c.Replace && before.result && !before.checkpoint {
		return nil, says(nil, "%s holds no checkpoint to go on from: %v begins anew", c.Dir, Option("Replace"))
	}
	if err = cmp.Or(err, c.mayBegin(before)); err != nil {
		return nil, err
	}
	c.fit = complete.Options{
		Rank: o.Rank, Lambda: o.Lambda, Biases: o.Biases, Damping: cmp.Or(o.Damping, complete.DefaultDamping),
		Holdout: cmp.Or(o.Holdout, complete.DefaultHoldout), Tol: cmp.Or(o.Tol, complete.DefaultTol), Rounds: o.Rounds, Seed: o.Seed,
		Proof: o.Proof, Stream: stream.Options{Memory: c.Memory, Workers: c.Workers},
	}
	if o.Biases {
		c.fit.Stream.Reserve = 8 * store.Rows()
	}
	c.of = fmt.Sprintf("%s k=%d λ=%v biases=%t damping=%v holdout=%v tol=%v seed=%d", store.Fingerprint(), o.Rank, o.Lambda, o.Biases, c.fit.Damping, c.fit.Holdout, c.fit.Tol, o.Seed)
	c.Vectors = None // U is made when the rank is known
	if c.out, err = newOutput(c.task, before, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.out.abort()) }()
	c.keep = &checkpoints{task: c.task, out: c.out, last: time.Now(), saved: c.Resume && before.checkpoint}
	if c.Resume && before.checkpoint {
		if c.fit.Start, err = c.load(); err != nil {
			return nil, err
		}
		c.began = c.began.Add(-c.fit.Start.Spent)
		c.Log.Info("going on", "round", c.fit.Start.Rounds)
	}
	nextRound := func() {
		if o.Reading != nil {
			c.read.Count(1, o.Reading)
		}
	}
	nextRound()
	last := c.fit.Start
	c.fit.Round = func(s *complete.State) error {
		last = s
		nextRound()
		if err := c.round(s); err != nil {
			return err
		}
		if o.Round != nil {
			o.Round(s)
		}
		return nil
	}
	s, err := complete.Fit(ctx, c.read, c.fit)
	if err != nil {
		return nil, c.interrupted(ctx, last, err)
	}
	r, err := c.write(ctx, s)
	if err != nil {
		return nil, c.interrupted(ctx, last, err)
	}
	if r.Status != solver.Converged.String() {
		return r, says(ErrNotConverged, "F still fell by more than %v of itself after %d rounds; the result is in %s", c.fit.Tol, s.Rounds, c.Dir)
	}
	return r, nil
}

func (c *completion) round(s *complete.State) error {
	if err := c.out.lines.Encode(struct {
		Phase   string `json:"phase"`
		Pass    int    `json:"pass"`
		Lambda  Number `json:"lambda"`
		F       Number `json:"objective"`
		RMSE    Number `json:"rmse"`
		HeldOut Number `json:"held_out_rmse"`
	}{s.Phase.String(), s.Rounds, Number(s.Lambda), Number(s.F), Number(s.RMSE), Number(s.Held)}); err != nil {
		return err
	}
	if c.CheckpointEvery > 0 && c.keep.Due(solver.Stats{}) {
		return c.save(s)
	}
	return nil
}

func (c *completion) save(s *complete.State) error {
	s.Spent = time.Since(c.began)
	return c.keep.Save(func(w io.Writer) error { return s.Save(w, c.of) })
}

func (c *completion) load() (_ *complete.State, err error) {
	name := filepath.Join(c.Dir, layout.Checkpoint)
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := solver.ReadCheckpoint(io.NewSectionReader(f, 0, info.Size()), info.Size()); err == nil {
		return nil, says(nil, "%s is of a factorisation, not of a completion (%v begins anew)", name, Option("Replace"))
	}
	s, of, err := complete.Load(f, info.Size())
	switch {
	case errors.Is(err, complete.ErrState):
		return nil, damagedCheckpoint(name, "%v (%v begins anew)", err, Option("Replace"))
	case err != nil:
		return nil, err
	case of != c.of:
		return nil, says(nil, "%s is of another run: %s, this one is %s (%v begins anew)", name, of, c.of, Option("Replace"))
	}
	err = c.out.recall(filepath.Join(c.Dir, layout.CheckpointEvents), s.Rounds)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.Log.Warn("the run goes on; "+layout.Events+" will lack rounds before this", "error", err)
	}
	return s, nil
}

// interrupted saves the state of a cancelled run and returns its error, or err with what can be done about a fault.
func (c *completion) interrupted(ctx context.Context, s *complete.State, err error) error {
	switch {
	case ctx.Err() == nil && errors.As(err, new(*Error)):
		return err // says itself what can be done
	case ctx.Err() == nil, c.out.events == nil:
		return c.keep.afterFault(err)
	case s == nil:
		return says(context.Canceled, "interrupted before the first round; nothing is written")
	}
	if c.CheckpointEvery > 0 {
		if err := c.save(s); err != nil {
			return err
		}
	}
	if !c.keep.saved {
		return says(context.Canceled, "interrupted after %d rounds; nothing is written", s.Rounds)
	}
	return says(context.Canceled, "interrupted after %d rounds; a checkpoint is in %s: %v goes on from there", s.Rounds, c.Dir, c.goingOn(solver.Cancelled))
}

// write computes the factors from the state and writes the result.
func (c *completion) write(ctx context.Context, s *complete.State) (r *Result, err error) {
	c.Vectors = Both
	longBias, shortBias := csr.Orient(c.store, layout.RowBiases, layout.ColBiases)
	var long []float64
	if c.fit.Biases {
		long = make([]float64, 0, c.store.Rows())
	}
	factors, err := s.Factors(ctx, c.store, c.fit, func(first int64, u *mat.Dense, bias []float64) error {
		if _, k := u.Dims(); c.out.long == nil && k > 0 {
			if c.out.long, err = npy.Create(c.FS, c.out.path(c.out.longFile), c.store.Rows(), int64(k)); err != nil {
				return err
			}
		}
		if c.fit.Biases {
			long = append(long, bias...)
		}
		if c.out.long == nil {
			return nil
		}
		return c.out.long.WriteRows(first, u)
	})
	if err != nil {
		return nil, err
	}
	k := len(factors.Sigma)
	if k == 0 && factors.Residual == 0 {
		return nil, says(nil, "every entry of %s is what the mean and the biases predict: there is no Z to find", c.store.Path())
	}
	if k == 0 && s.Phase != complete.Done {
		return nil, says(nil, "after %d rounds with λ = %v Z is still 0: more rounds may find another, or give a smaller %v", s.At, s.Lambda, Option("Lambda"))
	}
	if k == 0 {
		return nil, says(nil, "λ = %v is so large that Z = 0: give a smaller %v; the largest singular value of the entries less their biases is %v", s.Lambda, Option("Lambda"), factors.Residual)
	}
	c.out.keepLong, c.out.keepShort = true, true
	if c.fit.Biases {
		for name, b := range map[string][]float64{longBias: long, shortBias: s.Columns} {
			f := File{Name: name}
			if err := f.of(npy.WriteVector(c.FS, c.out.path(name), b)); err != nil {
				return nil, err
			}
			c.out.files = append(c.out.files, f)
		}
	}
	res := &solver.Result{Sigma: factors.Sigma, Right: factors.V, Certified: true}
	r = &Result{
		Format: layout.Format, NNZ: c.store.NNZ(), K: k, Method: "soft-impute", Status: solver.Converged.String(), Certified: true,
		Converged: k, Rank: k, Sigma: numbers(factors.Sigma), Residual: []Number{}, Clusters: [][2]int{},
		Energy: Number(math.NaN()), Outside: Outside{Bound: Number(math.NaN())}, // not defined: no stored matrix is factorised
		Passes: s.Rounds, PeakRSS: memory.PeakRSS(), Seed: c.Seed,
		Settings: Settings{Method: "soft-impute", Tol: c.fit.Tol, Vectors: Both.String(), Workers: c.Workers, Memory: c.Memory},
		Store:    StoreRef{Path: c.store.Path(), Fingerprint: c.store.Fingerprint()},
		dir:      c.Dir, fs: c.FS,
		Completion: &Completion{
			Lambda: Number(s.Lambda), Chosen: c.fit.Lambda == 0, HeldOut: Number(s.Best.Held), Holdout: Number(c.fit.Holdout), Biases: c.fit.Biases,
			Damping: Number(c.fit.Damping), Mean: Number(s.Mean), Rounds: s.Rounds, RMSE: Number(factors.RMSE), Objective: Number(factors.F),
			Bound: Number(factors.Dual), Gap: Number(factors.Gap), Stationarity: Number(factors.Stationarity),
			Residual: Number(factors.Residual), ResidualBound: Number(factors.ResidualBound),
		},
	}
	if s.Phase != complete.Done {
		r.Status = solver.PassLimit.String()
	}
	r.Rows, r.Cols = Dims(c.store)
	r.Seconds.Total = time.Since(c.began).Seconds()
	r.Orthogonality.U, r.Orthogonality.V = csr.Orient(c.store, Number(factors.Orthogonality), Number(complete.Orthogonality(factors.V)))
	if r.IDs, err = c.out.writeNames(ctx, c.task); err != nil {
		return nil, err
	}
	act := c.writing("writing the result")
	defer act.end()
	return r, c.out.commit(res, r, act)
}
