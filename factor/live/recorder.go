package live

import (
	"encoding/json"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// Suffix ends the name of the live file of a run, beside the directory that the run makes.
const Suffix = ".live"

// lockSuffix is added to the name of the live file for the lock of its writer.
const lockSuffix = ".lock"

// MaxFile is the size in bytes beyond which the live file is written anew.
const MaxFile = 2 << 20

const (
	writeEvery = 500 * time.Millisecond
	beatEvery  = 2 * time.Second // a line comes at least as often
)

// Recorder records a run. Its methods may be called from several goroutines; only End waits for the file.
type Recorder struct {
	fs    vfs.FS
	name  string
	began time.Time
	stop  chan struct{}
	done  sync.WaitGroup
	begun sync.Once

	mu      sync.Mutex
	state   State
	waiting []line // lines that are not written yet
	staged  bool   // the stage has changed since the last write
	changed bool   // the file is to be written anew

	// The fields below belong to the goroutine that writes.
	lock io.Closer
	file vfs.File
	size int64
	part int
	beat time.Time
	told float64 // seconds of the last line
}

// Record begins to record a run that makes the directory about.Out, which may exist already. Nothing is written before its
// first stage or pass, nor while another process records a run there.
func Record(fsys vfs.FS, about About) *Recorder {
	out := filepath.Clean(about.Out)
	if about.Began.IsZero() {
		about.Began = time.Now()
	}
	r := &Recorder{fs: fsys, name: out + Suffix, began: about.Began, stop: make(chan struct{}), changed: true}
	r.state = State{Format: Format, Name: filepath.Base(out), Status: Running, About: about}
	return r
}

// Describe changes what is known about the run.
func (r *Recorder) Describe(change func(*About)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state.About)
	r.changed = true
}

// Stage records the progress of the run. It is cheap enough to be called often.
func (r *Recorder) Stage(s Stage) {
	r.begin()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.apply(&line{T: r.seconds(), Stage: &s})
	r.staged = true
}

// Pass records a pass and the progress of the run.
func (r *Recorder) Pass(e factor.Event, s Stage) {
	r.begin()
	r.mu.Lock()
	defer r.mu.Unlock()
	l := line{T: r.seconds(), Pass: &e, Stage: &s}
	r.state.apply(&l)
	r.waiting = append(r.waiting, l)
	if len(r.waiting) > MostPasses {
		r.waiting, r.changed = nil, true // the state has these passes, or every second one
	}
}

// State returns the current state of the run.
func (r *Recorder) State() *State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Status == Running {
		r.state.Seconds = r.seconds()
	}
	return r.state.copied()
}

// End ends the record and removes its file: only a process that is killed leaves the file.
func (r *Recorder) End(status Status, message string) {
	r.mu.Lock()
	r.state.apply(&line{T: r.seconds(), End: status, Message: message})
	r.mu.Unlock()
	if status == Finished {
		r.begin() // removes the file of a killed run, even if nothing was left to do
	}
	r.begun.Do(func() {}) // a record that has not begun stays so
	close(r.stop)
	r.done.Wait()
}

func (r *Recorder) begin() {
	r.begun.Do(func() { r.done.Go(r.run) })
}

func (r *Recorder) seconds() float64 { return time.Since(r.began).Seconds() }

func (r *Recorder) run() {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		r.write()
		select {
		case <-tick.C:
		case <-r.stop:
			r.end()
			return
		}
	}
}

// write writes the new lines. After a failed write, the next one writes the whole file anew.
func (r *Recorder) write() {
	var beat line
	if now := time.Now(); now.Sub(r.beat) >= beatEvery {
		r.beat = now
		beat.RSS, beat.PeakRSS = memory.RSS(), memory.PeakRSS()
	}
	r.mu.Lock()
	if r.state.Status == Running {
		beat.T = r.seconds()
	}
	if r.state.apply(&beat); r.staged {
		beat.Stage = new(r.state.Stage)
	}
	lines, anew := r.waiting, r.changed || r.size > MaxFile
	switch {
	case anew:
		lines = r.state.lines(r.part)
	case r.staged || beat.RSS > 0 || beat.T-r.told >= beatEvery.Seconds():
		lines = append(lines, beat)
	}
	if len(lines) > 0 {
		r.told = beat.T
	}
	r.waiting, r.staged, r.changed = nil, false, false
	r.mu.Unlock()
	if len(lines) > 0 && !r.put(lines, anew) {
		r.mu.Lock()
		r.changed = true
		r.mu.Unlock()
	}
}

// put writes lines to the file. If anew is true it makes a new file, after the lines are encoded: a process that is killed rarely
// leaves an empty one.
func (r *Recorder) put(lines []line, anew bool) bool {
	var text []byte
	for i := range lines {
		b, err := json.Marshal(&lines[i])
		if err != nil {
			return false
		}
		text = append(append(text, b...), '\n')
	}
	if anew && !r.create() {
		return false
	}
	n, err := r.file.Write(text)
	r.size += int64(n)
	return err == nil
}

// lines returns the lines of a file that is written anew and has been so part times before.
func (s *State) lines(part int) []line {
	all := []line{{Format: Format, Part: part, About: new(s.About)}}
	for len(s.Passes.Events) > MostPasses/2 && part > 0 {
		s.Passes.thin(MostPasses / 2)
	}
	for _, e := range s.Passes.Events {
		all = append(all, line{Pass: &e})
	}
	last := line{T: s.Seconds, RSS: s.RSS, PeakRSS: s.PeakRSS, Stage: new(s.Stage)}
	if s.Status != Running {
		last.End, last.Message = s.Status, s.Message
	}
	return append(all, last)
}

// create makes the file, in place of an existing one.
func (r *Recorder) create() bool {
	if r.lock == nil {
		lock, err := r.fs.Lock(r.name + lockSuffix)
		if err != nil {
			return false
		}
		r.lock = lock
	}
	if r.file != nil {
		_ = r.file.Close() // the new file has all its lines
		r.file = nil
	}
	_ = r.fs.Remove(r.name)
	file, err := r.fs.Create(r.name)
	if err != nil {
		return false
	}
	r.file, r.size = file, 0
	r.part++
	return true
}

func (r *Recorder) end() {
	if r.file != nil {
		_ = r.file.Close()
	}
	if r.lock == nil {
		return
	}
	_ = r.fs.Remove(r.name)
	_ = r.lock.Close()
}
