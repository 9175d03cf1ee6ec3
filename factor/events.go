package factor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/outlook"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/cost"
)

// Event is a line of events.jsonl: a pass of a factorisation, or a round of a completion.
type Event struct {
	Phase     string  `json:"phase"`
	Pass      int     `json:"pass"`    // number of the pass or round
	Triplet   int     `json:"triplet"` // index of the triplet that the pass was about, from 0; this and the fields down to Seconds are of a pass
	Locked    int     `json:"locked"`  // number of triplets found
	Sigma     Number  `json:"sigma"`
	Residual  Number  `json:"residual"`
	Open      int     `json:"open"`  // number of triplets looked for together
	Worst     Number  `json:"worst"` // largest residual of these triplets
	Goal      Number  `json:"goal"`  // value that Worst has to fall to
	BytesRead int64   `json:"bytes_read"`
	Seconds   Seconds `json:"seconds"`
	Lambda    Number  `json:"lambda,omitempty"` // weight of the nuclear norm; this and the fields below are of a round
	Objective Number  `json:"objective,omitempty"`
	RMSE      Number  `json:"rmse,omitempty"`
	HeldOut   Number  `json:"held_out_rmse,omitempty"`
}

// EventOf returns the event of a pass.
func EventOf(e solver.Event) Event {
	return Event{
		Phase: e.Phase, Pass: e.Pass, Triplet: e.Triplet, Locked: e.Locked,
		Sigma: Number(e.Sigma), Residual: Number(e.Residual), Open: e.Open, Worst: Number(e.Worst), Goal: Number(e.Goal),
		BytesRead: e.Stats.BytesRead, Seconds: newSeconds(e.Stats),
	}
}

// Searching reports whether the event is of a pass that looks for missed triplets: its residuals are of no triplet.
func (e Event) Searching() bool {
	return e.Phase == solver.PhaseConfirm || e.Phase == solver.PhaseOutside
}

// recall copies the events of the run that is continued, up to a pass. The run goes on without events that are missing or
// damaged: the error is for a warning. It wraps csr.ErrCorrupt if they are damaged.
func (o *output) recall(name string, passes int) error {
	f, err := o.fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := checkEvents(f)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(io.NewSectionReader(f, 0, size))
	lines.Buffer(nil, layout.LongestEvent)
	for at := 0; lines.Scan(); at += len(lines.Bytes()) + 1 {
		var e struct {
			Pass int `json:"pass"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return damagedCheckpoint(name, "byte %d: %.200v", at, err)
		}
		if e.Pass > passes {
			return nil
		}
		if e.Pass == 0 {
			continue // the line of Options.Command
		}
		if err := o.lines.Encode(json.RawMessage(lines.Bytes())); err != nil {
			return err
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = damagedCheckpoint(name, "a line is longer than %d bytes", layout.LongestEvent)
	}
	return err
}

// checkEvents verifies a checkpoint.jsonl and returns the length of its events.
func checkEvents(f vfs.File) (int64, error) {
	size, err := durable.CheckLines(f, func([]byte) error { return nil })
	if errors.Is(err, durable.ErrLines) {
		err = damagedCheckpoint(f.Name(), "%s", strings.TrimPrefix(err.Error(), durable.ErrLines.Error()+": "))
	}
	return size, err
}

// eventLog is events.jsonl being written. A disk that is full for a while does not end the run: lines that cannot be
// written wait in memory, a few hundred bytes a pass.
type eventLog struct {
	file    vfs.File
	written int64
	crc     uint32 // checksum of the written bytes
	waiting []byte
	again   []byte // the last line of a checkpoint.jsonl before its checksum
}

// eventBuffer is the number of bytes that wait before they are written.
const eventBuffer = 1 << 16

// Write appends a line; it never fails.
func (l *eventLog) Write(line []byte) (int, error) {
	l.waiting = append(l.waiting, line...)
	if len(l.waiting) >= eventBuffer {
		_ = l.flush() // bytes that are not written go with the next flush; finish returns the error
	}
	return len(line), nil
}

func (l *eventLog) flush() error {
	n, err := l.file.Write(l.waiting)
	l.crc = crc.Update(l.crc, l.waiting[:n])
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	l.written += int64(n)
	return err
}

func (l *eventLog) copyTo(w io.Writer) error {
	if _, err := io.Copy(w, io.NewSectionReader(l.file, 0, l.written)); err != nil {
		return err
	}
	rest := slices.Concat(l.waiting, l.again)
	if _, err := w.Write(rest); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, durable.SealedLine, crc.Sum(crc.Update(l.crc, rest)))
	return err
}

// finish makes the file complete and durable, closes it, and returns its size and checksum.
func (l *eventLog) finish() (int64, crc.Sum, error) {
	err := l.flush()
	if err == nil {
		err = l.file.Sync()
	}
	return l.written, crc.Sum(l.crc), errors.Join(err, l.file.Close())
}

// activity is work that is completed although the run was cancelled, because computed data would be lost otherwise.
type activity struct {
	t           *task
	what        string
	done, total int64 // bytes; total 0: not known
}

// writing begins an activity, which lasts until end is called.
func (t *task) writing(what string) *activity {
	x := &activity{t: t, what: what}
	x.tell()
	return x
}

func (x *activity) tell()     { x.t.Writing(x.what, x.done, x.total) }
func (x *activity) end()      { x.t.Writing("", 0, 0) }
func (x *activity) add(n int) { x.done += int64(n); x.tell() }

// Expect adds to the number of bytes to be written: see solver.Checkpointer.
func (x *activity) Expect(bytes int64) { x.total += bytes; x.tell() }

// countedFile is a file that an activity writes. It syncs now and then, so that the bytes that are counted are on the disk
// and the last sync is short.
type countedFile struct {
	*activity
	f     vfs.File
	dirty int
}

// syncBytes is the number of bytes written between two syncs.
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
		t.Pass(e, iteration.Observe(outlook.Moment{
			Pass: e.Pass, Elapsed: e.Stats.Total, Rank: e.Rank, Locked: e.Locked,
			Open: e.Open, More: e.More, Residual: e.Worst, Tol: e.Goal, Finished: e.Phase == solver.PhaseFinish,
		}))
		return nil
	}
}

// finishTime estimates the time after the search: a pass with as many columns as triplets, and the long vectors written,
// read and written again.
func (t *task) finishTime(pass time.Duration) time.Duration {
	const diskRate = 1e9 // bytes a second, of a disk or of the page cache
	wider := float64(t.Rank) / float64(t.Method.Traits(t.Rank).Width(t.Rank))
	s := pass.Seconds() * max(1, math.Pow(wider, 0.7)) // wide passes take less time per column
	if t.Vectors != None {
		s += 3 * 8 * float64(t.store.Rows()) * float64(t.Rank) / diskRate
	}
	return time.Duration(s * float64(time.Second))
}
