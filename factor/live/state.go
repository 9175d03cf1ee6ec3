// Package live records a run while it goes on, so that other processes can show it.
//
// A [Recorder] keeps the [State] of a run and writes its changes, twice a second at most, as lines of JSON to the file
// OUT.live beside the directory OUT that the run makes. Nothing is synced, and a line that cannot be written costs the run
// nothing. While the recorder lives it holds the lock OUT.live.lock, which the system releases when the process ends: a file
// without an end whose lock is free belongs to a run that died. When the file grows beyond [MaxFile] bytes, it is written
// anew with every second of the past passes.
//
// [Open] and [Folder] read such files, and results, stores and checkpoints where there are none. Both only read.
package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/stream"
)

// Format is the version of the lines and of State.
const Format = 1

// Status is the status of a run.
type Status string

// The statuses.
const (
	Running     Status = "running"
	Finished    Status = "finished"    // it made a result or a store
	Failed      Status = "failed"      // it ended with an error
	Interrupted Status = "interrupted" // it was told to stop
	Died        Status = "died"        // its process ended without recording an end
	Unfinished  Status = "unfinished"  // only its checkpoint exists
)

// Statuses returns all statuses.
func Statuses() []Status {
	return []Status{Running, Finished, Failed, Interrupted, Died, Unfinished}
}

// About holds the properties of a run that do not change. Zero fields are not known.
type About struct {
	Command string        `json:"command"` // such as "svd"
	Out     string        `json:"out"`     // the directory that the run makes
	PID     int           `json:"pid,omitempty"`
	Host    string        `json:"host,omitempty"`
	Began   time.Time     `json:"began,omitzero"`
	Store   string        `json:"store,omitempty"` // the store that is factorised
	Rows    int64         `json:"rows,omitempty"`
	Cols    int64         `json:"cols,omitempty"`
	NNZ     int64         `json:"nnz,omitempty"`
	Method  string        `json:"method,omitempty"`
	Which   string        `json:"which,omitempty"` // which eigenpairs: LM, LA or SA
	Rank    int           `json:"rank,omitempty"`  // triplets wanted, or the largest number of triplets
	Tol     float64       `json:"tol,omitempty"`
	Workers int           `json:"workers,omitempty"`
	Budget  int64         `json:"memory_budget,omitempty"` // bytes
	Parts   []stream.Part `json:"memory_planned,omitempty"`
}

// Planned returns the sum of the parts of memory.
func (a *About) Planned() (bytes int64) {
	for _, p := range a.Parts {
		bytes += p.Bytes
	}
	return bytes
}

// Stage is the progress of a part of a run.
type Stage struct {
	Name    string  `json:"stage"`          // such as "read"
	Unit    string  `json:"unit,omitempty"` // unit of Done and Total: "bytes", "entries", "ids" or "passes"
	Done    int64   `json:"done,omitempty"`
	Total   int64   `json:"total,omitempty"` // 0: not known
	Entries int64   `json:"entries,omitempty"`
	Left    float64 `json:"left_seconds,omitempty"` // estimate for the rest of the run; 0: not known
	Share   float64 `json:"share,omitempty"`        // share of the whole run that is done, from 0 to 1; 0: not known
	Tasks   *Tasks  `json:"tasks,omitempty"`        // nil: the run has no engine
}

// Tasks counts the tasks of an engine.
type Tasks struct {
	Given   int   `json:"given"`
	Retries int   `json:"retries"` // tasks that were given again
	Workers int   `json:"workers"` // workers that have ended tasks lately
	Read    int64 `json:"read"`    // bytes of the store that tasks have read
}

// State is the state of a run at a moment.
type State struct {
	Format  int    `json:"format"`
	Name    string `json:"name"` // the last element of About.Out
	Status  Status `json:"status"`
	Message string `json:"message,omitempty"` // text about the status, such as an error
	About
	Stage
	Seconds        float64       `json:"seconds"`              // from the beginning to the last sign of life
	Last           *factor.Event `json:"last_pass,omitempty"`  // nil before the first
	BytesRead      int64         `json:"bytes_read,omitempty"` // by this process
	BytesPerSecond float64       `json:"bytes_per_second,omitempty"`
	RSS            int64         `json:"resident_memory,omitempty"` // bytes; 0: not known
	PeakRSS        int64         `json:"resident_memory_peak,omitempty"`
	Checkpoint     bool          `json:"checkpoint,omitempty"` // whether there is a checkpoint to resume from

	Passes Thinned        `json:"-"`
	Result *factor.Result `json:"-"` // result of a finished run; nil: none

	from moment  // beginning of the time over which BytesPerSecond is the mean
	told float64 // Seconds at which Left was estimated
}

type moment struct {
	seconds float64
	bytes   int64
}

// line is a line of OUT.live. A field that is nil or zero has not changed.
type line struct {
	Format  int           `json:"format,omitempty"` // only in the first line, as is Part
	Part    int           `json:"part,omitempty"`   // the number of times that the file was written anew
	About   *About        `json:"about,omitempty"`
	T       float64       `json:"t"` // seconds since the beginning
	Stage   *Stage        `json:"progress,omitempty"`
	Pass    *factor.Event `json:"pass,omitempty"`
	RSS     int64         `json:"rss,omitempty"`
	PeakRSS int64         `json:"peak_rss,omitempty"`
	End     Status        `json:"end,omitempty"`
	Message string        `json:"message,omitempty"`
}

func (s *State) apply(l *line) {
	if l.About != nil {
		s.About = *l.About
	}
	s.Seconds = max(s.Seconds, l.T)
	if l.Stage != nil {
		if l.Stage.Name != s.Stage.Name {
			s.from = moment{l.T, 0}
		}
		s.Stage = *l.Stage
		if s.Unit == "bytes" {
			s.read(l.T, s.Done)
		}
		s.told = l.T
	}
	if l.Pass != nil {
		s.pass(*l.Pass)
		s.read(l.T, l.Pass.BytesRead)
	}
	if l.RSS > 0 {
		s.RSS = l.RSS
	}
	s.PeakRSS = max(s.PeakRSS, l.PeakRSS)
	if l.End != "" {
		s.Status, s.Message = l.End, l.Message
	}
}

// rateOver is the least time, in seconds, over which BytesPerSecond is the mean.
const rateOver = 2

// read records the bytes read until a moment.
func (s *State) read(seconds float64, bytes int64) {
	if bytes < s.from.bytes {
		s.from = moment{seconds, bytes}
	}
	s.BytesRead = bytes
	if took := seconds - s.from.seconds; took >= rateOver && bytes > s.from.bytes {
		s.BytesPerSecond = float64(bytes-s.from.bytes) / took
		s.from = moment{seconds, bytes}
	}
}

func (s *State) pass(e factor.Event) {
	s.Last = &e
	s.Passes.Add(e)
}

// Remaining returns an estimate of the time that the run still takes, in seconds, or 0 if it is not known. The last estimate
// runs down as time passes, to a tenth at least.
func (s *State) Remaining() float64 {
	if s.Status != Running || !(s.Left > 0) {
		return 0
	}
	return max(s.Left-(s.Seconds-s.told), s.Left/10)
}

// Progress returns the share of the whole run that is done, if it is known, else that of its stage, else NaN.
func (s *State) Progress() float64 {
	switch {
	case s.Status == Finished:
		return 1
	case s.Share > 0:
		return min(s.Share, 1)
	case s.Total > 0:
		return min(max(float64(s.Done)/float64(s.Total), 0), 1)
	}
	return math.NaN()
}

// copied returns a State that later lines do not change.
func (s *State) copied() *State {
	c := *s
	c.Passes.Events = slices.Clone(s.Passes.Events)
	return &c
}

// ErrEvents is wrapped by the errors about lines that are not events.
var ErrEvents = errors.New("no list of events")

// ReadEvents reads lines of events, thinned as by Thinned, and returns the number of lines, too. A line without a phase, such as a
// checksum, is not an event.
func ReadEvents(ctx context.Context, in io.Reader) (_ []factor.Event, line int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, layout.LongestEvent)
	var t Thinned
	for lines.Scan() {
		line++
		if line%1024 == 0 && ctx.Err() != nil {
			return nil, line, ctx.Err()
		}
		var e factor.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return t.Events, line, fmt.Errorf("%w: %w", ErrEvents, err)
		}
		if e.Phase != "" {
			t.Add(e)
		}
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		line, err = line+1, fmt.Errorf("%w: it is longer than %d bytes", ErrEvents, layout.LongestEvent)
	}
	return t.Events, line, err
}

// MostPasses is the number of passes kept of a run. Of a run with more, every second or every fourth pass is kept, and so on.
const MostPasses = 1500

// Thinned holds events of a run in order, at most MostPasses: the first and the last one, those that found a triplet
// unless they are too many, and some between at even distances. The zero value is usable.
type Thinned struct {
	Events []factor.Event

	stride, seen int
}

// Add adds the next event.
func (t *Thinned) Add(e factor.Event) {
	t.stride = max(t.stride, 1)
	if n := len(t.Events); n > 0 && (t.seen-1)%t.stride != 0 && !foundWith(t.Events[n-1], e) {
		t.Events = t.Events[:n-1] // it was kept as the last one only
	}
	t.Events = append(t.Events, e)
	t.seen++
	if len(t.Events) > MostPasses {
		t.thin(MostPasses * 3 / 4)
	}
}

// foundWith reports whether the triplet of e is found with e, and next is about another triplet.
func foundWith(e, next factor.Event) bool { return next.Triplet > e.Triplet && next.Locked > e.Triplet }

// thin keeps every second event, the last one, and those that found a triplet unless more than most events are left then.
func (t *Thinned) thin(most int) {
	t.stride *= 2
	for _, ends := range []bool{true, false} {
		var kept []factor.Event
		for i, e := range t.Events {
			if i%2 == 0 || i == len(t.Events)-1 || ends && foundWith(e, t.Events[i+1]) {
				kept = append(kept, e)
			}
		}
		t.Events = kept
		if len(kept) <= most {
			return
		}
	}
}
