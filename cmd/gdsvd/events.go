package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/solver"
)

// event is one line of events.jsonl.
type event struct {
	Phase     string  `json:"phase"`
	Pass      int     `json:"pass"`
	Triplet   int     `json:"triplet"`
	Locked    int     `json:"locked"`
	Sigma     number  `json:"sigma"`
	Residual  number  `json:"residual"`
	Open      int     `json:"open"`  // triplets looked for together
	Worst     number  `json:"worst"` // the largest residual among them
	BytesRead int64   `json:"bytes_read"`
	Seconds   seconds `json:"seconds"`
}

// Observe implements solver.Observer: it records the event.
func (o *output) Observe(e solver.Event) error {
	return o.lines.Encode(event{
		Phase: e.Phase, Pass: e.Pass, Triplet: e.Triplet, Locked: e.Locked,
		Sigma: number(e.Sigma), Residual: number(e.Residual), Open: e.Open, Worst: number(e.Worst),
		BytesRead: e.Stats.BytesRead, Seconds: newSeconds(e.Stats),
	})
}

// recall takes over the events of the run that is continued, up to a pass.
func (o *output) recall(name string, passes int) error {
	f, err := o.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody has tidied up: the run can go on without
	}
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for {
		var e event
		if err := d.Decode(&e); err != nil || e.Pass > passes {
			return nil // the end, or something else than events: likewise
		}
		if err := o.lines.Encode(e); err != nil {
			return err
		}
	}
}

// eventLog is events.jsonl being written. A disk that is full for a while costs
// no run: what cannot be written waits in memory, a few hundred bytes a pass.
type eventLog struct {
	file    vfs.File
	written int64
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
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	l.written += int64(n)
	return err
}

// copyTo writes the lines so far to w.
func (l *eventLog) copyTo(w io.Writer) error {
	if _, err := io.Copy(w, io.NewSectionReader(l.file, 0, l.written)); err != nil {
		return err
	}
	_, err := w.Write(l.waiting)
	return err
}

// finish makes the file complete and durable, and closes it.
func (l *eventLog) finish() error {
	err := l.flush()
	if err == nil {
		err = l.file.Sync()
	}
	return errors.Join(err, l.file.Close())
}
