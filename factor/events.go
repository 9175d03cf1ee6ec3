package factor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/vfs"
)

// Event is a line of events.jsonl: a pass of a factorisation, or a round of a completion.
type Event struct {
	Phase     string  `json:"phase"`
	Pass      int     `json:"pass"`    // or round
	Triplet   int     `json:"triplet"` // that the pass was about, from 0; this and what follows is of a pass
	Locked    int     `json:"locked"`  // triplets found
	Sigma     Number  `json:"sigma"`
	Residual  Number  `json:"residual"`
	Open      int     `json:"open"`  // triplets looked for together
	Worst     Number  `json:"worst"` // the largest residual among them, and
	Goal      Number  `json:"goal"`  // what it has to fall to
	BytesRead int64   `json:"bytes_read"`
	Seconds   Seconds `json:"seconds"`
	Lambda    Number  `json:"lambda,omitempty"` // this and what follows is of a round
	Objective Number  `json:"objective,omitempty"`
	RMSE      Number  `json:"rmse,omitempty"`
	HeldOut   Number  `json:"held_out_rmse,omitempty"`
}

// EventOf is the event of a pass.
func EventOf(e solver.Event) Event {
	return Event{
		Phase: e.Phase, Pass: e.Pass, Triplet: e.Triplet, Locked: e.Locked,
		Sigma: Number(e.Sigma), Residual: Number(e.Residual), Open: e.Open, Worst: Number(e.Worst), Goal: Number(e.Goal),
		BytesRead: e.Stats.BytesRead, Seconds: newSeconds(e.Stats),
	}
}

// Searching tells whether the event is of a pass that looks for what may have been missed: its residuals are of no triplet.
func (e Event) Searching() bool {
	return e.Phase == solver.PhaseConfirm || e.Phase == solver.PhaseOutside
}

// recall takes over the events of the run that is continued, up to a pass. Events
// that are gone or damaged do not keep the run from going on: the error, which is
// csr.ErrCorrupt then, is for a warning.
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
		if err := o.lines.Encode(json.RawMessage(lines.Bytes())); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return damagedCheckpoint(name, "a line is longer than %d bytes", layout.LongestEvent)
	} else if err != nil {
		return err
	}
	return nil
}

// checkEvents verifies a checkpoint.jsonl and returns the length of its events.
func checkEvents(f vfs.File) (int64, error) {
	size, err := durable.CheckLines(f, func([]byte) error { return nil })
	if errors.Is(err, durable.ErrLines) {
		err = damagedCheckpoint(f.Name(), "%s", strings.TrimPrefix(err.Error(), durable.ErrLines.Error()+": "))
	}
	return size, err
}

// eventLog is events.jsonl being written. A disk that is full for a while costs
// no run: what cannot be written waits in memory, a few hundred bytes a pass.
type eventLog struct {
	file    vfs.File
	written int64
	crc     uint32 // of what is written
	waiting []byte
}

// eventBuffer is how much may wait before it is written.
const eventBuffer = 1 << 16

func newEventLog(fsys vfs.FS, name string) (*eventLog, error) {
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	return &eventLog{file: f}, nil
}

// Write takes a line; it never fails.
func (l *eventLog) Write(line []byte) (int, error) {
	l.waiting = append(l.waiting, line...)
	if len(l.waiting) >= eventBuffer {
		_ = l.flush() // what is left goes with the next one, or fails in finish
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
	if _, err := w.Write(l.waiting); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, durable.SealedLine, crc.Sum(crc.Update(l.crc, l.waiting)))
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
