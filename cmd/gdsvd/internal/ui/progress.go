package ui

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/outlook"
)

const barEvery = 100 * time.Millisecond

type DisplayOptions struct {
	Terminal bool          // draw a bar
	Quiet    bool          // no bar, no log
	JSON     bool          // every line is a JSON object (docs/operate.md), and no bar is drawn
	Interval time.Duration // between two log lines; 0 means 5 s
	Level    slog.Level    // least level that is logged
	// Doing says what the process does at the moment beside the task, "" for nothing;
	// may be nil.
	Doing func() string
}

// Display shows how far tasks are, one at a time, and writes the log: a bar on a terminal, a
// log line every few seconds elsewhere, whether anything is new or not, nothing when quiet. The
// bar and the log share one writer and never garble each other.
// Its methods may be called from several goroutines.
type Display struct {
	o      DisplayOptions
	w      io.Writer
	lines  *slog.Logger // progress
	logger *slog.Logger
	said   *slog.Logger // what is said even if the display is quiet
	now    func() time.Time
	alive  time.Duration // how often the bar is drawn when nothing is new, and log lines come at most

	mu      sync.Mutex
	bar     *bar // nil when none is drawn
	title   string
	started time.Time
	shown   time.Time
	state   State         // that was shown last, as of
	since   time.Time     // this moment
	most    int64         // Done that was drawn, of a task that estimates it
	stop    chan struct{} // closed when the task ends
	beat    sync.WaitGroup
}

func NewDisplay(w io.Writer, o DisplayOptions) *Display {
	o.Interval = cmp.Or(o.Interval, 5*time.Second)
	d := &Display{o: o, w: w, now: time.Now, alive: time.Second}
	var out io.Writer = (*logWriter)(d)
	if o.Quiet {
		out = io.Discard
	}
	d.lines = newLines(out, o.JSON, o.Level)
	d.said = newLines((*logWriter)(d), o.JSON, slog.LevelDebug)
	d.logger = d.lines
	if o.JSON {
		d.o.Terminal = false
		d.logger = d.lines.With("event", eventLog)
	}
	return d
}

// Logger returns the logger that writes beside the bar.
func (d *Display) Logger() *slog.Logger { return d.logger }

// logWriter lets a record through with the bar out of its way. (slog writes a record in one call.)
type logWriter Display

func (l *logWriter) Write(p []byte) (int, error) { return len(p), (*Display)(l).write(string(p)) }

// write writes lines, broken where a terminal ends, with the bar out of their way.
func (d *Display) write(lines string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bar != nil {
		d.bar.clear()
		defer d.bar.draw()
	}
	if !d.o.JSON && IsTerminal(d.w) {
		lines = Fold(lines, Width(d.w))
	}
	_, err := io.WriteString(d.w, lines)
	return err
}

// besideBar is the most that is written around the bar and its text: the share and the time.
const besideBar = 22

// barWidth is the width of the bar: what half a terminal has beside its text, 20 at most and 5 at least.
func (d *Display) barWidth() int { return min(20, max(5, (Width(d.w)-besideBar)/5)) }

// shorten leaves what fits of a description whose end must be there.
func (d *Display) shorten(text, end string) string {
	most := max(0, Width(d.w)-1-besideBar-d.barWidth()-utf8.RuneCountInString(end))
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:max(0, most-1)]) + "…"
	}
	return text + end
}

// Begin starts a task. One that was running is ended.
func (d *Display) Begin(title string) {
	d.End()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.title, d.started, d.shown, d.since = title, d.now(), d.now(), d.now()
	d.state, d.most = State{}, 0
	if d.o.Quiet {
		return
	}
	stop := make(chan struct{})
	d.stop = stop
	d.beat.Go(func() { d.keepAlive(stop) })
	if !d.o.Terminal {
		return
	}
	d.bar = &bar{w: d.w, width: d.barWidth(), began: time.Now(), text: d.shorten(title, "")}
	d.bar.draw()
}

// keepAlive draws the bar, or logs a line, now and then while nothing new is known:
// between two updates of a long run minutes may pass.
func (d *Display) keepAlive(stop <-chan struct{}) {
	tick := time.NewTicker(d.alive)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		d.mu.Lock()
		now := d.now()
		every := d.alive
		if d.bar == nil {
			every = max(every, d.o.Interval)
		}
		if now.Sub(d.shown) < every {
			d.mu.Unlock()
			continue
		}
		d.shown = now
		s := d.state.After(now.Sub(d.since))
		s.Attrs = append(slices.Clone(s.Attrs), slog.Any("since", brief(now.Sub(d.since))))
		if d.o.Doing != nil {
			if doing := d.o.Doing(); doing != "" {
				s.Text += ", " + doing
				s.Attrs = append(s.Attrs, slog.String("doing", doing))
			}
		}
		d.show(s, now.Sub(d.started))
	}
}

// State is one moment of a task.
type State struct {
	Done, Total int64 // of the whole task; Total 0 means unknown
	Bytes       bool  // Done and Total are bytes
	// Text describes the moment on the bar, Attrs in the log.
	Text  string
	Attrs []slog.Attr
	// ETA is the time left as far as the task itself knows; 0 leaves it to the rate
	// so far when Bytes is set, and unsaid otherwise.
	ETA time.Duration
	// About marks Done and ETA as no more than estimates.
	About bool
}

// Counted is the state of a task that has made n of what: "rows".
func Counted(done, total, n int64, what string) State {
	return State{Done: done, Total: total, Text: fmt.Sprintf("%d %s", n, what), Attrs: []slog.Attr{slog.Int64(what, n)}}
}

// After is the state a time later, as far as it can be told: an estimate of the
// time left runs down, but not to its end, and Done with it.
func (s State) After(t time.Duration) State {
	if !s.About || s.ETA == 0 {
		return s
	}
	left := max(s.ETA-t, s.ETA/10)
	s.Done = s.Total - int64(float64(s.Total-s.Done)*left.Seconds()/s.ETA.Seconds())
	s.ETA = left
	return s
}

func (s *State) eta() string {
	if s.About {
		return "~" + Short(s.ETA)
	}
	return Short(s.ETA)
}

// Update shows the state if it is time to. It is cheap enough to be called often.
func (d *Display) Update(s State) {
	if d.o.Quiet {
		return
	}
	d.mu.Lock()
	now := d.now()
	every := d.o.Interval
	if d.bar != nil {
		every = barEvery
	}
	elapsed := now.Sub(d.started)
	if s.ETA == 0 && s.Bytes {
		s.ETA = outlook.AtRate(s.Done, s.Total, elapsed)
	}
	d.state, d.since = s, now
	if now.Sub(d.shown) < every {
		d.mu.Unlock()
		return
	}
	d.shown = now
	d.show(s, elapsed)
}

// show draws the bar or logs a line. It is called with the lock held and gives it up.
func (d *Display) show(s State, elapsed time.Duration) {
	title := d.title
	if d.bar != nil {
		d.draw(s, elapsed)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock() // the logger takes the lock itself
	attrs := s.attrs(elapsed)
	if d.o.JSON {
		attrs = s.record(title, elapsed)
	}
	d.lines.LogAttrs(context.Background(), slog.LevelInfo, title, attrs...)
}

// draw is called with the lock held.
func (d *Display) draw(s State, elapsed time.Duration) {
	text := d.title
	if s.Text != "" {
		text += " " + s.Text
	}
	if s.Bytes {
		text += " " + rate(s.Done, elapsed)
	}
	end := ""
	if s.ETA > 0 {
		end = " ETA " + s.eta()
	}
	if s.About { // what was extrapolated may have been too much
		s.Done = max(s.Done, d.most)
		d.most = s.Done
	}
	if s.Total > 0 {
		d.bar.share = min(1, max(0, float64(s.Done)/float64(s.Total)))
	}
	d.bar.text = d.shorten(text, end)
	d.bar.draw()
}

func (s State) attrs(elapsed time.Duration) []slog.Attr {
	attrs := append([]slog.Attr{}, s.Attrs...)
	if s.Total > 0 {
		attrs = append(attrs, slog.String("done", fmt.Sprintf("%.0f%%", 100*float64(s.Done)/float64(s.Total))))
	}
	if s.Bytes {
		attrs = append(attrs, slog.String("rate", rate(s.Done, elapsed)))
	}
	if s.ETA > 0 {
		attrs = append(attrs, slog.String("eta", s.eta()))
	}
	return attrs
}

// Say writes a line, with the bar out of its way. It is for what has to be said
// even if the display is quiet.
func (d *Display) Say(line string) {
	if d.o.JSON {
		d.said.Warn(strings.TrimPrefix(line, "gdsvd: "), "event", eventNotice)
		return
	}
	_ = d.write(line + "\n")
}

// End ends the task, and takes the bar away.
func (d *Display) End() {
	d.mu.Lock()
	if d.bar != nil {
		d.bar.clear()
		d.bar = nil
	}
	if d.stop != nil {
		close(d.stop)
		d.stop = nil
	}
	d.mu.Unlock()
	d.beat.Wait()
}

func rate(done int64, elapsed time.Duration) string {
	return memory.FormatSize(perSecond(done, elapsed)) + "/s"
}

func perSecond(done int64, elapsed time.Duration) int64 {
	return int64(float64(done) / max(elapsed.Seconds(), 1e-3))
}

// Short writes a duration as a person would: 7s, 2m10s, 3h5m.
func Short(t time.Duration) string {
	switch {
	case t < time.Second:
		return "1s"
	case t < time.Hour:
		return t.Round(time.Second).String()
	default:
		t = t.Round(time.Minute)
		return fmt.Sprintf("%dh%dm", int(t.Hours()), int(t.Minutes())%60)
	}
}

// bar is a line of a terminal with a text, the share that is done and the time since it began. It is drawn over
// what it was before. A line that cannot be written is not worth failing for.
type bar struct {
	w     io.Writer
	width int // of the bar itself, in characters
	began time.Time
	text  string
	share float64 // from 0 to 1
	drawn int     // characters of the line that is there
}

func (b *bar) draw() {
	full := int(b.share * float64(b.width))
	line := fmt.Sprintf("%s%4d%% |%s%s|  [%v]", b.text, int(100*b.share),
		strings.Repeat("█", full), strings.Repeat(" ", b.width-full), time.Since(b.began).Round(time.Second))
	n := utf8.RuneCountInString(line)
	_, _ = io.WriteString(b.w, "\r"+line+strings.Repeat(" ", max(0, b.drawn-n)))
	b.drawn = max(b.drawn, n)
}

func (b *bar) clear() {
	_, _ = io.WriteString(b.w, "\r"+strings.Repeat(" ", b.drawn)+"\r")
	b.drawn = 0
}
