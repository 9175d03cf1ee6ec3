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
	Level    slog.Level    // lowest level that is logged
	// Doing describes work of the process besides the task, "" for none. It may be nil.
	Doing func() string
}

// Display shows the progress of tasks, one at a time, and writes the log. On a terminal it draws a bar; elsewhere it logs a line
// every few seconds, whether or not the progress is new; if quiet it shows nothing. The bar and the log share one writer and do
// not interfere. Its methods may be called from several goroutines.
type Display struct {
	o      DisplayOptions
	w      io.Writer
	lines  *slog.Logger // progress
	logger *slog.Logger
	said   *slog.Logger // messages that are written even if the display is quiet
	now    func() time.Time
	alive  time.Duration // time after which an unchanged bar is drawn again; least time between log lines

	mu      sync.Mutex
	bar     *bar // nil: no bar is drawn
	title   string
	started time.Time
	shown   time.Time
	state   State         // state of the last Update
	since   time.Time     // time of the last Update
	most    int64         // largest Done drawn, of a task that estimates it
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

// logWriter removes the bar while it writes a record. (slog writes a record in one call.)
type logWriter Display

func (l *logWriter) Write(p []byte) (int, error) { return len(p), (*Display)(l).write(string(p)) }

// write removes the bar while it writes lines, which it folds at the width of the terminal.
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

// besideBar is the largest number of characters around the bar and its text: the share and the time.
const besideBar = 22

// barWidth returns the width of the bar: 20 % of the space, at most 20 and at least 5 characters.
func (d *Display) barWidth() int { return min(20, max(5, (Width(d.w)-besideBar)/5)) }

// shorten cuts text so that text and end fit beside the bar; end is kept whole.
func (d *Display) shorten(text, end string) string {
	most := max(0, Width(d.w)-1-besideBar-d.barWidth()-utf8.RuneCountInString(end))
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:max(0, most-1)]) + "…"
	}
	return text + end
}

// Begin starts a task. It ends the task before, if any.
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

// keepAlive draws the bar or logs a line from time to time without a new state: minutes may pass between two updates of a
// long run.
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

// State is the progress of a task at one moment.
type State struct {
	Done, Total int64 // of the whole task; Total 0: unknown
	Bytes       bool  // Done and Total are bytes
	// Text describes the state on the bar, Attrs in the log.
	Text  string
	Attrs []slog.Attr
	// ETA is the time left according to the task. If it is 0 and Bytes is set, it is computed from the rate so far; if it is
	// 0 otherwise, no time left is shown.
	ETA time.Duration
	// About marks Done and ETA as estimates.
	About bool
}

// Counted returns the state of a task that has processed n of the items what, such as "rows".
func Counted(done, total, n int64, what string) State {
	return State{Done: done, Total: total, Text: fmt.Sprintf("%d %s", n, what), Attrs: []slog.Attr{slog.Int64(what, n)}}
}

// After returns the expected state after a time t: an estimated ETA decreases, to a tenth at least, and Done increases
// accordingly.
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

// Update shows the state if enough time has passed since the last one. It is cheap enough to be called often.
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

// show draws the bar or logs a line. The caller holds the lock, and show releases it.
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

// draw draws the bar. The caller holds the lock.
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
	if s.About { // an earlier extrapolation may have been too high
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

// Say writes a line, with the bar removed meanwhile, even if the display is quiet.
func (d *Display) Say(line string) {
	if d.o.JSON {
		d.said.Warn(strings.TrimPrefix(line, "gdsvd: "), "event", eventNotice)
		return
	}
	_ = d.write(line + "\n")
}

// End ends the task and removes the bar.
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

// Short returns a duration as text for people: 7s, 2m10s, 3h5m.
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

// bar is a line of a terminal with a text, the share that is done and the time since it began. Each drawing replaces the
// one before. Errors of writing are ignored.
type bar struct {
	w     io.Writer
	width int // of the bar itself, in characters
	began time.Time
	text  string
	share float64 // from 0 to 1
	drawn int     // length of the line on the terminal in characters
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
