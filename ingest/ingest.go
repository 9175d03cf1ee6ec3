package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Ingest reads inputs (paths, globs, a folder of 10x, or "-" for Options.Stdin) as one
// matrix, one after the other, and publishes a store at out. Until then, and after any
// error or cancellation, out is what it was before.
//
// An ingest that needs temporary files, and whose inputs can be read again, is
// saved from time to time. If it is cancelled, fails for want of space or dies,
// what it has done is left in out + SpoolSuffix (a [*csr.UnfinishedError] tells), and
// with Options.Resume the next one goes on from there, begins anew if a temporary file is
// damaged, or finds that out is the finished store of the same inputs and options. Other failures leave no
// temporary file.
//
// What is wrong with an input is a [*format.ParseError], too little room on the disk a
// [*SpaceError]; an existing out without Options.Force is fs.ErrExist.
func Ingest(ctx context.Context, inputs []string, out string, o Options) (*Report, error) {
	return o.withDefaults().ingest(ctx, inputs, out)
}

func (o request) ingest(ctx context.Context, inputs []string, out string) (*Report, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	files := vfs.OpenFiles()
	o.Workers = min(o.Workers, sortersWithin(files))
	p, err := newPlan(o.Memory, o.Workers)
	if err == nil {
		p, err = p.within(files)
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return ingest(ctx, inputs, out, o, p)
}

// An ingestion goes from inputs to a store by way of sorted entries.
type ingestion struct {
	o       request
	plan    plan
	names   []string
	staging *vfs.Staging
	meter   *meter
	report  *Report
	reading *reading
	spool   *extsort.Spool
	scratch *scratch.Dir
	inputs  []input.ID               // nil if they cannot be read again
	beside  map[format.Side]input.ID // files of ids
	saver   saver
	resumed *journal // nil: begun anew

	testStaging *vfs.Staging // of what is held out; nil: nothing is
}

func ingest(ctx context.Context, inputs []string, out string, o request, p plan) (*Report, error) {
	defer o.net.Close()
	names, err := o.expand(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if err := readable(ctx, o, p); err != nil {
		return nil, err
	}
	report, err := run(ctx, names, out, o, p)
	if err == nil {
		err = attach(ctx, names, report, o, p)
	}
	if err != nil {
		return nil, err
	}
	return report, nil
}

// run makes the store, or finds that it is there.
func run(ctx context.Context, names []string, out string, o request, p plan) (*Report, error) {
	if o.Resume {
		for _, look := range []func(context.Context, request, []string, string) (*Report, error){finished, complete} {
			done, err := look(ctx, o, names, out)
			if done != nil && err == nil {
				err = vfs.Sweep(o.FS, out, func(string) bool { return false })
			}
			if done != nil || err != nil {
				return done, err
			}
		}
	}
	damaged := false
	for {
		report, err := attempt(ctx, names, out, o, p)
		switch {
		case o.merges() && errors.Is(err, ids.ErrReorder):
			o.Log.Debug("the store is sorted anew", "why", err)
			o.base.spooled = true
		case o.Resume && !damaged && errors.Is(err, scratch.ErrDamaged):
			o.Log.Warn("what was left by an ingest before is damaged: it begins anew", "error", err)
			damaged = true
		default:
			return report, err
		}
	}
}

// attempt goes on from what an ingest before has left, or begins one. Damaged
// temporary files are removed.
func attempt(ctx context.Context, names []string, out string, o request, p plan) (_ *Report, err error) {
	staging, err := csr.Stage(o.FS, out, o.Force || o.inPlace(out))
	if err != nil {
		return nil, err
	}
	g := newIngestion(o, p, names, staging, out)
	defer func() { err = errors.Join(err, staging.Abort()) }() // nothing after Commit
	if o.base != nil {
		if err := o.base.same(o.FS); err != nil {
			return nil, err
		}
	}
	if g.testStaging, err = stagePair(o, out); err != nil {
		return nil, err
	}
	if g.testStaging != nil {
		defer func() { err = errors.Join(err, g.testStaging.Abort()) }()
	}
	if err := g.begin(ctx); err != nil {
		if errors.Is(err, scratch.ErrDamaged) {
			err = errors.Join(err, g.scratch.Remove())
		}
		return nil, err
	}
	if err := g.run(ctx); err != nil {
		return nil, g.leave(err)
	}
	g.meter.end()
	if err := g.scratch.Remove(); err != nil {
		return nil, fmt.Errorf("remove temporary files: %w", err)
	}
	return g.report, g.describe(out)
}

func newIngestion(o request, p plan, names []string, staging *vfs.Staging, out string) *ingestion {
	g := &ingestion{
		o: o, plan: p, names: names, staging: staging, meter: newMeter(o.Observer), report: &Report{Store: out},
		scratch: &scratch.Dir{FS: o.FS, Name: staging.Target() + SpoolSuffix, Most: p.unsynced},
		saver:   saver{every: o.CheckpointEvery, last: time.Now()},
	}
	r := &reading{
		o: o, plan: p, names: names, meter: g.meter, report: g.report, scratch: g.scratch,
		open:  o.opener(p.window),
		users: ids.New(o.KeepOrder), items: ids.New(o.KeepOrder),
	}
	if o.base != nil {
		g.report.BadLines, r.roles = o.base.bad, o.base.roles
	}
	if o.Graph != NoGraph {
		r.items = r.users
	}
	r.save = func() error {
		if !g.due() {
			return nil
		}
		return g.save(stepRead)
	}
	r.spool = extsort.New(p.Budget, g.scratch, true, r.held)
	g.reading, g.spool = r, r.spool
	return g
}

// begin finds out where to begin, and whether there is room for it all.
func (g *ingestion) begin(ctx context.Context) (err error) {
	if err := g.identify(ctx); err != nil {
		return err
	}
	g.scratch.Durable = g.inputs != nil && g.o.CheckpointEvery > 0
	g.spool.Durable = g.scratch.Durable
	j, err := g.unfinished()
	if err != nil {
		return err
	}
	if j == nil {
		return g.checkSpace(ctx)
	}
	if err := g.restore(j); err != nil {
		return err
	}
	g.saver.saved = true
	g.reading.from = j.Place
	g.o.Log.Info("resumed", "step", j.Step, "entries", j.Entries, "runs", len(j.Runs))
	return g.checkSpace(ctx)
}

// run goes through the stages.
func (g *ingestion) run(ctx context.Context) (err error) {
	r := g.reading
	defer func() {
		if err != nil && r.straight != nil {
			err = errors.Join(err, r.straight.Abort())
		}
		err = errors.Join(err, r.users.Close(), r.items.Close())
	}()
	if err := g.read(ctx); err != nil {
		return err
	}
	matrix, err := g.order(ctx)
	if err != nil {
		return err
	}
	left, err := matrix.sift(ctx)
	if err != nil {
		return err
	}
	return left.publish(ctx)
}

// read spools the entries of all inputs.
func (g *ingestion) read(ctx context.Context) error {
	r := g.reading
	if g.resumed != nil && g.resumed.Step != stepRead {
		return nil
	}
	if g.resumed == nil && g.plan.held > 0 && g.o.straightens() {
		r.openStraight = func(s shape) error { return g.openStraight(ctx, s) } // beyond the reading
	}
	r.total = g.inputSize()
	g.meter.begin(StageRead, r.total)
	if err := r.run(ctx); err != nil {
		return err
	}
	g.report.Format = r.format
	g.report.InputBytes = r.uncompressed
	if r.spool.N == 0 && r.outside.N > 0 {
		return g.o.Filter.nothingWithin(r.outside)
	}
	if r.shape == nil && r.spool.N == 0 {
		return &format.ParseError{File: input.DisplayName(g.names[len(g.names)-1]), Err: fmt.Errorf("%w in the input", format.ErrEmpty)}
	}
	g.o.Log.Debug("read", "format", r.format, "entries", r.entries(), "spilled", r.spool.InFiles)
	if err := r.spool.Finish(); err != nil || !r.spool.InFiles {
		return err
	}
	return g.saveNow(stepSort)
}

// inputSize is the bytes of all inputs on disk; 0 if not known.
func (g *ingestion) inputSize() (total int64) {
	for _, in := range g.inputs {
		total += in.Size
	}
	return total
}
