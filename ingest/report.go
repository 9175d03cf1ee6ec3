package ingest

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
)

// Report is what an ingest did; its JSON form is what gdsvd ingest --json prints.
type Report struct {
	Store        string           `json:"store"`
	Finished     bool             `json:"finished,omitempty"` // it was there already; what is not told by the store is 0
	Format       string           `json:"-"`                  // recognised
	Fingerprint  string           `json:"fingerprint"`
	Rows         int64            `json:"rows"` // in the user's orientation, as is the next
	Cols         int64            `json:"cols"`
	NNZ          int64            `json:"nnz"`
	Transposed   bool             `json:"transposed"`    // the store holds the transpose
	Bytes        int64            `json:"bytes"`         // of the store
	InputBytes   int64            `json:"input_bytes"`   // uncompressed
	SpilledBytes int64            `json:"spilled_bytes"` // entries written to temporary files, rewriting included
	Spool        int64            `json:"spool_bytes"`   // that the runs took before they were merged
	Runs         int              `json:"runs"`          // sorted, most at a time
	IDLists      int              `json:"id_lists"`      // sorted lists of ids that did not fit in memory
	Resumes      int              `json:"resumes"`       // times it was interrupted and resumed
	Estimate     Estimate         `json:"estimate"`
	Lines        int64            `json:"lines"`
	BadLines     int64            `json:"bad_lines"`
	FirstBad     []error          `json:"-"`                    // up to 10 tolerated *ParseErrors
	Duplicates   int64            `json:"duplicates"`           // entries merged into another one; of an undirected graph, edges
	SelfLoops    int64            `json:"self_loops,omitempty"` // edges from a node to itself, kept or not
	RowTitles    int64            `json:"row_titles,omitempty"` // rows that have a title, of those given now
	ColTitles    int64            `json:"col_titles,omitempty"`
	Titled       bool             `json:"-"`                  // the input has titles of its own
	LeftOut      map[string]int64 `json:"left_out,omitempty"` // what the input has beside the matrix, as labels, and how many
	Filtered     Filtered         `json:"filtered,omitzero"`
	Heldout      *Heldout         `json:"held_out,omitempty"` // nil: nothing
	Seconds      Seconds          `json:"seconds"`
}

// Seconds is where the time of an ingest has gone.
type Seconds struct {
	Total float64 `json:"total"`
	Read  float64 `json:"read"`
	Sort  float64 `json:"sort"` // ranking the ids included, and sifting
	Write float64 `json:"write"`
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
	stageIDs   = "ids" // only if they do not fit in memory
	stageSort  = "sort"
	stageSift  = "sift" // only if entries are left out or held out
	stageWrite = "write"
)

// Progress is sent at each change of Stage, and within a stage about every 100 ms.
type Progress struct {
	Stage       string // "read", "ids", "sort", "sift" or "write"
	Done, Total int64  // bytes of input, as they lie on disk, for read; ids in lists; entries for sort, sift and write; Total 0 = unknown
	Entries     int64  // read so far
}

// progressEvery is the least time between two calls within a stage.
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

// spent is the seconds of each stage so far.
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

// Add is set for stages that count entries.
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
