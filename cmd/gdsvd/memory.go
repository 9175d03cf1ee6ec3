package main

import (
	"errors"
	"path/filepath"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/spill"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// placement is where a run has what it needs: all of it in memory, or, if that is
// too much for the budget, the vectors in files beside OUT.
type placement struct {
	options stream.Options
	plan    stream.Plan
	files   int64 // bytes of vectors in files; 0: none are
	window  int64 // bytes of them that are in memory at a time
}

// reads is how often a pass reads the store.
func (p *placement) reads() int { return (p.options.Width + p.plan.Together - 1) / p.plan.Together }

// lastReads is how often the finishing pass does.
func (p *placement) lastReads() int {
	if p.plan.Group == 0 {
		return 1
	}
	return (p.options.Rank + p.plan.Group - 1) / p.plan.Group
}

// onTheWay is what rows take on their way to a file.
const onTheWay = 4 << 20

// fit finds the place for a run with a method. The error is that of the least
// budget that can work.
func (o *svdOptions) fit(store *csr.Store, method solver.Method) (placement, error) {
	n := int(o.order(store))
	width := method.Traits(o.rank).Width(o.rank)
	if o.init != "" {
		width = max(width, solver.GivenWidth(method, o.rank))
	}
	width = int(min(int64(width), store.Cols()))
	all := placement{options: stream.Options{
		Memory: o.memory, Reserve: solver.RunFootprint(method, n, o.rank) + onTheWay,
		Workers: o.workers, Width: width, Rank: o.rank,
	}}
	var err error
	if all.plan, err = stream.PlanFor(store, all.options); err == nil || o.operator == solver.Dilation {
		return all, err
	}
	some := all
	var inside int64
	some.files, some.window, inside = solver.SpaceFootprint(method, n, o.rank)
	some.files += o.groupBytes(store)
	some.options.Reserve, some.options.Mapped, some.options.Space = inside+onTheWay, some.window, spill.New(nil, "")
	var outside error
	if some.plan, outside = stream.PlanFor(store, some.options); outside == nil {
		if some.plan.Together < width && o.operator == solver.Symmetric {
			return some, err // its product takes all columns in one read
		}
		return some, nil
	}
	var a, b *stream.BudgetError
	if errors.As(err, &a) && errors.As(outside, &b) && b.Need < a.Need {
		err = outside
	}
	return some, err
}

// groupBytes is what the columns of W take that one read of the finishing pass
// leaves for the next, at most.
func (o *svdOptions) groupBytes(store *csr.Store) int64 { return 8 * store.Rows() * int64(o.rank-1) }

// space returns the files of the vectors, which are made when they are needed, in
// the directory that is to become OUT: what is left behind there, where the system
// does not take it away itself, goes with the next run.
func (p *placement) space(fsys vfs.FS, out string) *spill.Dir {
	d := spill.New(fsys, filepath.Clean(out)+vfs.PartialSuffix)
	if p.files > 0 {
		p.options.Space = d
	}
	return d
}
