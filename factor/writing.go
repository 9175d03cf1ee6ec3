package factor

import (
	"math"
	"time"

	"github.com/gdsvd/gdsvd/internal/outlook"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
	"github.com/gdsvd/gdsvd/vfs"
)

// activity is something that is done to its end although the run was cancelled,
// because what has been computed would be lost.
type activity struct {
	t           *task
	what        string
	done, total int64 // bytes; a total of 0 is not known
}

// writing begins an activity, which lasts until its end.
func (t *task) writing(what string) *activity {
	x := &activity{t: t, what: what}
	x.tell()
	return x
}

func (x *activity) tell()     { x.t.Writing(x.what, x.done, x.total) }
func (x *activity) end()      { x.t.Writing("", 0, 0) }
func (x *activity) add(n int) { x.done += int64(n); x.tell() }

// Expect says how many bytes there are to be written: see solver.Checkpointer.
func (x *activity) Expect(bytes int64) { x.total += bytes; x.tell() }

// countedFile is a file that is being written by an activity. It waits for the disk now and
// then, so that the bytes that are counted are on it and the end is no surprise.
type countedFile struct {
	*activity
	f     vfs.File
	dirty int
}

// syncBytes is what is written between two waits for the disk.
const syncBytes = 256 << 20

func (c *countedFile) Write(b []byte) (int, error) {
	n, err := c.f.Write(b)
	c.add(n)
	c.dirty += n
	if err == nil && c.dirty >= syncBytes {
		c.dirty = 0
		err = c.f.Sync()
	}
	return n, err
}

// observer records the passes of a run in out and tells of them.
func (t *task) observer(out *output) func(solver.Event) error {
	expected := cost.EstimateOf(t.problem(t.planned), t.machine(), t.Method)
	iteration := outlook.Iteration{
		Expected: float64(expected.Passes - 1), Superlinear: t.Method.Traits(t.Rank).Copies > 0, Blind: t.Stop == solver.StopPaper,
		MaxPasses: t.MaxPasses, Deadline: t.TimeLimit, Finish: t.finishTime,
	}
	return func(e solver.Event) error {
		if err := out.lines.Encode(EventOf(e)); err != nil {
			return err
		}
		t.Pass(e, Outlook(iteration.Observe(outlook.Moment{
			Pass: e.Pass, Elapsed: e.Stats.Total, Rank: e.Rank, Locked: e.Locked,
			Open: e.Open, More: e.More, Residual: e.Worst, Tol: e.Goal, Finished: e.Phase == solver.PhaseFinish,
		})))
		return nil
	}
}

// finishTime estimates what comes after the search: a pass with as many columns
// as triplets, and long vectors written, read and written again.
func (t *task) finishTime(pass time.Duration) time.Duration {
	const diskRate = 1e9 // bytes a second, of a disk or of the page cache
	wider := float64(t.Rank) / float64(t.Method.Traits(t.Rank).Width(t.Rank))
	s := pass.Seconds() * max(1, math.Pow(wider, 0.7)) // wide passes cost less a column
	if t.Vectors != None {
		s += 3 * 8 * float64(t.store.Rows()) * float64(t.Rank) / diskRate
	}
	return time.Duration(s * float64(time.Second))
}
