package solver

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Checkpointer decides when a run is saved, and where to. A run can be saved
// between two passes; what is saved continues with the same bits.
//
// Between two passes a run is a handful of blocks and numbers: the found
// vectors, the State of the recurrence, start vectors not used yet, and counts.
// A Checkpointer says when and where these are written; a run given what
// ReadCheckpoint returns goes on from there, with the bits of the run that
// never stopped and in as many passes. A checkpoint knows the settings that
// determine the result, the shape of the matrix and its ID, and is
// refused by the name of what differs (MismatchError); limits, the Observer,
// and the left vectors may differ. Every bit of it is covered by a CRC-32C.
type Checkpointer interface {
	// Due reports whether to save now, after a pass. s is what the run has
	// cost.
	Due(s Stats) bool
	// Save stores what write writes. It is called when a save is due, and once
	// more when the run ends before it has found everything, whatever Due
	// says, unless nothing has happened since the last time. An error ends the
	// run, so a Checkpointer that can do without a checkpoint returns nil.
	Save(write func(w io.Writer) error) error
}

// Expecter may be implemented by the writer that a Checkpointer gives to write: it is
// told the number of bytes before they come.
type Expecter interface{ Expect(bytes int64) }

// announce tells w the size of a checkpoint with this header, which is so long as JSON.
func (h *header) announce(w io.Writer, length int) {
	if e, ok := w.(Expecter); ok {
		numbers, _ := h.count()
		e.Expect(int64(prefixSize+length) + 4 + 8*int64(numbers) + 4)
	}
}

// ErrCheckpoint is wrapped by the errors for checkpoints that cannot be read:
// cut short, damaged, or of an unknown version.
var ErrCheckpoint = errors.New("bad checkpoint")

// MismatchError says that a checkpoint was made by another run than the one
// that is to be continued.
type MismatchError struct {
	Setting    string // what differs, in lower case: "seed"
	Checkpoint string // as it was when the checkpoint was made
	Run        string // as it is now
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("checkpoint was made with %s %s, this run has %s %s", e.Setting, e.Checkpoint, e.Setting, e.Run)
}

// mark is what goes on changing after the last point from which the run can be
// continued: finishing counts passes, but is begun anew after an interruption.
type mark struct {
	passes    int
	products  int64
	round     int
	lastWorst float64
}

// boundary is called where the run can be continued from: between two passes,
// with everything a checkpoint holds in order. It saves the run if that is due.
func (r *run) boundary() error {
	r.mark = mark{r.stats.Passes, r.stats.Products, r.round, r.lastWorst}
	if c := r.s.Checkpointer; c == nil || r.mark.passes == r.saved || !c.Due(r.cost()) {
		return nil
	}
	return r.save()
}

// save writes a checkpoint of the last boundary, unless there is one already.
// Nothing that a checkpoint holds may have changed since, but for the mark.
func (r *run) save() error {
	if r.s.Checkpointer == nil || r.mark.passes == r.saved {
		return nil
	}
	t := time.Now()
	r.arena.Saving = true
	err := r.s.Checkpointer.Save(r.writeCheckpoint)
	r.arena.Saving = false
	r.saving += time.Since(t)
	if err != nil {
		return fmt.Errorf("save checkpoint after pass %d: %w", r.mark.passes, err)
	}
	r.saved = r.mark.passes
	return nil
}

// abandon saves the run and turns the error of the pass that has ended it into
// a status if it is that of the context.
func (r *run) abandon(err error) (Status, error) {
	st, err := r.fault(err)
	return st, errors.Join(err, r.save())
}
