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

// The journal of an ingest is a file of sealed JSON in its scratch directory, always replaced as a whole.
const (
	journalHalf    = scratch.Journal + ".half"
	journalVersion = 3
)

const (
	stepRead   = "read"   // entries are being read
	stepSort   = "sort"   // all entries are in runs; the files of the runs tell whether these are sorted
	stepCommit = "commit" // the fingerprint is known; the store is published if it is there with this fingerprint
)

// A journal records how far an ingest has come. Files of the scratch directory that it does not name were made after it was
// written and are removed.
type journal struct {
	Version int
	// The inputs, options and memory of the ingest that is continued must match these.
	Inputs  []input.ID
	Options [][2]string
	Memory  int64
	// OnlyCols says that columns have a file of ids, the last of Inputs, and rows have none.
	OnlyCols bool `json:",omitempty"`

	Step   string
	Serial int // number of the next temporary file
	Shape  *format.Shape
	record
	Entries     int64
	Spilled     int64
	Runs        []string
	MostRuns    int
	Values      *csr.Values
	Long        bool `json:",omitempty"` // Values are integers, and some are no float32s
	Users       ids.State
	Items       ids.State
	Seconds     map[string]float64
	Fingerprint string
	Test        string // fingerprint of the store of the entries held out; "": none
	Duplicates  int64
	Spooled     bool `json:",omitempty"` // the store appended to is read as an input
	Resumes     int

	CRC crc.Sum
}

// A place is where reading continues: all entries before it are in the runs.
type place struct {
	Input  int
	Offset int64 // bytes, uncompressed, in the input
	Line   int64 // number of the line at the offset, from 1
	Row    int64 `json:",omitempty"` // row of the matrix at the offset, if the format counts rows
	Disk   int64 // bytes of all inputs on disk up to the offset
	Tally  format.Tally
}

// badLines are tolerated *format.ParseErrors. A journal holds them as savedErrors.
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
	Err  string // text of ParseError.Err
	Kind string // text of the error of text.Kinds that ParseError.Err wraps; "": none
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

// matches returns an error that says why an ingest of the inputs with the options cannot continue the ingest of the journal;
// nil: it can.
func (j *journal) matches(inputs []input.ID, o Options) error {
	if !slices.Equal(namesOf(j.Inputs), namesOf(inputs)) {
		return fmt.Errorf("it was of other inputs: %s", strings.Join(namesOf(j.Inputs), " "))
	}
	for i, in := range inputs {
		if in.Changed(j.Inputs[i]) {
			return fmt.Errorf("%s has changed since", in.Name)
		}
	}
	if j.OnlyCols != o.onlyCols() {
		return errors.New("its file of ids was that of the other side, --rows-ids or --cols-ids")
	}
	for i, s := range o.shaping() {
		if was := j.Options[i]; was != s {
			return fmt.Errorf("it had %s %q, this one has %q", s[0], was[1], s[1])
		}
	}
	if o.Memory < j.Memory {
		return fmt.Errorf("it had %d MiB of memory, this one has %d MiB: give it --memory %dMiB", j.Memory>>20, o.Memory>>20, (j.Memory+1<<20-1)>>20)
	}
	return nil
}

func (o Options) onlyCols() bool { return o.RowIDs == "" && o.ColIDs != "" }

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

// stats returns the statistics of the values, which are not nil.
func (j *journal) stats() csr.ValueStats {
	s := csr.StatsOf(*j.Values)
	if j.Long {
		s.Add(1<<24 + 1) // no float32
	}
	return s
}

func (j *journal) files() map[string]bool {
	keep := map[string]bool{scratch.Journal: true}
	for _, name := range slices.Concat(j.Runs, j.Users.Files(), j.Items.Files()) {
		keep[name] = true
	}
	return keep
}

// A record holds the counts and facts that reading has found, as a journal keeps them.
type record struct {
	Place      place // behind the entries that have been taken
	Format     string
	Lines, Bad int64
	LeftOut    map[string]int64 `json:",omitempty"`
	Outside    span             // of the entries that a Filter has left out by their times
	FirstBad   badLines
	InputBytes int64
	Roles      *partRoles `json:",omitempty"` // roles of the columns of the first input
	Titled     bool       `json:",omitempty"` // the input has titles
	Loops      int64      `json:",omitempty"` // number of edges from a node to itself
}

// tolerate counts n bad lines, the first of which have the errors errs. It returns an error if there are more than most.
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
