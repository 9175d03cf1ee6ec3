package ingest

import (
	"maps"
	"sync"
	"time"
)

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

// meter passes progress on to an observer, one call at a time.
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

// begin changes the stage.
func (m *meter) begin(stage string, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.close()
	m.p.Stage, m.p.Done, m.p.Total = stage, 0, total
	m.send(time.Now())
}

// Extend adds work to the stage.
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

// end closes the last stage.
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

// set says how far the stage is.
func (m *meter) set(done, entries int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done, m.p.Entries = done, entries
	if now := time.Now(); now.Sub(m.last) >= progressEvery {
		m.send(now)
	}
}

// Add is set for stages that count entries.
func (m *meter) Add(done int) {
	m.mu.Lock()
	done64 := m.p.Done + int64(done)
	entries := m.p.Entries
	m.mu.Unlock()
	m.set(done64, entries)
}

func (m *meter) send(now time.Time) {
	m.last = now
	if m.observe != nil {
		m.observe(m.p)
	}
}
