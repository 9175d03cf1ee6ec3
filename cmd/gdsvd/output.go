package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/spill"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
)

// output is a result directory that is being written. The solver knows the
// long vectors of the stored matrix as its left ones; the user's matrix may be
// the stored one's transpose, and then they are the user's V.
type output struct {
	fsys       vfs.FS
	stage      *vfs.Staging
	transposed bool
	vectors    vectors

	space  *spill.Dir // where the solver's vectors lie; nil if in memory
	long   *npy.Array // the solver's left vectors; nil when they are not needed
	events *eventLog
	lines  *json.Encoder
	files  []resultPart // that are complete
}

// vectors says which singular vectors the user wants.
type vectors struct {
	name string
	u, v bool
}

func (v vectors) String() string { return v.name }

var (
	bothVectors = vectors{"both", true, true}
	leftOnly    = vectors{"left", true, false}
	rightOnly   = vectors{"right", false, true}
	noVectors   = vectors{"none", false, false}
)

// longFile is the name of the file of the solver's left vectors, shortFile that of its right ones.
func (o *output) longFile() string {
	if o.transposed {
		return rightFile
	}
	return leftFile
}

func (o *output) shortFile() string {
	if o.transposed {
		return leftFile
	}
	return rightFile
}

// keepLong and keepShort tell which of the solver's vectors the user wants.
func (o *output) keepLong() bool {
	if o.transposed {
		return o.vectors.v
	}
	return o.vectors.u
}

func (o *output) keepShort() bool {
	if o.transposed {
		return o.vectors.u
	}
	return o.vectors.v
}

// newOutput begins a result directory for k triplets of a stored matrix with so
// many rows. At the end it replaces the checkpoint of the run that lies in its
// place by then, and a result there only if results says so.
func newOutput(fsys vfs.FS, dir string, results, transposed bool, want vectors, rows int64, k int) (_ *output, err error) {
	stage, err := vfs.StageOver(fsys, dir, true,
		func(path string) error { return replaceable(fsys, path, results) },
		func(stage string) (bool, error) { return false, onlyLeftovers(fsys, stage) })
	if err != nil {
		return nil, err
	}
	o := &output{fsys: fsys, stage: stage, transposed: transposed, vectors: want}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.abort())
		}
	}()
	// The signs are those of the user's V: where that is the long side it is
	// needed even if only U is kept.
	if o.keepLong() || transposed && o.keepShort() {
		if o.long, err = npy.Create(fsys, o.path(o.longFile()), rows, int64(k)); err != nil {
			return nil, err
		}
	}
	if o.events, err = newEventLog(fsys, o.path(eventsFile)); err != nil {
		return nil, err
	}
	o.lines = json.NewEncoder(o.events)
	return o, nil
}

// onlyLeftovers makes sure that the directory in which a result is made holds at
// most what a run that died has left: ingest and generate keep a store there that
// is unfinished, if it has the same name.
func onlyLeftovers(fsys vfs.FS, stage string) error {
	entries, err := fsys.ReadDir(stage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !ofResult(name) && !spill.Made(name) {
			return fmt.Errorf("%s holds %s, which is not of a result: finish the store that is made there (its command with --resume), remove it, or give another -o", stage, name)
		}
	}
	return nil
}

func (o *output) path(name string) string { return filepath.Join(o.stage.Dir(), name) }

// left is what the solver writes its left vectors to: nil if nobody needs them.
func (o *output) left() solver.RowStore {
	if o.long == nil {
		return nil // not a nil *npy.Array in an interface
	}
	return o.long
}

// commit writes what is missing and publishes the directory.
func (o *output) commit(res *solver.Result, meta *result, act *activity) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, o.abort())
		}
	}()
	if err := o.writeFiles(res, act); err != nil {
		return err
	}
	if o.space != nil {
		// Before the directory is published, lest a file that still has a name be.
		if err := errors.Join(o.space.Err(), o.space.Close()); err != nil {
			return err
		}
	}
	meta.Files = o.files
	text, err := durable.Seal(meta, &meta.CRC)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(o.fsys, o.path(resultFile), durable.Bytes(text)); err != nil {
		return err
	}
	return o.stage.Commit()
}

// writeFiles writes and closes all files but result.json, and lists them. Each waits
// for the disk by itself.
func (o *output) writeFiles(res *solver.Result, act *activity) error {
	events, sigma, long := resultPart{Name: eventsFile}, resultPart{Name: sigmaFile}, resultPart{Name: o.longFile()}
	var others errgroup.Group
	others.Go(func() (err error) {
		events.Size, events.CRC, err = o.finishEvents()
		return err
	})
	others.Go(func() error { return sigma.of(npy.WriteVector(o.fsys, o.path(sigmaFile), res.Sigma)) })
	others.Go(func() error { return o.finishLong(res, &long) })
	var err error
	short := resultPart{Name: o.shortFile()}
	if o.keepShort() && res.Right != nil {
		n, k := res.Right.Dims()
		act.Expect(8 * int64(n) * int64(k))
		err = short.of(npy.WriteMatrix(o.fsys, o.path(o.shortFile()), res.Right, func(rows *mat.Dense) {
			act.done.Add(8 * int64(len(rows.RawMatrix().Data)))
			o.passed(rows)
		}))
	}
	if err := cmp.Or(err, others.Wait()); err != nil {
		return err
	}
	for _, part := range []resultPart{sigma, long, short, events} {
		if part.Size > 0 {
			o.files = append(o.files, part)
		}
	}
	slices.SortFunc(o.files, func(a, b resultPart) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// of takes over what is known about a file that has been written.
func (p *resultPart) of(sum npy.Sum, err error) error {
	p.Size, p.CRC = sum.Size, crc.Sum(sum.CRC)
	return err
}

// finishLong closes the file of the left vectors, or removes it if nobody asked for them.
func (o *output) finishLong(res *solver.Result, part *resultPart) error {
	if o.long == nil {
		return nil
	}
	long := o.long
	o.long = nil
	if o.keepLong() && res.Certified {
		return part.of(long.Finish())
	}
	return errors.Join(long.Discard(), o.fsys.Remove(o.path(o.longFile())))
}

// passed says that rows of the solver's vectors have been written, and that those
// behind them come next.
func (o *output) passed(rows *mat.Dense) {
	if o.space != nil {
		x := rows.RawMatrix().Data
		o.space.Fetch(x[len(x):min(cap(x), 2*len(x))])
		o.space.Drop(x)
	}
}

func (o *output) finishEvents() (int64, crc.Sum, error) {
	events := o.events
	o.events = nil
	return events.finish()
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
