package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
)

// trainKey is the key of the fingerprint of the training store in the source of the store of the entries held out.
const trainKey = "held_out_of"

// Report describes a finished ingest. Its JSON form is the output of gdsvd ingest --json.
type Report struct {
	Store        string   `json:"store"`              // the store
	Finished     bool     `json:"finished,omitempty"` // whether the store existed before the command; if it did, fields that the store does not record are 0
	Format       string   `json:"-"`                  // format that was recognised
	Fingerprint  string   `json:"fingerprint"`        // fingerprint of the matrix, 64 hex digits
	Rows         int64    `json:"rows"`               // number of rows of the matrix
	Cols         int64    `json:"cols"`               // number of columns of the matrix
	NNZ          int64    `json:"nnz"`                // number of stored entries
	Transposed   bool     `json:"transposed"`         // whether the store holds the transpose of the matrix
	Bytes        int64    `json:"bytes"`              // size of the store in bytes
	InputBytes   int64    `json:"input_bytes"`        // bytes of the inputs, uncompressed
	SpilledBytes int64    `json:"spilled_bytes"`      // bytes of entries written to temporary files; entries that are written twice count twice
	Spool        int64    `json:"spool_bytes"`        // bytes of the sorted runs before they were merged
	Runs         int      `json:"runs"`               // largest number of sorted runs that exist at the same time
	IDLists      int      `json:"id_lists"`           // number of sorted lists of ids that did not fit in memory
	Resumes      int      `json:"resumes"`            // number of times that the ingest was interrupted and resumed
	Estimate     Estimate `json:"estimate"`           // estimates made before the ingest
	Lines        int64    `json:"lines"`              // number of lines read
	BadLines     int64    `json:"bad_lines"`          // number of lines that were left out because they could not be read
	FirstBad     []error  `json:"-"`                  // up to 10 tolerated *format.ParseErrors
	// number of entries merged into another entry with the same row and column; of an undirected graph, number of edges merged
	Duplicates int64            `json:"duplicates"`
	SelfLoops  int64            `json:"self_loops,omitempty"` // number of edges from a node to itself, whether they are kept or not
	RowTitles  int64            `json:"row_titles,omitempty"` // number of rows that have a title
	ColTitles  int64            `json:"col_titles,omitempty"` // number of columns that have a title
	Titled     bool             `json:"-"`                    // whether the input has titles of its own
	LeftOut    map[string]int64 `json:"left_out,omitempty"`   // what the input contains in addition to the matrix, such as labels: the number of items of each kind
	Filtered   Filtered         `json:"filtered,omitzero"`    // what the filters removed
	Heldout    *Heldout         `json:"held_out,omitempty"`   // the entries held out; absent if there are none
	Seconds    Seconds          `json:"seconds"`              // seconds of the ingest, by activity
}

// Seconds divides the time of an ingest by activity.
type Seconds struct {
	Total float64 `json:"total"` // seconds in total
	Read  float64 `json:"read"`  // seconds of reading and parsing
	Sort  float64 `json:"sort"`  // seconds of sorting entries, ranking ids and filtering
	Write float64 `json:"write"` // seconds of writing the store
}

func (t *task) describe() error {
	rep := t.report
	sec := t.meter.seconds
	rep.Seconds = Seconds{Read: sec[StageRead], Sort: sec[stageIDs] + sec[stageSort] + sec[stageSift], Write: sec[stageWrite]}
	rep.Seconds.Total = rep.Seconds.Read + rep.Seconds.Sort + rep.Seconds.Write
	s, err := csr.Open(rep.Store, csr.OpenOptions{FS: t.o.FS, Missing: true})
	if err != nil {
		return fmt.Errorf("open the new store: %w", err)
	}
	rep.Rows, rep.Cols = csr.Orient(s, s.Rows(), s.Cols())
	rep.NNZ, rep.Transposed = s.NNZ(), s.Transposed()
	rep.Fingerprint, rep.Bytes = s.Fingerprint(), s.Size()
	if err := s.Close(); err != nil {
		return err
	}
	return t.describePair()
}

// StageRead is the stage that reads the inputs.
const StageRead = "read"

const (
	stageIDs   = "ids" // only if ids do not fit in memory
	stageSort  = "sort"
	stageSift  = "sift" // only if entries are left out or held out
	stageWrite = "write"
)

// Progress is sent at each change of Stage, and within a stage about every 100 ms.
type Progress struct {
	Stage       string // "read", "ids", "sort", "sift" or "write"
	Done, Total int64  // for read: bytes of input on disk; for ids: ids in lists; for sort, sift and write: entries; Total 0: unknown
	Entries     int64  // entries read so far
}

// progressEvery is the least time between two calls of Observer within a stage.
const progressEvery = 100 * time.Millisecond

type meter struct {
	mu      sync.Mutex
	observe func(Progress)
	p       Progress
	last    time.Time
	began   time.Time
	seconds map[string]float64
}

func newMeter(observe func(Progress)) *meter {
	return &meter{observe: observe, seconds: map[string]float64{}}
}

func (m *meter) begin(stage string, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
	m.p.Stage, m.p.Done, m.p.Total = stage, 0, total
	m.send(time.Now())
}

func (m *meter) Extend(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Total += n
}

// spent returns the seconds of each stage so far.
func (m *meter) spent() map[string]float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := maps.Clone(m.seconds)
	if m.p.Stage != "" {
		s[m.p.Stage] += time.Since(m.began).Seconds()
	}
	return s
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
	m.send(time.Now())
}

func (m *meter) close() {
	now := time.Now()
	if m.p.Stage != "" {
		m.seconds[m.p.Stage] += now.Sub(m.began).Seconds()
	}
	m.began = now
}

func (m *meter) set(done, entries int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done, m.p.Entries = done, entries
	m.tick()
}

// Add adds to the progress of a stage that counts entries.
func (m *meter) Add(done int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done += int64(done)
	m.tick()
}

func (m *meter) tick() {
	if now := time.Now(); now.Sub(m.last) >= progressEvery {
		m.send(now)
	}
}

func (m *meter) send(now time.Time) {
	m.last = now
	if m.observe != nil {
		m.observe(m.p)
	}
}

// describePair adds the store of the entries held out to the report of a finished store. The error is fs.ErrNotExist if there
// is no such store, or if its entries are held out of another store.
func (t *task) describePair() error {
	if t.o.Holdout.kind() == heldout.None {
		return nil
	}
	name := t.report.Store + TestSuffix
	s, err := csr.Open(name, csr.OpenOptions{FS: t.o.FS, Missing: true})
	if err != nil {
		return fmt.Errorf("open the store of held-out entries: %w", err)
	}
	if t.report.Heldout == nil {
		t.report.Heldout = &Heldout{}
	}
	h := t.report.Heldout
	h.Store, h.NNZ, h.Bytes, h.Fingerprint = name, s.NNZ(), s.Size(), s.Fingerprint()
	if of := s.Manifest().Source[trainKey]; of != t.report.Fingerprint {
		return errors.Join(&fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is held out of another store: %w", fs.ErrNotExist)}, s.Close())
	}
	return s.Close()
}

// Heldout describes the store that a Holdout has made.
type Heldout struct {
	Store       string    `json:"store"`         // the store
	NNZ         int64     `json:"nnz"`           // number of stored entries
	Bytes       int64     `json:"bytes"`         // size of the store in bytes
	Fingerprint string    `json:"fingerprint"`   // fingerprint of the matrix, 64 hex digits
	From        time.Time `json:"from,omitzero"` // time from which on entries are held out, if they are held out by time
	Rows        int64     `json:"empty_rows"`    // number of rows whose entries are all held out
	Cols        int64     `json:"empty_cols"`    // number of columns whose entries are all held out
}
