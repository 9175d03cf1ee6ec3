package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Report is what an ingest did.
type Report struct {
	Store           string
	Finished        bool   // it was there already; what is not told by the store is 0
	Format          Format // recognised
	Rows, Cols, NNZ int64  // in the user's orientation
	Transposed      bool   // the store holds the transpose
	Lines, BadLines int64
	FirstBad        []error // up to 10 tolerated *ParseErrors
	Duplicates      int64   // entries merged into another one
	Bytes           int64   // of the store
	InputBytes      int64   // uncompressed
	Fingerprint     string
	Estimate        Estimate
	Resumes         int   // times it was interrupted and resumed
	Runs            int   // sorted, most at a time
	Spool           int64 // bytes the runs took before they were merged
	IDLists         int   // sorted lists of ids that did not fit in memory
	ReadSeconds     float64
	SortSeconds     float64 // ranking the ids included
	WriteSeconds    float64
	SpilledBytes    int64 // entries written to temporary files, rewriting included
}

// Ingest reads inputs (paths, globs, or "-" for Options.Stdin) as one matrix,
// one after the other, and publishes a store at out. Until then, and after any
// error or cancellation, out is what it was before.
//
// An ingest that needs temporary files, and whose inputs can be read again, is
// saved from time to time. If it is cancelled, fails for want of space or dies,
// what it has done is left in out + SpoolSuffix (an *UnfinishedError tells), and
// with Options.Resume the next one goes on from there, or finds that out is the
// finished store of the same inputs and options. Other failures leave no
// temporary file.
//
// What is wrong with an input is a *ParseError, two entries at one place a
// *DuplicateError, a budget that cannot be kept a *MemoryError, too little room
// on the disk a *SpaceError; an existing out without Options.Force is fs.ErrExist.
func Ingest(ctx context.Context, inputs []string, out string, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	p, err := newPlan(o.Memory, o.Workers)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return ingest(ctx, inputs, out, o, p)
}

// An ingestion goes from inputs to a store by way of sorted entries.
type ingestion struct {
	o       Options
	plan    plan
	names   []string
	staging *vfs.Staging
	meter   *meter
	report  *Report
	reading *reading
	spool   *spool
	scratch *scratch
	inputs  []inputID // nil if they cannot be read again
	saver   saver
	resumed *journal // nil: begun anew

	pack keyPacker
}

func ingest(ctx context.Context, inputs []string, out string, o Options, p plan) (_ *Report, err error) {
	names, err := expand(o.FS, inputs)
	if err != nil {
		return nil, err
	}
	if o.Resume {
		for _, look := range []func(Options, []string, string) (*Report, error){finished, complete} {
			if done, err := look(o, names, out); done != nil || err != nil {
				return done, err
			}
		}
	}
	staging, err := csr.Stage(o.FS, out, o.Force)
	if err != nil {
		return nil, err
	}
	g := newIngestion(o, p, names, staging, out)
	defer func() { err = errors.Join(err, staging.Abort()) }() // nothing after Commit
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	if err := g.run(ctx); err != nil {
		return nil, g.leave(err)
	}
	g.meter.end()
	if err := g.scratch.remove(); err != nil {
		return nil, fmt.Errorf("remove temporary files: %w", err)
	}
	return g.report, g.describe(out)
}

func newIngestion(o Options, p plan, names []string, staging *vfs.Staging, out string) *ingestion {
	g := &ingestion{
		o: o, plan: p, names: names, staging: staging, meter: newMeter(o.Observer), report: &Report{Store: out},
		scratch: &scratch{fs: o.FS, dir: staging.Target() + SpoolSuffix},
		saver:   saver{every: o.CheckpointEvery, last: time.Now()},
	}
	r := &reading{
		o: o, plan: p, names: names, meter: g.meter, report: g.report, scratch: g.scratch,
		open:  opener{fs: o.FS, stdin: o.Stdin, bytes: new(atomic.Int64), maxWindow: uint64(p.window)},
		users: newAxis(), items: newAxis(),
	}
	r.save = func() error {
		if !g.due() {
			return nil
		}
		return g.save(stepRead)
	}
	r.spool = newSpool(p, g.scratch, true, r.held)
	g.reading, g.spool = r, r.spool
	return g
}

// begin finds out where to begin, and whether there is room for it all.
func (g *ingestion) begin(ctx context.Context) (err error) {
	if g.inputs, err = identify(g.o.FS, g.names); err != nil {
		return err
	}
	g.scratch.durable = g.inputs != nil && g.o.CheckpointEvery > 0
	g.spool.durable = g.scratch.durable
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
	defer func() { err = errors.Join(err, r.users.close(), r.items.close()) }()
	for _, stage := range []func(context.Context) error{g.read, g.sort, g.write} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	return nil
}

// read spools the entries of all inputs.
func (g *ingestion) read(ctx context.Context) error {
	r := g.reading
	if g.resumed != nil && g.resumed.Step != stepRead {
		return r.shape(ctx)
	}
	r.total = g.inputSize()
	g.meter.begin(StageRead, r.total)
	if err := r.run(ctx); err != nil {
		return err
	}
	g.report.Format = r.format
	g.report.InputBytes = r.uncompressed
	if r.keys == nil && r.spool.n == 0 {
		return &ParseError{File: displayName(g.names[len(g.names)-1]), Err: fmt.Errorf("%w in the input", ErrEmpty)}
	}
	g.o.Log.Debug("read", "format", r.format, "entries", r.spool.n, "spilled", r.spool.onto)
	if err := r.spool.finish(); err != nil || !r.spool.onto {
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

func displayName(input string) string {
	if input == "-" {
		return stdinName
	}
	return input
}

// sort settles places and sorts the entries.
func (g *ingestion) sort(ctx context.Context) error {
	r := g.reading
	total := r.spool.n
	if g.o.Duplicates != DuplicatesError {
		total *= 2 // they are walked once more to learn the final values
	}
	if err := g.settle(ctx); err != nil {
		return err
	}
	g.meter.begin(StageSort, total)
	by := g.order()
	g.o.Log.Debug("sort", "rows", g.pack.rows, "cols", g.pack.cols, "transposed", g.pack.transposed, "runs", len(g.spool.runs))
	if err := g.sortRuns(ctx, by); err != nil {
		return err
	}
	g.report.Runs = g.spool.most
	if g.spool.onto {
		g.report.Spool = max(g.report.Spool, g.spool.fileBytes())
	}
	g.meter.extend(g.spool.reduceWork())
	saved := func() error { return nil }
	if g.scratch.durable {
		saved = func() error { return g.saveNow(stepSort) }
	}
	if err := g.spool.reduce(ctx, by, saved, g.meter.add); err != nil {
		return err
	}
	if g.o.Duplicates == DuplicatesError {
		return nil
	}
	r.stats = csr.ValueStats{}
	_, err := g.walk(ctx, func(part []entry) error {
		for _, e := range part {
			r.stats.Add(e.val)
		}
		return nil
	})
	return err
}

// sortRuns sorts the runs, those of one generation of ids after the other.
func (g *ingestion) sortRuns(ctx context.Context, by sortOrder) error {
	runs := g.spool.runs
	for lo, hi := 0, 0; lo < len(runs); lo = hi {
		for hi = lo + 1; hi < len(runs) && runs[hi].users == runs[lo].users && runs[hi].items == runs[lo].items; hi++ {
		}
		if !slices.ContainsFunc(runs[lo:hi], func(r run) bool { return !r.sorted }) {
			for _, r := range runs[lo:hi] {
				g.meter.add(r.n)
			}
			continue
		}
		remap, err := g.remap(runs[lo].users, runs[lo].items)
		if err != nil {
			return err
		}
		if err := g.spool.sort(ctx, lo, hi, g.o.Workers, remap, by, g.meter.add); err != nil {
			return err
		}
	}
	return errors.Join(g.reading.users.sorted(), g.reading.items.sorted())
}

// A remap turns temporary ids of one generation of users and one of items into keys.
type remap struct {
	users, items []uint32 // ranks
	pack         keyPacker
}

// entries does nothing if m is nil: keys are places already.
func (m *remap) entries(e []entry) {
	if m == nil {
		return
	}
	users, items, toUser, toItem := m.shifts()
	for i := range e {
		k := e[i].key
		e[i].key = uint64(users[k>>32])<<toUser | uint64(items[uint32(k)])<<toItem
	}
}

// shifts are the ranks and where in a key they are.
func (m *remap) shifts() (users, items []uint32, toUser, toItem int) {
	if m.pack.transposed {
		return m.users, m.items, 0, m.pack.colBits
	}
	return m.users, m.items, m.pack.colBits, 0
}

// remap is that of the generations, or nil.
func (g *ingestion) remap(userGen, itemGen int) (*remap, error) {
	r := g.reading
	if r.keys != nil {
		return nil, nil
	}
	users, err := r.users.ranksOf(userGen)
	if err != nil {
		return nil, err
	}
	items, err := r.items.ranksOf(itemGen)
	if err != nil {
		return nil, err
	}
	return &remap{users, items, g.pack}, nil
}

func (g *ingestion) order() sortOrder {
	d := g.o.Duplicates
	return sortOrder{keyBits: g.pack.bits, byValue: d == Sum || d == Mean || d == Max}
}

// settle ranks the ids and decides the shape and orientation.
func (g *ingestion) settle(ctx context.Context) (err error) {
	r := g.reading
	if r.keys != nil {
		g.pack = *r.keys
		return nil
	}
	if len(r.users.closed)+len(r.items.closed) > 0 {
		g.meter.begin(StageIDs, 0)
	}
	for _, a := range []*axis{r.users, r.items} {
		if err := a.settle(ctx, g.scratch, g.plan, r.held, g.meter); err != nil {
			return err
		}
	}
	g.report.IDLists = len(r.users.closed) + len(r.items.closed)
	if g.pack, err = newKeyPacker(r.users.n, r.items.n, g.o.Orient); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	return nil
}

// walk merges the runs and calls emit for all places in ascending order, part
// after part, duplicates combined. Merging goes on meanwhile.
func (g *ingestion) walk(ctx context.Context, emit func(part []entry) error) (duplicates int64, err error) {
	m, err := g.spool.merge(g.spool.runs, g.order())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	group, ctx := errgroup.WithContext(ctx)
	c := combiner{
		policy:    g.o.Duplicates,
		collision: func(key uint64) error { return g.duplicateError(ctx, key) },
		overflow: func(key uint64) error {
			row, col := g.place(key)
			return fmt.Errorf("combine entries at row %s, column %s: %w", row, col, ErrOverflow)
		},
	}
	parts, free := make(chan []entry, walkParts), make(chan []entry, walkParts)
	for range walkParts {
		free <- make([]entry, 0, walkPart)
	}
	group.Go(func() error {
		defer close(parts)
		return g.combine(ctx, m, &c, parts, free)
	})
	group.Go(func() error {
		for part := range parts {
			if err := emit(part); err != nil {
				return err
			}
			free <- part[:0]
		}
		return nil
	})
	err = group.Wait()
	return c.duplicates, err
}

const (
	walkPart  = 1 << 13 // entries handed over at a time
	walkParts = 3
)

// combine sends all places to parts, in buffers it takes from free.
func (g *ingestion) combine(ctx context.Context, m *merger, c *combiner, parts, free chan []entry) error {
	for more := true; more; {
		var part []entry
		select {
		case part = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		part, n, err := c.next(part, m.read)
		if err != nil {
			return err
		}
		if more = n > 0; !more {
			if part, err = c.end(part); err != nil {
				return err
			}
		}
		parts <- part // there is room for all
		g.meter.add(n)
	}
	return nil
}

// place names a place in the user's matrix: ids, or indices from 1.
func (g *ingestion) place(key uint64) (row, col string) {
	i, j := g.userPlace(key)
	if g.reading.keys != nil {
		return fmt.Sprint(i + 1), fmt.Sprint(j + 1)
	}
	return g.reading.users.name(g.scratch, i), g.reading.items.name(g.scratch, j)
}

// userPlace unpacks a key to the user's orientation.
func (g *ingestion) userPlace(key uint64) (row, col int64) {
	i, j := g.pack.stored(key)
	if g.pack.transposed {
		return int64(j), i
	}
	return i, int64(j)
}

// write writes the store and publishes it.
func (g *ingestion) write(ctx context.Context) (err error) {
	g.meter.begin(StageWrite, g.spool.n)
	w, err := csr.Create(g.report.Store, csr.CreateOptions{
		FS: g.o.FS, Cols: g.pack.cols, Values: g.reading.stats.Values(), Transposed: g.pack.transposed,
		ShardSize: g.o.ShardSize, Source: g.source(), Staging: g.staging, Workers: g.plan.encoders,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // nothing after Commit
	rows := rowWriter{w: w, pack: g.pack, most: g.longestRow()}
	if g.report.Duplicates, err = g.walk(ctx, rows.add); err != nil {
		if me := (*MemoryError)(nil); errors.As(err, &me) {
			me.Budget, me.Need = g.o.Memory, g.o.Memory+2*rowCost*g.pack.cols
		}
		return err
	}
	if err := rows.flush(g.pack.rows); err != nil {
		return err
	}
	if err := g.writeIDs(ctx, w); err != nil {
		return err
	}
	g.report.SpilledBytes = g.spool.spilled.Load()
	if g.saver.saved {
		if err := g.saveCommit(w); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Commit()
}

// saveCommit notes the fingerprint of the store that is about to be published:
// if it is there when the ingest is resumed, all is done.
func (g *ingestion) saveCommit(w *csr.Writer) (err error) {
	j := g.journal(stepCommit)
	if j.Fingerprint, err = w.Seal(); err != nil {
		return err
	}
	return j.write(g.scratch)
}

// rowCost is the bytes an entry of the row being put together takes here and
// in csr.Writer, growing included.
const rowCost = 64

// longestRow is how many entries of a row fit in half of what the sort used.
func (g *ingestion) longestRow() int {
	return int(max(csr.BlockNNZ, (g.plan.space-g.reading.held())/2/rowCost))
}

func (g *ingestion) writeIDs(ctx context.Context, w *csr.Writer) error {
	if g.reading.keys != nil {
		return nil
	}
	users, items := csr.RowAxis, csr.ColAxis
	if g.pack.transposed {
		users, items = items, users
	}
	return errors.Join(
		g.reading.users.write(ctx, g.scratch, w, users),
		g.reading.items.write(ctx, g.scratch, w, items))
}

// source is what the manifest says about where the matrix came from. It must
// depend on nothing but the inputs and the options that shape the matrix.
func (g *ingestion) source() map[string]any {
	s := g.origin()
	s["format"] = g.reading.format.String()
	s["entries"] = g.spool.n
	s["duplicates"] = g.o.Duplicates.String()
	if g.report.BadLines > 0 {
		s["bad_lines"] = g.report.BadLines
	}
	return s
}

// describe completes the report from the published store.
func (g *ingestion) describe(out string) error {
	rep := g.report
	sec := g.meter.seconds
	rep.ReadSeconds, rep.SortSeconds, rep.WriteSeconds = sec[StageRead], sec[StageIDs]+sec[StageSort], sec[StageWrite]
	s, err := csr.Open(out, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return fmt.Errorf("open the new store: %w", err)
	}
	rep.Rows, rep.Cols, rep.NNZ, rep.Transposed = s.Rows(), s.Cols(), s.NNZ(), s.Transposed()
	if rep.Transposed {
		rep.Rows, rep.Cols = rep.Cols, rep.Rows
	}
	rep.Fingerprint, rep.Bytes = s.Fingerprint(), s.Size()
	return s.Close()
}
