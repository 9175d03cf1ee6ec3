package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// unfinished looks for the files of an unfinished ingest. It returns the journal if this ingest continues from there, else
// nil, having removed the temporary files.
func (g *pipeline) unfinished() (*journal, error) {
	found, err := g.scratch.Look()
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	switch {
	case !g.scratch.Made:
		return nil, nil
	case found && !g.o.Resume && !g.o.Force:
		return nil, &csr.UnfinishedError{What: "ingest", Dir: g.scratch.Name}
	case !found || !g.o.Resume:
		if err := g.scratch.Remove(); err != nil {
			return nil, fmt.Errorf("remove leftovers of %s: %w", g.report.Store, err)
		}
		return nil, nil
	}
	j, err := readJournal(g.scratch, scratch.Journal)
	if err == nil {
		err = j.matches(g.in.files(), g.o.Options)
	}
	if err == nil && g.in.ids == nil {
		err = errors.New("an input cannot be read again")
	}
	if err != nil {
		return nil, &csr.ResumeError{What: "ingest", Dir: g.scratch.Name, Err: err}
	}
	if g.o.merges() && j.Spooled {
		return nil, ids.ErrReorder
	}
	if j.Test != "" && len(j.Runs) == 0 { // a pair made in memory, perhaps half published: begin anew and replace it
		g.saved = true
		return nil, g.scratch.Sweep(map[string]bool{scratch.Journal: true})
	}
	return j, nil
}

// finished returns a report if the interrupted ingest had published its store, so that only its scratch directory is left. The
// caller removes that.
func finished(ctx context.Context, o request, names []string, out string) (*Report, error) {
	s := &scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}
	if found, err := s.Look(); err != nil || !found {
		return nil, nil
	}
	j, err := readJournal(s, scratch.Journal)
	if err != nil || j.Step != stepCommit {
		return nil, nil
	}
	store, err := csr.Open(out, csr.OpenOptions{FS: o.FS, Missing: true})
	if err != nil {
		return nil, nil // something else is there
	}
	same := store.Fingerprint() == j.Fingerprint
	if err := store.Close(); err != nil || !same {
		return nil, err
	}
	in, err := identify(ctx, o, names)
	if err != nil {
		return nil, err
	}
	if o.inPlace(out) && len(in.ids) > 0 && len(j.Inputs) > 0 {
		in.ids[0] = j.Inputs[0] // the store appended to, which has been replaced
	}
	o.Memory = max(o.Memory, j.Memory) // none is needed any more
	if err := j.matches(in.files(), o.Options); err != nil {
		return nil, &csr.ResumeError{What: "ingest", Dir: s.Name, Err: err}
	}
	t := &task{o: o, meter: newMeter(nil), report: &Report{Store: out, Resumes: j.Resumes + 1}}
	j.tell(t.report)
	t.report.Duplicates, t.report.Runs, t.report.SpilledBytes = j.Duplicates, j.MostRuns, j.Spilled
	maps.Copy(t.meter.seconds, j.Seconds)
	if err := t.describe(); err != nil {
		return nil, err
	}
	return t.report, nil
}

func (g *pipeline) restore(e *entries, j *journal) error {
	e.record, e.shape = j.record, j.Shape
	if j.Values != nil {
		e.values.stats = j.stats()
	}
	maps.Copy(g.meter.seconds, j.Seconds)
	g.report.Resumes, g.scratch.Serial = j.Resumes+1, j.Serial
	damaged := func(err error) error {
		return &csr.ResumeError{What: "ingest", Dir: g.scratch.Name, Err: scratch.Damaged(err)}
	}
	for axis, state := range map[*ids.Axis]ids.State{e.users: j.Users, e.items: j.Items} {
		if err := axis.Restore(g.scratch, state); err != nil {
			return damaged(err)
		}
	}
	s := e.spool
	if err := s.Restore(j.Runs, e.users.Generations(), e.items.Generations(), j.MostRuns, j.Spilled); err != nil {
		return damaged(err)
	}
	if s.N != j.Entries {
		return damaged(fmt.Errorf("%w: %d entries are missing", scratch.ErrDamaged, j.Entries-s.N))
	}
	if err := g.scratch.Sweep(j.files()); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	g.resumed, g.saved = j, true
	g.o.Log.Info("resumed", "step", j.Step, "entries", j.Entries, "runs", len(j.Runs))
	return nil
}

func (g *pipeline) due(e *entries) bool {
	return e.spool.InFiles && g.scratch.Durable &&
		(time.Since(g.last) >= g.o.CheckpointEvery || len(g.scratch.Unsynced) >= g.plan.unsynced)
}

// save begins to write the journal of the ingest so far; the files that it names do not change later. It returns the error of
// the save before. A goroutine syncs the files and writes the journal while the ingest goes on.
func (g *pipeline) save(e *entries, step string) error {
	if !g.scratch.Durable {
		return nil
	}
	if err := g.saving(); err != nil {
		return err
	}
	err := e.spool.Flush()
	var logs []vfs.File
	var old []string
	for _, a := range e.all() {
		log, gone, failed := a.Save(g.scratch)
		if log != nil {
			logs = append(logs, log)
		}
		old, err = append(old, gone...), errors.Join(err, failed)
	}
	if err != nil {
		return err
	}
	j := g.picture(e, step)
	files := g.scratch.Unsynced
	g.scratch.Unsynced = nil
	g.last = time.Now()
	g.busy = make(chan error, 1)
	go func(done chan<- error) { done <- persist(g.scratch, j, files, logs, old) }(g.busy)
	return nil
}

func (g *pipeline) saving() error {
	busy := g.busy
	if busy == nil {
		return nil
	}
	g.busy = nil
	err := <-busy
	g.saved = g.saved || err == nil
	return err
}

func (g *pipeline) saveNow(e *entries, step string) error {
	if err := g.save(e, step); err != nil {
		return err
	}
	return g.saving()
}

// saveCommit records the fingerprint of the store about to be published, if there is a journal or a pair: a resumed ingest
// that finds a store with that fingerprint is finished. test is the store of the entries held out, or nil.
func (g *pipeline) saveCommit(s *sifted, store, test *csr.Writer) (err error) {
	if !g.saved && test == nil {
		return nil
	}
	j := g.picture(s.entries, stepCommit)
	j.Duplicates = s.duplicates
	if j.Fingerprint, err = store.Seal(); err != nil {
		return err
	}
	if test != nil {
		if j.Test, err = test.Seal(); err != nil {
			return err
		}
		if err = g.scratch.Make(); err != nil {
			return err
		}
		g.saved = true
	}
	return j.write(g.scratch)
}

// persist syncs files and logs, writes the journal that names them, and removes the old files that only the journal before
// names.
func persist(s *scratch.Dir, j *journal, files, logs []vfs.File, old []string) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Sync(), f.Close())
	}
	for _, f := range logs {
		err = errors.Join(err, f.Sync())
	}
	if err != nil {
		return fmt.Errorf("save the ingest: %w", err)
	}
	if err := j.write(s); err != nil {
		return err
	}
	for _, name := range old {
		if err := s.RemoveFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("save the ingest: %w", err)
		}
	}
	return nil
}

func (g *pipeline) picture(e *entries, step string) *journal {
	j := &journal{
		Version: journalVersion, Inputs: g.in.files(), Options: g.o.shaping(), Memory: g.o.Memory, OnlyCols: g.o.onlyCols(),
		Step: step, Serial: g.scratch.Serial, record: e.record,
		Entries: e.spool.N, Spilled: e.spool.Spilled(), MostRuns: e.spool.Most,
		Users: e.users.State(), Items: e.items.State(),
		Seconds: g.meter.spent(), Spooled: g.o.base != nil && g.o.base.spooled,
	}
	if g.resumed != nil {
		j.Memory = max(g.resumed.Memory, g.o.Memory) // runs may be as long as this memory allows
		j.Resumes = g.resumed.Resumes + 1
	}
	if e.shape != nil { // a copy: a late shape is declared while the journal is written
		j.Shape = new(*e.shape)
	}
	if e.spool.InFiles {
		j.Runs = e.spool.Files()
	}
	if g.o.Duplicates == DuplicatesError && e.spool.N > 0 {
		e.values.mu.Lock()
		j.Values = new(e.values.stats.Values())
		j.Long = j.Values.Coding == csr.Integer && !e.values.stats.Single()
		e.values.mu.Unlock()
	}
	return j
}

// leave ends an ingest that has failed. It keeps the files that a resume needs, and removes them otherwise.
func (g *pipeline) leave(err error) error {
	err = errors.Join(err, g.scratch.Close())
	if g.saved && resumable(err) {
		return &csr.UnfinishedError{What: "ingest", Dir: g.scratch.Name, Err: err}
	}
	return errors.Join(err, g.scratch.Remove())
}

// resumable reports whether an ingest that failed with err can succeed when it is resumed.
func resumable(err error) bool {
	return !errors.As(err, new(*format.ParseError)) && !errors.As(err, new(*duplicateError)) && !errors.As(err, new(*budget.Error)) &&
		!errors.Is(err, format.ErrOverflow) && !errors.Is(err, format.ErrUnsupported) && !errors.Is(err, format.ErrEmpty) && !errors.Is(err, scratch.ErrDamaged) && !errors.Is(err, ids.ErrReorder) && !errors.Is(err, remote.ErrChanged)
}
