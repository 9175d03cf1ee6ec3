package ingest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// The journal of an ingest lies in its scratch: sealed JSON, replaced as a whole.
const (
	journalHalf    = scratch.Journal + ".half"
	journalVersion = 3
)

const (
	stepRead   = "read"   // entries are being read
	stepSort   = "sort"   // all are in runs; files of runs tell whether they are sorted
	stepCommit = "commit" // the store has the fingerprint, if it was published
)

// A journal is how far an ingest has come. Files of the scratch that it does
// not name are of a later time and of no use.
type journal struct {
	Version int
	// What must be the same for the ingest to go on.
	Inputs  []input.ID
	Options [][2]string
	Memory  int64

	Step   string
	Serial int // of the next file
	Shape  *format.Shape
	record
	Entries     int64
	Spilled     int64
	Runs        []string
	MostRuns    int
	Values      *csr.Values
	Users       ids.State
	Items       ids.State
	Seconds     map[string]float64
	Fingerprint string
	Test        string // fingerprint of the store of what is held out
	Duplicates  int64
	Spooled     bool `json:",omitempty"` // the store appended to is an input
	Resumes     int

	CRC crc.Sum
}

// A place is where reading goes on: all before it is in the runs.
type place struct {
	Input  int
	Offset int64 // uncompressed, in the input
	Line   int64 // number of the line there, from 1
	Row    int64 `json:",omitempty"` // of the matrix there, if rows are counted
	Disk   int64 // bytes of all inputs on disk up to there
	Tally  format.Tally
}

// Bad lines are tolerated *format.ParseErrors. In a journal they are savedErrors.
type badLines []error

func (b badLines) MarshalJSON() ([]byte, error) {
	var saved []savedError
	for _, err := range b {
		saved = append(saved, saveError(err))
	}
	return json.Marshal(saved)
}

func (b *badLines) UnmarshalJSON(text []byte) error {
	var saved []savedError
	err := json.Unmarshal(text, &saved)
	*b = nil
	for i := range saved {
		*b = append(*b, saved[i].restore())
	}
	return err
}

type savedError struct {
	format.ParseError
	Err  string // the text of that of ParseError
	Kind string // and of the one of text.Kinds that it wraps
}

func saveError(err error) savedError {
	pe, ok := errors.AsType[*format.ParseError](err)
	if !ok {
		return savedError{Err: err.Error()}
	}
	s := savedError{ParseError: *pe, Err: pe.Err.Error()}
	s.ParseError.Err = nil
	for _, k := range text.Kinds() {
		if errors.Is(pe.Err, k) {
			s.Kind = k.Error()
		}
	}
	return s
}

func (s *savedError) restore() error {
	pe := s.ParseError
	pe.Err = errors.New(s.Err)
	for _, k := range text.Kinds() {
		if before, behind, ok := strings.Cut(s.Err, k.Error()); ok && k.Error() == s.Kind {
			pe.Err = fmt.Errorf("%s%w%s", before, k, behind)
		}
	}
	return &pe
}

func (o Options) shaping() [][2]string {
	shard := o.ShardSize
	if shard <= 0 {
		shard = csr.DefaultShard
	}
	return slices.Concat([][2]string{
		{"format", cmp.Or(o.Format, auto)}, {"separator", o.Separator}, {"columns", strings.Join(o.Columns, ",")},
		{"header", o.Header.String()}, {"duplicates", o.Duplicates.String()}, {"orientation", o.Orient.String()},
		{"bad lines", strconv.FormatInt(o.MaxBadLines, 10)}, {"shard size", strconv.FormatInt(shard, 10)},
		{"index base", o.IndexBase.String()}, {"features", strconv.FormatInt(o.Features, 10)},
		{"events", strconv.FormatBool(o.Events)},
		{"graph", o.Graph.String()}, {"self-loops", o.SelfLoops.String()},
	}, o.Filter.shaping(), [][2]string{
		{"hold out", o.Holdout.String()}, {"seed of what is held out", strconv.FormatUint(o.Holdout.Seed, 10)}, {"order kept", strconv.FormatBool(o.KeepOrder)},
	})
}

// matches tells why an ingest of the inputs with the options cannot go on from
// where another has stopped.
func (j *journal) matches(inputs []input.ID, o Options) error {
	if !slices.Equal(namesOf(j.Inputs), namesOf(inputs)) {
		return fmt.Errorf("it was of other inputs: %s", strings.Join(namesOf(j.Inputs), " "))
	}
	for i, in := range inputs {
		if in.Changed(j.Inputs[i]) {
			return fmt.Errorf("%s has changed since", in.Name)
		}
	}
	for i, s := range o.shaping() {
		if was := j.Options[i]; was != s {
			return fmt.Errorf("it had %s %q, this one has %q", s[0], was[1], s[1])
		}
	}
	if o.Memory < j.Memory {
		return fmt.Errorf("it had %d MiB of memory, this one has %d MiB", j.Memory>>20, o.Memory>>20)
	}
	return nil
}

func namesOf(inputs []input.ID) []string {
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
	}
	return names
}

func (j *journal) write(s *scratch.Dir) (err error) {
	b, err := durable.Seal(j, &j.CRC)
	if err == nil {
		err = durable.Replace(s.FS, s.Path(scratch.Journal), s.Path(journalHalf), durable.Bytes(b))
	}
	if err == nil {
		err = s.FS.SyncDir(s.Name)
	}
	if err != nil {
		return fmt.Errorf("save the ingest: %w", err)
	}
	return nil
}

const maxJournal = 1 << 28

var errJournal = errors.New("its journal is damaged")

func readJournal(s *scratch.Dir, name string) (*journal, error) {
	b, err := vfs.ReadFile(s.FS, s.Path(name), maxJournal)
	if err != nil {
		return nil, err
	}
	return parseJournal(b)
}

func parseJournal(b []byte) (*journal, error) {
	if _, err := durable.CheckSeal(b); err != nil {
		return nil, errJournal
	}
	var v struct{ Version int }
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, errJournal
	}
	if v.Version != journalVersion {
		return nil, fmt.Errorf("its journal has version %d, this program knows %d", v.Version, journalVersion)
	}
	j := new(journal)
	if err := json.Unmarshal(b, j); err != nil || len(j.Options) != len(Options{}.shaping()) {
		return nil, errJournal
	}
	return j, nil
}

func (j *journal) files() map[string]bool {
	keep := map[string]bool{scratch.Journal: true}
	for _, name := range slices.Concat(j.Runs, j.Users.Files(), j.Items.Files()) {
		keep[name] = true
	}
	return keep
}

// A record is what has been counted and learnt by reading, as a journal keeps it.
type record struct {
	Place      place // behind what has been taken
	Format     string
	Lines, Bad int64
	LeftOut    map[string]int64 `json:",omitempty"`
	Outside    span             // of entries that a Filter has left out
	FirstBad   badLines
	InputBytes int64
	Roles      *partRoles `json:",omitempty"` // of the columns of the first input
	Titled     bool       `json:",omitempty"` // the input has titles
	Loops      int64      `json:",omitempty"` // edges from a node to itself
}

// tolerate counts bad lines, of which errs are the first. More than most are an error.
func (r *record) tolerate(n int64, errs []error, most int64) error {
	r.Bad += n
	r.FirstBad = append(r.FirstBad, errs[:min(len(errs), format.MaxErrs-len(r.FirstBad))]...)
	switch {
	case r.Bad <= most:
		return nil
	case most == 0:
		return r.FirstBad[0]
	}
	return fmt.Errorf("more than %d bad lines, the first: %w", most, r.FirstBad[0])
}

func (r *record) tell(to *Report) {
	to.Format, to.Lines, to.BadLines, to.FirstBad, to.InputBytes = r.Format, r.Lines, r.Bad, r.FirstBad, r.InputBytes
	to.LeftOut, to.Titled, to.SelfLoops, to.Filtered.Outside = r.LeftOut, r.Titled, r.Loops, r.Outside.N
}
