package ingest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// Ingest reads inputs (paths, globs, a folder of 10x, or "-" for Options.Stdin) as one matrix, one after the other, and
// publishes a store at out. Until the store is published, and after any error or cancellation, out is unchanged.
//
// An ingest that needs temporary files, and whose inputs can be read again, is saved from time to time. If it is cancelled,
// fails for want of space or dies, its work is left in out + SpoolSuffix, and the error is a [*csr.UnfinishedError]. With
// Options.Resume the next ingest continues that work, begins anew if a temporary file is damaged, or finds that out is the
// finished store of the same inputs and options. Other failures leave no temporary file.
//
// A defect of an input is a [*format.ParseError], too little room on the disk a [*SpaceError]; an existing out without
// Options.Force is fs.ErrExist.
func Ingest(ctx context.Context, inputs []string, out string, o Options) (*Report, error) {
	return o.withDefaults().ingest(ctx, inputs, out)
}

func (o request) ingest(ctx context.Context, inputs []string, out string) (*Report, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	p, err := o.plan()
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return ingest(ctx, inputs, out, o, p)
}

func (o *request) plan() (plan, error) {
	files := vfs.OpenFiles()
	o.Workers = min(o.Workers, sortersWithin(files))
	p, err := newPlan(o.Memory, o.Workers)
	if err != nil {
		return p, err
	}
	return p.within(files)
}

func ingest(ctx context.Context, inputs []string, out string, o request, p plan) (*Report, error) {
	defer o.net.Close()
	out = filepath.Clean(out) // names of other files are made of it
	names, err := o.expand(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if err := readable(ctx, o, p); err != nil {
		return nil, err
	}
	if err := o.spreads(ctx, names, p); err != nil {
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

func run(ctx context.Context, names []string, out string, o request, p plan) (*Report, error) {
	if o.Resume {
		for _, look := range []func(context.Context, request, []string, string) (*Report, error){finished, complete} {
			done, err := look(ctx, o, names, out)
			if done != nil && err == nil {
				err = tidy(o, out)
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
		case (o.Resume || o.Tasks != nil) && !damaged && errors.Is(err, scratch.ErrDamaged):
			o.Log.Warn("the saved progress of an earlier ingest or task is damaged: it starts again from the beginning", "error", err)
			damaged = true
		default:
			return report, err
		}
	}
}

// tidy removes the files that an ingest that died has left beside its finished store. It leaves the files of a running ingest.
func tidy(o request, out string) error {
	s := &scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}
	if _, err := s.Look(); err != nil {
		return err
	}
	if !s.Made {
		return vfs.Sweep(o.FS, out, func(string) bool { return false })
	}
	return vfs.Locked(o.FS, out, s.Remove)
}

// attempt continues what an ingest before has left, or begins an ingest. It removes damaged temporary files.
func attempt(ctx context.Context, names []string, out string, o request, p plan) (_ *Report, err error) {
	t := &task{o: o, plan: p, meter: newMeter(o.Observer), report: &Report{Store: out}}
	if t.staging, err = csr.Stage(o.FS, out, o.Force || o.inPlace(out)); err != nil {
		return nil, err
	}
	t.staging.Hold() // the lock is held until the scratch directory is removed
	defer func() { err = errors.Join(err, t.staging.Abort()) }()
	if o.base != nil {
		s, err := o.base.open(o.FS)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	if t.testStaging, err = stagePair(o, out); err != nil {
		return nil, err
	}
	if t.testStaging != nil {
		defer func() { err = errors.Join(err, t.testStaging.Abort()) }()
	}
	if t.in, err = identify(ctx, o, names); err != nil {
		return nil, err
	}
	t.scratch = &scratch.Dir{
		FS: o.FS, Name: t.staging.Target() + SpoolSuffix, Most: p.unsynced, Durable: t.in.ids != nil && o.CheckpointEvery > 0 && o.Tasks == nil,
	}
	g := &pipeline{task: t, last: time.Now()}
	e, err := g.begin(ctx)
	if errors.Is(err, scratch.ErrDamaged) {
		err = errors.Join(err, t.scratch.Remove())
	}
	if err != nil {
		return nil, err
	}
	if err := g.run(ctx, e); err != nil {
		return nil, g.leave(err)
	}
	t.meter.end()
	if err := t.scratch.Remove(); err != nil {
		return nil, fmt.Errorf("remove temporary files: %w", err)
	}
	e.tell(t.report)
	return t.report, t.describe()
}

// A pipeline takes an ingest through its stages. It owns the journal (see resume.go) and the cleanup.
type pipeline struct {
	*task
	resumed *journal   // journal of the ingest that is continued; nil: begun anew
	last    time.Time  // time of the last save
	busy    chan error // receives the error of the save under way; nil: no save is under way
	saved   bool       // a journal has been written
}

// begin restores an unfinished ingest, or begins anew, and checks that the disk has room for it.
func (g *pipeline) begin(ctx context.Context) (*entries, error) {
	e := newEntries(g.task)
	j, err := g.unfinished()
	if err == nil && j != nil {
		err = g.restore(e, j)
	}
	if err == nil {
		err = g.checkSpace(ctx, e.spool.FileBytes())
	}
	if err != nil {
		err = errors.Join(err, e.close(true))
	}
	return e, err
}

func (g *pipeline) run(ctx context.Context, e *entries) (err error) {
	// A save under way syncs the logs of ids, which close closes.
	defer func() { err = errors.Join(err, g.saving(), e.close(err != nil)) }()
	if g.resumed == nil || g.resumed.Step == stepRead {
		if err := g.read(ctx, e); err != nil {
			return err
		}
	}
	matrix, err := order(ctx, e, func() error { return g.saveNow(e, stepSort) })
	if err != nil {
		return err
	}
	left, err := sift(ctx, matrix)
	if err != nil {
		return err
	}
	return publish(ctx, left, func(store, test *csr.Writer) error { return g.saveCommit(left, store, test) })
}

func (g *pipeline) read(ctx context.Context, e *entries) error {
	g.meter.begin(StageRead, g.in.size())
	err := g.spread(ctx, e)
	if err == nil && e.Place.Input < len(g.in.names) {
		err = read(ctx, e, g.resumed == nil, func() error {
			if !g.due(e) {
				return nil
			}
			return g.save(e, stepRead)
		})
		if err == nil && g.o.Tasks != nil {
			err = errors.New("an input could not be read by a task, and can be read here: begin again")
		}
	}
	if err != nil {
		return err
	}
	if e.spool.N == 0 && e.Outside.N > 0 {
		return g.o.Filter.nothingWithin(e.Outside)
	}
	if e.shape == nil && e.spool.N == 0 {
		return &format.ParseError{File: input.DisplayName(g.in.names[len(g.in.names)-1]), Err: fmt.Errorf("%w in the input", format.ErrEmpty)}
	}
	g.o.Log.Debug("read", "format", e.Format, "entries", e.count(), "spilled", e.spool.InFiles)
	if err := e.spool.Finish(); err != nil || !e.spool.InFiles {
		return err
	}
	return g.saveNow(e, stepSort)
}

// Append merges the entries of more inputs into a store, and publishes the result at out, or in place of the store if out is
// "". The result has the bytes of an ingest of all inputs at once, those of the store first, and its manifest names all of
// them. Until the result is published, and after any error or cancellation, the store is unchanged.
//
// The store is read once, or twice if duplicates are combined or the first fractions come to integers, and merged with the
// new entries. It is sorted anew if its order changes, because its ids were integers and some new ids are texts or because the
// other side becomes the longer one, or if the new ids do not fit in memory.
//
// Options that shape the matrix are those of the store: one that is set must be the same. Duplicates may be any policy if no
// two entries of the store were at one place. An [*AppendError] refuses a store that lacks data of its inputs: means, sums
// that were rounded, entries left out by filters, indices of a declared shape.
func Append(ctx context.Context, store string, inputs []string, out string, o Options) (*Report, error) {
	r, out, err := appending(store, out, o)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", store, err)
	}
	return r.ingest(ctx, append([]string{store}, inputs...), out)
}
