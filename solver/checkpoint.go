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

// Checkpointer decides when and where a run is saved.
//
// A run is saved between two passes. Its state is then a few blocks and numbers: the found vectors, the State of
// the recurrence, start vectors not used yet, and counts. A run that is given the result of ReadCheckpoint
// (Settings.Resume) continues from that state, with the bits and the number of passes of a run that never
// stopped. A checkpoint holds the settings that determine the result, and the shape and the ID of the matrix; if
// one of them differs, the run returns a MismatchError that names it. Limits, the Observer, and the left vectors
// may differ. A CRC-32C covers every bit of a checkpoint.
type Checkpointer interface {
	// Due reports whether to save now, after a pass. s is the cost of the run so far.
	Due(s Stats) bool
	// Save stores the bytes that write writes. It is called when a save is due, and, whatever Due returns, once
	// more when the run ends before it has found everything, unless no pass has been made since the last
	// checkpoint. An error ends the run, so a Checkpointer that can do without a checkpoint returns nil. If w has
	// a method Expect(int64), write first calls it with the number of bytes.
	Save(write func(w io.Writer) error) error
}

// ErrCheckpoint is wrapped by the errors for checkpoints that cannot be read:
// cut short, damaged, or of an unknown version.
var ErrCheckpoint = checkpoint.ErrBad

// MismatchError reports that the run that made a checkpoint had another setting than the run that is to continue
// it.
type MismatchError struct {
	Setting    string // name of the setting that differs, in lower case: "seed"
	Checkpoint string // its value in the checkpoint
	Run        string // its value in the run that is to continue
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("checkpoint was made with %s %s, this run has %s %s", e.Setting, e.Checkpoint, e.Setting, e.Run)
}

// Checkpoint is a saved run, for Settings.Resume. It can be used once.
type Checkpoint struct {
	header header
	from   *checkpoint.Reader
}

// header is the JSON part of a checkpoint; all other parts are float64.
type header struct {
	Settings   []setting          `json:"settings"` // must equal those of the run that continues
	N          int                `json:"n"`        // length of vectors
	Stats      Stats              `json:"stats"`
	Locked     int                `json:"locked"` // vectors found
	Parts      []checkpoint.Shape `json:"parts"`  // blocks of the run itself
	Recurrence *recurrenceHeader  `json:"recurrence,omitempty"`
}

type recurrenceHeader struct {
	Version int                `json:"version"` // of the format of Parts
	Parts   []checkpoint.Shape `json:"parts"`
}

// setting is the text of a setting that determines the result of a run.
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

// check returns an error if no run can have written the header.
func (h *header) check() error {
	if s := h.Stats; min(h.N, s.Passes, h.Locked) < 0 || max(h.N, s.Passes, h.Locked) > math.MaxInt32 || s.Products < 0 {
		return fmt.Errorf("header has %d vectors of length %d after %d passes, %d products: %w", h.Locked, h.N, s.Passes, s.Products, ErrCheckpoint)
	}
	return nil
}

// match compares the settings of the saved run with now, in order, and returns an error for the first that
// differs. It compares the numbers of settings last, so that for different methods the error names "method".
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

// ReadCheckpoint reads the beginning of a checkpoint of size bytes from r. The run that continues from it reads
// the rest from r. The errors are those of r; if the bytes are not a whole checkpoint, they wrap ErrCheckpoint.
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

// Passes returns the number of passes that the saved run had made.
func (c *Checkpoint) Passes() int { return c.header.Stats.Passes }

// Locked returns the number of triplets that the saved run had found.
func (c *Checkpoint) Locked() int { return c.header.Locked }

// Setting returns the value of a setting of the saved run. Names are those of MismatchError.Setting: "method",
// "rank". For an unknown name it returns "".
func (c *Checkpoint) Setting(name string) string {
	for _, s := range c.header.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Method returns the method that made the checkpoint, looked up by name in methods, with the saved settings. It
// returns nil if methods does not contain the method, or if the method does not allow the settings.
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

// Verify reads the rest of the checkpoint, and checks its size and its checksum. The checkpoint cannot be used
// afterwards. The error wraps ErrCheckpoint if the checkpoint is damaged.
func (c *Checkpoint) Verify() error {
	if err := c.from.Verify(c.header.shapes()); err != nil {
		return fmt.Errorf("read checkpoint: %w", err)
	}
	return nil
}

// saves records when the run could last be saved and when it was.
type saves struct {
	mark mark // counts at the last boundary
	at   int  // passes at the last checkpoint
}

// mark holds counts at the last boundary. Finishing passes count, too, but a continued run makes them again: a
// checkpoint therefore holds the counts of mark.
type mark struct {
	passes   int
	products int64
	round    rounds
}

// boundary is called between two passes, when all that a checkpoint holds is consistent. It sets the mark, and
// saves the run if a save is due.
func (r *run) boundary() error {
	r.saves.mark = mark{r.passes.stats.Passes, r.passes.stats.Products, r.passes.round}
	if c := r.s.Checkpointer; c == nil || r.saves.mark.passes == r.saves.at || !c.Due(r.passes.cost()) {
		return nil
	}
	return r.save()
}

// save writes a checkpoint of the last boundary, unless that has been written. Since the boundary nothing that a
// checkpoint holds may have changed, except the counts in mark.
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

// abandon saves the run after a pass has failed with err. It returns a status instead of err if err is that of
// the context. It does not save a run whose matrix is not symmetric or not semidefinite: a continued run would
// fail, too.
func (r *run) abandon(err error) (Status, error) {
	st, err := r.passes.fault(err)
	if errors.Is(err, ErrNotSymmetric) || errors.Is(err, ErrNotDefinite) {
		return st, err
	}
	return st, errors.Join(err, r.save())
}
