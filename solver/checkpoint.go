package solver

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gdsvd/gdsvd/solver/internal/checkpoint"
	"github.com/gdsvd/gdsvd/solver/method"
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
	// run, so a Checkpointer that can do without a checkpoint returns nil. A w with a
	// method Expect(int64) is told the number of bytes before they come.
	Save(write func(w io.Writer) error) error
}

// ErrCheckpoint is wrapped by the errors for checkpoints that cannot be read:
// cut short, damaged, or of an unknown version.
var ErrCheckpoint = checkpoint.ErrBad

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

// Checkpoint is a saved run, to be given to one that goes on from there. It is
// used up by that.
type Checkpoint struct {
	header header
	from   *checkpoint.Reader
}

// header is the part of a checkpoint that is not float64.
type header struct {
	Settings   []setting          `json:"settings"` // must be those of the run that goes on
	N          int                `json:"n"`        // length of vectors
	Stats      Stats              `json:"stats"`
	Locked     int                `json:"locked"` // vectors found
	Parts      []checkpoint.Shape `json:"parts"`  // of the run
	Recurrence *recurrenceHeader  `json:"recurrence,omitempty"`
}

type recurrenceHeader struct {
	Version int                `json:"version"` // of its parts
	Parts   []checkpoint.Shape `json:"parts"`
}

// setting is something that determines the result of a run, as text.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (h *header) shapes() []checkpoint.Shape {
	if h.Recurrence == nil {
		return h.Parts
	}
	return slices.Concat(h.Parts, h.Recurrence.Parts)
}

// check refuses what no run can have written.
func (h *header) check() error {
	if s := h.Stats; min(h.N, s.Passes, h.Locked) < 0 || max(h.N, s.Passes, h.Locked) > math.MaxInt32 || s.Products < 0 {
		return fmt.Errorf("header has %d vectors of length %d after %d passes, %d products: %w", h.Locked, h.N, s.Passes, s.Products, ErrCheckpoint)
	}
	return nil
}

// match compares the settings with those of the run that was saved: of two methods
// what they have in common decides, then.
func (h *header) match(now []setting) error {
	for i := range min(len(h.Settings), len(now)) {
		s := h.Settings[i]
		if s.Name != now[i].Name {
			return fmt.Errorf("checkpoint has setting %.60q, want %q: %w", s.Name, now[i].Name, ErrCheckpoint)
		}
		if s != now[i] {
			return &MismatchError{s.Name, s.Value, now[i].Value}
		}
	}
	if len(h.Settings) != len(now) {
		return fmt.Errorf("checkpoint has %d settings, want %d: %w", len(h.Settings), len(now), ErrCheckpoint)
	}
	return nil
}

// ReadCheckpoint reads the beginning of a checkpoint of size bytes, all of
// which are to come from r: the rest is read by the run that goes on from it.
// The errors are those of r, and for anything that is not a whole checkpoint
// they wrap ErrCheckpoint.
func ReadCheckpoint(r io.Reader, size int64) (*Checkpoint, error) {
	c := new(Checkpoint)
	var err error
	c.from, err = checkpoint.Open(r, &c.header)
	if err == nil {
		err = c.from.Sized(size, c.header.shapes())
	}
	if err == nil {
		err = c.header.check()
	}
	if err != nil {
		return nil, fmt.Errorf("read checkpoint: %w", err)
	}
	return c, nil
}

// Passes returns the number of passes that had been made.
func (c *Checkpoint) Passes() int { return c.header.Stats.Passes }

// Locked returns the number of triplets that had been found.
func (c *Checkpoint) Locked() int { return c.header.Locked }

// Setting returns a setting of the run that was saved, by the names of
// MismatchError: "method", "rank". It is empty for names that are not known.
func (c *Checkpoint) Setting(name string) string {
	for _, s := range c.header.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Method returns the one of methods that made the checkpoint, with its settings, nil
// if it is none of them or its settings are not such as it allows.
func (c *Checkpoint) Method(methods []method.Method) method.Method {
	i := slices.IndexFunc(methods, func(m method.Method) bool { return m.Traits(1).Name == c.Setting("method") })
	if i < 0 {
		return nil
	}
	t := methods[i].Traits(1)
	values := make([]float64, len(t.Settings))
	for j, s := range t.Settings {
		v, err := strconv.ParseFloat(c.Setting(s.Name), 64)
		if err != nil || !s.Allows(v) {
			return nil
		}
		values[j] = v
	}
	return t.With(values)
}

// Verify reads the rest of the checkpoint and checks it as a run would that goes on
// from there, save for what only the matrix can tell. The checkpoint is used up. The
// error wraps ErrCheckpoint if it is damaged.
func (c *Checkpoint) Verify() error {
	if err := c.from.Verify(c.header.shapes()); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	return nil
}

// saves are the points of a run that it can be continued from.
type saves struct {
	mark mark // the last one
	at   int  // passes at the last checkpoint
}

// mark is what goes on changing after the last point from which the run can be
// continued: finishing counts passes, but is begun anew after an interruption.
type mark struct {
	passes   int
	products int64
	round    rounds
}

// boundary is called where the run can be continued from: between two passes,
// with everything a checkpoint holds in order. It saves the run if that is due.
func (r *run) boundary() error {
	r.saves.mark = mark{r.passes.stats.Passes, r.passes.stats.Products, r.passes.round}
	if c := r.s.Checkpointer; c == nil || r.saves.mark.passes == r.saves.at || !c.Due(r.passes.cost()) {
		return nil
	}
	return r.save()
}

// save writes a checkpoint of the last boundary, unless there is one already.
// Nothing that a checkpoint holds may have changed since, but for the mark.
func (r *run) save() error {
	if r.s.Checkpointer == nil || r.saves.mark.passes == r.saves.at {
		return nil
	}
	t := time.Now()
	r.arena.Saving = true
	err := r.s.Checkpointer.Save(r.writeCheckpoint)
	r.arena.Saving = false
	r.passes.saving += time.Since(t)
	if err != nil {
		return fmt.Errorf("save checkpoint after pass %d: %w", r.saves.mark.passes, err)
	}
	r.saves.at = r.saves.mark.passes
	return nil
}

// abandon saves the run and turns the error of the pass that has ended it into
// a status if it is that of the context. What is wrong with the matrix is so for a
// run that goes on, too: that is not saved.
func (r *run) abandon(err error) (Status, error) {
	st, err := r.passes.fault(err)
	if errors.Is(err, ErrNotSymmetric) || errors.Is(err, ErrNotDefinite) {
		return st, err
	}
	return st, errors.Join(err, r.save())
}
