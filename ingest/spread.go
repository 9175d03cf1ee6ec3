package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// Tasks distribute an ingest: processes that see inputs and store under the same names read the inputs by calls of Do.
//
// A task reads neighbouring inputs in order, like an ingest of these inputs alone. Its results are runs of entries, lists of
// ids and a journal, as files of the scratch directory beside the store. The ingest takes these files over as its own; the ids
// become further generations. So the store does not depend on the tasks.
//
// After the ids are merged, each task ranks the ids of the entries that one task has read, sorts these entries and cuts them by
// rows. Then each task merges the rows of one cut: no merge is left, and entries of one place are in the same order as on one
// machine. A task may be done twice: each try has files of its own, and files that no result names are removed in the end.
type Tasks struct {
	Groups int // number of tasks; at most one per input is used
	// Run calls Do with the JSON of work for all i below n, ended after each, and take with the results in order of i.
	Run func(ctx context.Context, work any, n int, ended func(), take func(made float64)) error
}

// TasksError says why tasks cannot do what one machine does.
type TasksError struct{ Why string }

func (e *TasksError) Error() string { return e.Why + "; ingest it without tasks (no --engine)" }

// work describes the tasks of a step.
type work struct {
	Options Options
	Inputs  []string   // all inputs
	IDs     []input.ID // of the inputs, which must be the same for the tasks
	From    []int      // index of the first input of each task; then the number of inputs
	Scratch string

	Step  string
	Cuts  [2][]string // ids at which the lists of ids of rows and columns are cut
	Parts []float64   // results of Do of the tasks of the step before
	Names []ids.List  // all ids of rows and columns; one list for the nodes of a graph
}

// Steps of tasks. In stepRead a task reads inputs; in stepSort it sorts the entries that one task has read and cuts them by
// rows. In the other steps it merges the files of all tasks between two cuts.
const (
	stepIDs   = "ids"
	stepMerge = "merge"
)

// spreads returns a TasksError for inputs and options that tasks do not support.
func (o request) spreads(ctx context.Context, names []string, p plan) error {
	if o.Tasks == nil {
		return nil
	}
	for _, name := range append(slices.Clone(names), o.RowIDs, o.ColIDs) {
		switch {
		case name == "-":
			return &TasksError{"tasks cannot read standard input"}
		case remote.Is(name) && !strings.HasPrefix(strings.ToLower(name), "s3://"):
			return &TasksError{fmt.Sprintf("tasks do not read %s, whose password and query would be known to the engine: only files and s3://", input.DisplayName(name))}
		}
	}
	switch {
	case o.base != nil:
		return &TasksError{"tasks do not append to a store"}
	case o.Resume:
		return &TasksError{"tasks do not go on with what was interrupted (--resume)"}
	case len(o.Formats) > 0:
		return &TasksError{"tasks do not know formats that the program has added"}
	}
	src, err := openSource(ctx, o.opener(p.window), names[0], o, nil)
	if err != nil {
		return err
	}
	if src.shape != nil {
		err = &TasksError{fmt.Sprintf("%s declares the shape of a matrix, which is one input: tasks read lists of entries with ids", src.Name)}
	}
	return errors.Join(err, src.Close())
}

// spread has tasks read the inputs, if there are tasks, and takes over their results up to the first place that cannot be
// read. This process then reads on from that place and returns the error.
func (g *pipeline) spread(ctx context.Context, e *entries) error {
	if g.o.Tasks == nil {
		return nil
	}
	w := &work{Step: stepRead, Cuts: g.cuts, Options: g.o.Options, IDs: g.in.ids, From: shares(g.in.ids, g.o.Tasks.Groups)}
	w.Options.Titles, w.Options.RowTitles, w.Options.ColTitles = "", "", "" // read by this process alone; a URL may hold a password
	for _, name := range append(slices.Clone(g.in.names), g.scratch.Name) {
		at, err := remote.Abs(name)
		if err != nil {
			return err
		}
		w.Inputs = append(w.Inputs, at)
	}
	w.Inputs, w.Scratch = w.Inputs[:len(g.in.names)], w.Inputs[len(g.in.names)]
	if err := errors.Join(g.scratch.Make(), e.spool.Turn(0, 0)); err != nil { // from here on all entries go to files
		return err
	}
	made, err := w.run(ctx, e, g.in.size())
	for i := 0; i < len(made) && err == nil && e.Place.Input == w.From[i]; i++ {
		for _, bad := range made[i].FirstBad {
			if pe, ok := bad.(*format.ParseError); ok {
				if at := slices.Index(w.Inputs, pe.File); at >= 0 {
					pe.File = g.in.names[at]
				}
			}
		}
		err = e.join(made[i])
	}
	for _, a := range e.all() {
		a.Unranked = true
	}
	e.work = w
	return err
}

// run runs the tasks of a step, adds share to the progress, and reads their journals. w.Parts then names their results.
func (w *work) run(ctx context.Context, e *entries, share int64) (made []*journal, err error) {
	var parts []float64
	n := len(w.From) - 1
	left := n
	ended := func() {
		if left > 0 { // a task may be done twice
			e.meter.Add(int(share) / n)
			left--
		}
	}
	if err := e.o.Tasks.Run(ctx, w, n, ended, func(part float64) { parts = append(parts, part) }); err != nil {
		return nil, err
	}
	w.Parts = parts
	for i := range parts {
		j, err := w.part(e.scratch, i)
		if err != nil {
			return nil, err
		}
		made = append(made, j)
	}
	return made, nil
}

func (w *work) part(s *scratch.Dir, i int) (*journal, error) {
	j, err := readJournal(s, fmt.Sprintf("%06.0f.part", w.Parts[i]))
	if err != nil {
		return nil, fmt.Errorf("%w: that of a task: %w", scratch.ErrDamaged, err)
	}
	return j, nil
}

// settleByTasks has tasks merge the lists of ids, each between two cuts.
func (g *ordered) settleByTasks(ctx context.Context) error {
	w := *g.work
	w.Step = stepIDs
	made, err := w.run(ctx, g.entries, 0)
	if err != nil {
		return err
	}
	for k, a := range g.all() {
		var names ids.List
		for _, j := range made {
			for _, l := range []ids.State{j.Users, j.Items}[k].Closed {
				names.Parts, names.N, names.Text = append(names.Parts, l), names.N+l.N, l.Text
			}
		}
		err = errors.Join(err, a.Rank(g.scratch, names))
	}
	return err
}

// sortByTasks has each task sort the runs that one task has read, then merge the runs of its share of the rows.
func (g *ordered) sortByTasks(ctx context.Context) error {
	w, n := g.work, g.spool.N
	for _, a := range g.all() {
		w.Names = append(w.Names, a.Names())
	}
	for _, w.Step = range []string{stepSort, stepMerge} {
		made, err := w.run(ctx, g.entries, n/2)
		if err != nil {
			return err
		}
		old := g.spool.Give()
		for _, j := range made {
			if err := g.spool.Adopt(j.Runs, 0, 0, j.Spilled); err != nil {
				return scratch.Damaged(err)
			}
		}
		if g.spool.N != n {
			return fmt.Errorf("%w: %d entries are missing", scratch.ErrDamaged, n-g.spool.N)
		}
		for _, name := range old {
			if err := g.scratch.RemoveFile(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// shares cuts inputs into at most n ranges of about as many bytes: the first input of each, then the number of inputs.
func shares(ids []input.ID, n int) (from []int) {
	total, before, last := inputs{ids: ids}.size(), int64(0), -1
	for i, id := range ids {
		share := i * n / len(ids)
		if total > 0 {
			share = int(float64(before) / float64(total) * float64(n))
		}
		if share > last {
			from, last = append(from, i), share
		}
		before += id.Size
	}
	return append(from, len(ids))
}

// join takes over the entries that a task has read, behind those that e has.
func (e *entries) join(j *journal) error {
	users, items := e.users.Generations(), e.items.Generations()
	err := e.users.Adopt(e.scratch, j.Users.Closed)
	if err == nil && e.items != e.users {
		err = e.items.Adopt(e.scratch, j.Items.Closed)
	}
	if err == nil {
		err = e.spool.Adopt(j.Runs, users, items, j.Spilled)
	}
	if err == nil {
		err = e.spool.Turn(e.users.Generations(), e.items.Generations())
	}
	if err != nil {
		return scratch.Damaged(err)
	}
	if j.Values != nil {
		e.values.merge(new(j.stats()))
	}
	e.Place, e.Format, e.Roles = j.Place, j.Format, cmp.Or(e.Roles, j.Roles)
	e.Lines, e.InputBytes, e.Loops = e.Lines+j.Lines, e.InputBytes+j.InputBytes, e.Loops+j.Loops
	e.Outside.add(j.Outside)
	return e.tolerate(j.Bad, j.FirstBad, e.o.MaxBadLines)
}

// Do does task i of Tasks within the Memory and with the Workers of o. It reads from and writes to its FS.
func Do(ctx context.Context, text []byte, i int, o Options) (made float64, _ error) {
	var w work
	if err := json.Unmarshal(text, &w); err != nil {
		return 0, err
	}
	own := w.Options
	own.FS, own.Memory, own.Workers = o.FS, min(own.Memory, cmp.Or(o.Memory, own.Memory)), o.Workers
	r := own.withDefaults()
	defer r.net.Close()
	p, err := r.plan()
	if err != nil {
		return 0, err
	}
	return w.do(ctx, r, p, i)
}

func (w *work) do(ctx context.Context, r request, p plan, i int) (made float64, err error) {
	t := &task{o: r, plan: p, meter: newMeter(nil), report: &Report{}}
	serial := rand.IntN(1<<37) << 16 // random, so that no other try has it; exact in the 53 bits of a float64
	t.scratch = &scratch.Dir{FS: r.FS, Name: w.Scratch, Made: true, Serial: serial + 1}
	e := newEntries(t)
	defer func() { err = errors.Join(err, e.close(err != nil)) }()
	if w.Step == stepRead {
		err = w.read(ctx, e, i)
	} else if err = w.goOn(ctx, e, i); errors.Is(err, scratch.ErrDamaged) {
		return -1, nil // names no part, so that the ingest begins anew: another process would find the same damage
	}
	if err != nil {
		return 0, err
	}
	j := (&pipeline{task: t}).picture(e, w.Step)
	b, err := durable.Seal(j, &j.CRC)
	if err != nil {
		return 0, err
	}
	t.scratch.Serial = serial
	f, err := t.scratch.Create("part")
	if err != nil {
		return 0, err
	}
	_, err = f.Write(b)
	return float64(serial), errors.Join(err, f.Close())
}

// read reads the inputs of task i, up to the first error in them.
func (w *work) read(ctx context.Context, e *entries, i int) (err error) {
	from, to := w.From[i], w.From[i+1]
	if e.in, err = identify(ctx, e.o, w.Inputs[from:to]); err != nil {
		return err
	}
	for k, id := range e.in.ids {
		if id.Changed(w.IDs[from+k]) {
			return fmt.Errorf("%s is another file here than that of the process that has it read, or has changed", id.Name)
		}
	}
	e.in.names, e.Place.Input = w.Inputs[:to], from
	e.items.Cuts, e.users.Cuts = w.Cuts[1], w.Cuts[0]
	err = read(ctx, e, false, func() error { return nil })
	if err != nil && (ctx.Err() != nil || errors.As(err, new(*budget.Error)) || resumable(err) && !errors.As(err, new(*format.AmbiguityError))) {
		return err
	}
	return e.turnAll()
}

// goOn does task i of a step after stepRead.
func (w *work) goOn(ctx context.Context, e *entries, i int) error {
	if err := e.spool.Turn(0, 0); err != nil {
		return err
	}
	e.spool.Beside = fmt.Sprint(e.scratch.Serial)
	switch w.Step {
	case stepIDs:
		return w.mergeIDs(ctx, e, i)
	case stepSort:
		return w.sort(ctx, e, i)
	}
	return w.merge(ctx, e, i)
}

// mergeIDs merges the ids between two cuts, range i, of all parts.
func (w *work) mergeIDs(ctx context.Context, e *entries, i int) error {
	for k := range w.Parts {
		j, err := w.part(e.scratch, k)
		if err != nil {
			return err
		}
		for n, a := range e.all() {
			if err := a.AdoptShare(e.scratch, []ids.State{j.Users, j.Items}[n].Closed, i, len(w.Parts)); err != nil {
				return scratch.Damaged(err)
			}
		}
	}
	for _, a := range e.all() {
		if err := a.Merge(ctx, e.scratch, e.plan.Budget, e.held, e.meter); err != nil {
			return err
		}
	}
	return nil
}

// sort sorts the entries that task i has read, and cuts them by rows.
func (w *work) sort(ctx context.Context, e *entries, i int) error {
	j, err := w.part(e.scratch, i)
	if err != nil {
		return err
	}
	if err := e.join(j); err != nil {
		return scratch.Damaged(err)
	}
	for k, a := range e.all() {
		if err := a.Rank(e.scratch, w.Names[k]); err != nil {
			return err
		}
	}
	g := &ordered{entries: e}
	if g.pack, err = e.o.packer(format.Shape{Rows: e.users.N, Cols: e.items.N}); err != nil {
		return err
	}
	if err := e.spool.Sort(ctx, e.o.Workers, g.remap, g.by(), func(int) {}); err != nil {
		return err
	}
	below, n := make([]uint64, len(w.Parts)), int64(len(w.Parts))
	for k := range n {
		below[k] = uint64((k+1)*g.pack.Rows/n) << (g.by().KeyBits - g.pack.Bits + g.pack.ColBits)
	}
	below[n-1] = math.MaxUint64
	return e.spool.Split(ctx, g.by(), below)
}

// merge merges the rows of cut i of all parts.
func (w *work) merge(ctx context.Context, e *entries, i int) error {
	for k := range w.Parts {
		j, err := w.part(e.scratch, k)
		if err != nil {
			return err
		}
		if err := e.spool.Adopt(j.Runs[i:i+1], 0, 0, 0); err != nil {
			return scratch.Damaged(err)
		}
	}
	return e.spool.Split(ctx, (&ordered{entries: e}).by(), []uint64{math.MaxUint64})
}
