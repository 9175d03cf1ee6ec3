package factor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"sort"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// output is a result directory that is being written. The solver's left vectors are the long ones of the stored matrix, its
// right vectors the short ones.
type output struct {
	fsys                vfs.FS
	stage               *vfs.Staging
	longFile, shortFile string
	keepLong, keepShort bool // whether the user wants the file
	longRows            int64

	space  *spill.Dir   // files of the solver's vectors; nil: in memory
	long   *npy.Array   // file of the solver's left vectors; nil: not needed, or in parts
	parts  *remote.Left // the left vectors, if tasks have made them
	events *eventLog
	lines  *json.Encoder
	files  []File // files that are complete
}

// newOutput begins the result directory of a task. On commit, it replaces the checkpoint that the run keeps at t.Dir, and
// a result there if the directory existed at the beginning.
func newOutput(t *task, before outState, tasks *remote.Matrix) (_ *output, err error) {
	stage, err := vfs.Stage(t.FS, t.Dir, true,
		func(path string) error { return replaceable(t.FS, path, before.exists) },
		func(stage string) (bool, error) { return false, onlyLeftovers(t.FS, stage) })
	if err != nil {
		return nil, err
	}
	o := &output{fsys: t.FS, stage: stage, longRows: t.store.Rows()}
	o.longFile, o.shortFile = csr.Orient(t.store, layout.Left, layout.Right)
	o.keepLong, o.keepShort = csr.Orient(t.store, t.Vectors.u(), t.Vectors.v())
	signLong := t.signLong()
	if t.pairs() {
		o.shortFile, o.keepLong, o.keepShort, signLong = layout.Right, false, t.Vectors.v(), false
	}
	defer durable.Undo(&err, o.abort)
	long := o.keepLong || signLong && o.keepShort
	if err = o.room(t, long); err != nil {
		return nil, err
	}
	switch {
	case long && tasks != nil:
		o.parts = tasks.Left()
	case long:
		if err = (*longRows)(o).create(t.Rank); err != nil {
			return nil, err
		}
	}
	file, err := t.FS.Create(o.path(layout.Events))
	if err != nil {
		return nil, err
	}
	o.events = &eventLog{file: file}
	if t.Command != nil {
		line, _ := json.Marshal(t.again())
		o.events.again = append(line, '\n')
	}
	o.lines = json.NewEncoder(o.events)
	return o, nil
}

// room returns an error if the disk is too full for the vectors of a task; long says whether the long vectors are among
// them. With a share of the energy the number of vectors is not known before the run, and room returns nil.
func (o *output) room(t *task, long bool) error {
	if t.Energy > 0 {
		return nil
	}
	var numbers int64
	if long {
		numbers += t.store.Rows()
	}
	if o.keepShort {
		numbers += t.store.Cols()
	}
	free, err := o.fsys.FreeSpace(o.stage.Dir())
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if need := 8 * numbers * int64(t.Rank); err == nil && need > free {
		err = says(nil, "the vectors take %s, and the disk of %s has %s free: make room, or give another %v",
			memory.FormatSize(need), t.Dir, memory.FormatSize(free), Option("Dir"))
	}
	return err
}

// onlyLeftovers returns an error if the directory in which a result is made holds anything but the leftovers of a run that
// died: ingest and generate keep an unfinished store of the same name there.
func onlyLeftovers(fsys vfs.FS, stage string) error {
	entries, err := fsys.ReadDir(stage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !layout.OfResult(name) && !spill.Made(name) {
			return says(nil, "%s holds %s, which is not of a result: finish the store that is made there (its command with %v), remove it, or give another %v",
				stage, name, Option("Resume"), Option("Dir"))
		}
	}
	return nil
}

func (o *output) path(name string) string { return filepath.Join(o.stage.Dir(), name) }

// left returns the store for the solver's left vectors, nil if they are not wanted.
func (o *output) left() solver.RowStore {
	switch {
	case o.parts != nil:
		return o.parts
	case o.long != nil:
		return (*longRows)(o)
	}
	return nil // not a nil *output in an interface
}

// longRows is the file of the left vectors of the solver. It implements solver.Resizer.
type longRows output

func (l *longRows) WriteRows(first int64, rows *mat.Dense) error {
	return l.long.WriteRows(first, rows)
}
func (l *longRows) ReadRows(first int64, rows *mat.Dense) error { return l.long.ReadRows(first, rows) }

func (l *longRows) Resize(k int) error {
	if err := errors.Join(l.long.Discard(), l.fsys.Remove((*output)(l).path(l.longFile))); err != nil {
		return err
	}
	return l.create(k)
}

func (l *longRows) create(k int) (err error) {
	l.long, err = npy.Create(l.fsys, (*output)(l).path(l.longFile), l.longRows, int64(k))
	return err
}

// commit writes the missing files and publishes the directory.
func (o *output) commit(res *solver.Result, meta *Result, act *activity) (err error) {
	defer durable.Undo(&err, o.abort)
	if err := o.writeFiles(res, act); err != nil {
		return err
	}
	if o.space != nil {
		// A file of the space that still has a name must not be published with the directory.
		if err := errors.Join(o.space.Err(), o.space.Close()); err != nil {
			return err
		}
	}
	meta.Files = o.files
	if err := meta.list(); err != nil {
		return err
	}
	text, err := durable.Seal(meta, &meta.CRC)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(o.fsys, o.path(ResultFile), durable.Bytes(text)); err != nil {
		return err
	}
	return o.stage.Commit()
}

// writeFiles writes, syncs and closes all files but result.json, and lists them.
func (o *output) writeFiles(res *solver.Result, act *activity) error {
	events, sigma, long := File{Name: layout.Events}, File{Name: SigmaFile}, File{Name: o.longFile}
	values := res.Sigma
	if res.Lambda != nil {
		sigma.Name, values = LambdaFile, res.Lambda
	}
	var others errgroup.Group
	log := o.events
	o.events = nil
	others.Go(func() (err error) {
		events.Size, events.CRC, err = log.finish()
		return err
	})
	others.Go(func() error { return sigma.of(npy.WriteVector(o.fsys, o.path(sigma.Name), values)) })
	others.Go(func() error { return o.finishLong(res, &long) })
	var err error
	short := File{Name: o.shortFile}
	if o.keepShort && res.Right != nil {
		n, k := res.Right.Dims()
		act.Expect(8 * int64(n) * int64(k))
		err = short.of(npy.WriteMatrix(o.fsys, o.path(o.shortFile), res.Right, func(rows *mat.Dense) {
			act.add(8 * len(rows.RawMatrix().Data))
			o.passed(rows)
		}))
	}
	if err := cmp.Or(err, others.Wait()); err != nil {
		return err
	}
	for _, part := range []File{sigma, long, short, events} {
		if part.Size > 0 {
			o.files = append(o.files, part)
		}
	}
	sort.Slice(o.files, func(i, j int) bool { return o.files[i].Name < o.files[j].Name })
	return nil
}

// of sets the size and checksums of a file that has been written.
func (p *File) of(sum npy.Sum, err error) error {
	p.Size, p.CRC, p.Pieces = sum.Size, sum.CRC, sum.Pieces
	return err
}

// finishLong closes the file of the left vectors, or removes it if they are not wanted.
func (o *output) finishLong(res *solver.Result, part *File) error {
	if o.parts != nil && o.keepLong && res.Certified {
		if err := (*longRows)(o).create(len(res.Sigma)); err != nil {
			return err
		}
		if err := o.parts.WriteTo(context.Background(), o.long); err != nil {
			return err
		}
	}
	if o.long == nil {
		return nil
	}
	long := o.long
	o.long = nil
	if o.keepLong && res.Certified {
		return part.of(long.Finish())
	}
	return errors.Join(long.Discard(), o.fsys.Remove(o.path(o.longFile)))
}

// passed evicts rows of the solver's vectors that have been written, and fetches as many rows behind them.
func (o *output) passed(rows *mat.Dense) {
	if o.space != nil {
		x := rows.RawMatrix().Data
		o.space.Fetch(x[len(x):min(cap(x), 2*len(x))])
		o.space.Evict(x)
	}
}

// abort removes what was written. After commit it does nothing.
func (o *output) abort() error {
	var errs []error
	if o.long != nil {
		errs = append(errs, o.long.Discard())
		o.long = nil
	}
	if o.events != nil {
		errs = append(errs, o.events.file.Close())
		o.events = nil
	}
	return errors.Join(append(errs, o.stage.Abort())...)
}
