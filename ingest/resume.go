package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/remote"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// unfinished looks at what an ingest before has left. It returns its journal
// if this one goes on from there, else nil and an empty scratch.
func (g *ingestion) unfinished() (*journal, error) {
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
	j, err := readJournal(g.scratch)
	if err == nil {
		err = j.matches(g.files(), g.o.Options)
	}
	if err == nil && g.inputs == nil {
		err = errors.New("an input cannot be read again")
	}
	if err != nil {
		return nil, &csr.ResumeError{What: "ingest", Dir: g.scratch.Name, Err: err}
	}
	if g.o.merges() && j.Spooled {
		return nil, ids.ErrReorder
	}
	if j.Test != "" && len(j.Runs) == 0 { // a pair that was made in memory, perhaps half of it published
		g.saver.saved = true
		return nil, g.scratch.Sweep(map[string]bool{scratch.Journal: true})
	}
	return j, nil
}

// finished tells whether the interrupted ingest had published its store, all
// but for the removal of its scratch, which it then makes up for.
func finished(_ context.Context, o request, _ []string, out string) (*Report, error) {
	s := &scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}
	if found, err := s.Look(); err != nil || !found {
		return nil, nil
	}
	j, err := readJournal(s)
	if err != nil || j.Step != stepCommit {
		return nil, nil
	}
	store, err := csr.Open(out, csr.OpenOptions{FS: o.FS})
	if err != nil {
		return nil, nil // there is something else
	}
	same := store.Fingerprint() == j.Fingerprint
	if err := store.Close(); err != nil || !same {
		return nil, err
	}
	g := &ingestion{o: o, meter: newMeter(nil), report: &Report{Store: out}}
	j.report(g.report, g.meter)
	if err := g.describe(out); err != nil {
		return nil, err
	}
	return g.report, s.Remove()
}

// report restores what has been counted.
func (j *journal) report(r *Report, m *meter) {
	r.Format, r.Lines, r.BadLines, r.InputBytes = j.Format, j.Lines, j.Bad, j.InputBytes
	r.Duplicates, r.Runs, r.SpilledBytes = j.Duplicates, j.MostRuns, j.Spilled
	r.FirstBad, r.LeftOut = nil, j.LeftOut
	r.Filtered.Outside = j.Outside.N
	for i := range j.FirstBad {
		r.FirstBad = append(r.FirstBad, j.FirstBad[i].restore())
	}
	r.Resumes, r.Titled, r.SelfLoops = j.Resumes+1, j.Titled, j.Loops
	for stage, sec := range j.Seconds {
		m.seconds[stage] = sec
	}
}

// restore brings the ingestion to where the journal says.
func (g *ingestion) restore(j *journal) error {
	r, s := g.reading, g.spool
	j.report(g.report, g.meter)
	r.outside, r.roles = j.Outside, j.Roles
	r.place, r.format, r.shape, r.uncompressed = j.Place, j.Format, j.Shape, j.InputBytes
	if j.Values != nil {
		r.stats = csr.StatsOf(*j.Values)
	}
	g.scratch.Serial = j.Serial
	damaged := func(err error) error {
		return &csr.ResumeError{What: "ingest", Dir: g.scratch.Name, Err: scratch.Damaged(err)}
	}
	for axis, state := range map[*ids.Axis]ids.State{r.users: j.Users, r.items: j.Items} {
		if err := axis.Restore(g.scratch, state); err != nil {
			return damaged(err)
		}
	}
	if err := s.Restore(j.Runs, r.users.Generations(), r.items.Generations(), j.MostRuns, j.Spilled); err != nil {
		return damaged(err)
	}
	if s.N != j.Entries {
		return damaged(fmt.Errorf("%w: %d entries are missing", scratch.ErrDamaged, j.Entries-s.N))
	}
	if err := g.scratch.Sweep(j.files()); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	g.resumed = j
	return nil
}

// A saver writes the journal from time to time. Making files durable and
// writing goes on beside the ingest.
type saver struct {
	every time.Duration
	last  time.Time
	busy  chan error // has the outcome of the save under way; nil if there is none
	saved bool       // there is a journal
}

// due tells whether the ingest should be saved now.
func (g *ingestion) due() bool {
	return g.spool.InFiles && g.scratch.Durable &&
		(time.Since(g.saver.last) >= g.saver.every || g.scratch.Unsynced() >= g.plan.unsynced)
}

// save begins to write the journal of what has been done so far; no file it
// names is changed later. It returns the error of the save before.
func (g *ingestion) save(step string) error {
	if !g.scratch.Durable {
		return nil
	}
	if err := g.saving(); err != nil {
		return err
	}
	r := g.reading
	err := g.spool.Flush()
	for _, a := range r.axes() {
		err = errors.Join(err, a.Save(g.scratch))
	}
	if err != nil {
		return err
	}
	j := g.journal(step)
	files := g.scratch.TakeUnsynced()
	var logs []vfs.File
	var old []string
	for _, a := range r.axes() {
		log, gone := a.Logs()
		if log != nil {
			logs = append(logs, log)
		}
		old = append(old, gone...)
	}
	g.saver.last = time.Now()
	g.saver.busy = make(chan error, 1)
	go func(done chan<- error) { done <- persist(g.scratch, j, files, logs, old) }(g.saver.busy)
	return nil
}

// saving waits for the save under way.
func (g *ingestion) saving() error {
	busy := g.saver.busy
	if busy == nil {
		return nil
	}
	g.saver.busy = nil
	err := <-busy
	g.saver.saved = g.saver.saved || err == nil
	return err
}

// saveNow is save, and returns when it is done.
func (g *ingestion) saveNow(step string) error {
	if err := g.save(step); err != nil {
		return err
	}
	return g.saving()
}

// persist makes files durable, then the journal that names them, and removes
// those that only the journal before has named.
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

// journal is a picture of the ingestion.
func (g *ingestion) journal(step string) *journal {
	r := g.reading
	j := &journal{
		Version: journalVersion, Inputs: g.files(), Options: g.o.shaping(), Memory: g.o.Memory,
		Step: step, Serial: g.scratch.Serial, Place: r.place, Format: r.format, Shape: r.shape.clone(),
		Lines: g.report.Lines, Bad: g.report.BadLines, LeftOut: g.report.LeftOut, InputBytes: r.uncompressed,
		Entries: g.spool.N, Spilled: g.spool.Spilled(), MostRuns: g.spool.Most,
		Users: r.users.State(), Items: r.items.State(),
		Seconds:    g.meter.spent(),
		Duplicates: g.report.Duplicates, Resumes: g.report.Resumes, Titled: g.report.Titled, Roles: r.roles, Spooled: g.o.base != nil && g.o.base.spooled, Loops: g.report.SelfLoops,
	}
	if g.resumed != nil {
		j.Memory = g.resumed.Memory // its runs are no longer than that allows
		j.Memory = max(j.Memory, g.o.Memory)
	}
	for _, err := range g.report.FirstBad {
		j.FirstBad = append(j.FirstBad, saveError(err))
	}
	if g.spool.InFiles {
		j.Runs = g.spool.Files()
	}
	j.Outside = r.outside
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.o.Duplicates == DuplicatesError && g.spool.N > 0 {
		v := r.stats.Values()
		j.Values = &v
	}
	return j
}

// leave ends an ingest that has failed: what can be resumed is kept.
func (g *ingestion) leave(err error) error {
	err = errors.Join(err, g.saving())
	err = errors.Join(err, g.scratch.Close())
	if g.saver.saved && resumable(err) {
		return &csr.UnfinishedError{What: "ingest", Dir: g.scratch.Name, Err: err}
	}
	return errors.Join(err, g.scratch.Remove())
}

// resumable tells whether an ingest that has failed so can succeed without
// being begun anew.
func resumable(err error) bool {
	var (
		parse     *format.ParseError
		duplicate *duplicateError
		memory    *budget.Error
	)
	return !errors.As(err, &parse) && !errors.As(err, &duplicate) && !errors.As(err, &memory) &&
		!errors.Is(err, format.ErrOverflow) && !errors.Is(err, format.ErrUnsupported) && !errors.Is(err, format.ErrEmpty) && !errors.Is(err, scratch.ErrDamaged) && !errors.Is(err, ids.ErrReorder) && !errors.Is(err, remote.ErrChanged)
}
