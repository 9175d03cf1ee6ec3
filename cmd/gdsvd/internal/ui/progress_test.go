package ui

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// display returns a Display whose clock the test sets.
func display(o DisplayOptions) (*Display, *bytes.Buffer, *time.Time) {
	var out bytes.Buffer
	clock := time.Unix(1e9, 0)
	d := NewDisplay(&out, o)
	d.now, d.alive = func() time.Time { return clock }, time.Hour // no update by a timer
	return d, &out, &clock
}

func TestLogLinesComeAtTheInterval(t *testing.T) {
	d, out, clock := display(DisplayOptions{Interval: 5 * time.Second})
	d.Begin("ingest")
	for i := range 101 {
		d.Update(State{Done: int64(i) << 20, Total: 100 << 20, Bytes: true, Attrs: []slog.Attr{slog.Int("step", i)}})
		*clock = clock.Add(100 * time.Millisecond)
	}
	d.End()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines in 10 s, want 2:\n%s", len(lines), out)
	}
	for i, want := range []string{
		`msg=ingest step=50 done=50% rate="10.0 MiB/s" eta=5s`,
		`msg=ingest step=100 done=100% rate="10.0 MiB/s"`,
	} {
		if !strings.HasSuffix(lines[i], want) {
			t.Errorf("line %d: %s\nwant the end %s", i, lines[i], want)
		}
	}
}

func TestQuietWritesNothing(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		d, out, clock := display(DisplayOptions{Quiet: true, Terminal: terminal})
		d.Begin("x")
		*clock = clock.Add(time.Minute)
		d.Update(State{Done: 1, Total: 2})
		d.Logger().Error("loud")
		d.End()
		if out.Len() != 0 {
			t.Errorf("terminal %v: wrote %q", terminal, out)
		}
	}
}

// TestSayHasItsOwnLine: a message is on its own line, over a bar and also if nothing else is shown.
func TestSayHasItsOwnLine(t *testing.T) {
	for _, o := range []DisplayOptions{{Terminal: true}, {Quiet: true}, {}} {
		d, out, clock := display(o)
		d.Say("before")
		d.Begin("svd")
		*clock = clock.Add(time.Second)
		d.Update(State{Done: 1, Total: 2, Text: "pass 7"})
		d.Say("interrupted")
		d.End()
		var said []string
		for _, line := range screen(out.String()) {
			if line == "before" || line == "interrupted" {
				said = append(said, line)
			}
		}
		if len(said) != 2 {
			t.Errorf("%+v: the screen shows %q", o, screen(out.String()))
		}
	}
}

func TestLevelHidesProgressLines(t *testing.T) {
	d, out, clock := display(DisplayOptions{Level: slog.LevelWarn})
	d.Begin("x")
	*clock = clock.Add(time.Minute)
	d.Update(State{Done: 1, Total: 2})
	d.End()
	if out.Len() != 0 {
		t.Errorf("wrote %q", out)
	}
}

// screen returns the lines that a terminal shows after s was written to it.
func screen(s string) []string {
	var lines []string
	var line []rune
	col := 0
	for _, r := range s {
		switch r {
		case '\n':
			lines = append(lines, strings.TrimRight(string(line), " "))
			line, col = nil, 0
		case '\r':
			col = 0
		default:
			for len(line) <= col {
				line = append(line, ' ')
			}
			line[col] = r
			col++
		}
	}
	return append(lines, strings.TrimRight(string(line), " "))
}

func TestBarAndLogDoNotGarble(t *testing.T) {
	d, out, clock := display(DisplayOptions{Terminal: true})
	d.Begin("svd")
	var wg sync.WaitGroup
	for i := range 40 {
		*clock = clock.Add(time.Second)
		text := fmt.Sprintf("pass %d, residual %.0e", i, math.Pow(10, -float64(i%9)))
		d.Update(State{Done: int64(i), Total: 40, Text: text, ETA: 7 * time.Second})
		if i == 20 {
			lines := screen(out.String())
			bar := lines[len(lines)-1]
			if !strings.HasPrefix(bar, "svd pass 20, residual 1e-02 ETA 7s") || !strings.Contains(bar, "50%") {
				t.Errorf("the bar shows %q", bar)
			}
		}
		if i%10 == 0 {
			wg.Go(func() { d.Logger().Warn("note", "i", i) })
			wg.Wait()
		}
	}
	d.End()
	lines := screen(out.String())
	if len(lines) != 5 || lines[4] != "" {
		t.Fatalf("want four log lines and an empty one, got %q", lines)
	}
	for _, line := range lines[:4] {
		if !strings.HasPrefix(line, "time=") || strings.Contains(line, "svd") {
			t.Errorf("garbled: %q", line)
		}
	}
}

// TestStateAfter: between two updates the estimated time decreases, but not to 0, and Done
// increases, but not to Total.
func TestStateAfter(t *testing.T) {
	s := State{Done: 200, Total: 1000, ETA: 40 * time.Second, About: true}
	for after, want := range map[time.Duration]State{
		0:                {Done: 200, ETA: 40 * time.Second},
		10 * time.Second: {Done: 400, ETA: 30 * time.Second},
		time.Hour:        {Done: 920, ETA: 4 * time.Second},
	} {
		if got := s.After(after); got.Done != want.Done || got.ETA != want.ETA {
			t.Errorf("after %v: %d done, %v left, want %d and %v", after, got.Done, got.ETA, want.Done, want.ETA)
		}
	}
	for _, s := range []State{{Done: 5, Total: 9, About: true}, {Done: 5, Total: 9, ETA: time.Minute}} {
		if got := s.After(time.Second); got.Done != s.Done || got.ETA != s.ETA {
			t.Errorf("%+v becomes %+v", s, got)
		}
	}
}

// TestBarStaysAlive: the bar is redrawn without updates.
func TestBarStaysAlive(t *testing.T) {
	out := make(chan []byte, 100)
	d := NewDisplay(writerFunc(func(p []byte) { out <- p }), DisplayOptions{Terminal: true})
	d.alive = time.Millisecond
	d.Begin("svd")
	for drawn := 0; drawn < 3; {
		if strings.Contains(string(<-out), "svd") {
			drawn++
		}
	}
	go func() {
		for range out { // lets the drawing goroutine continue
		}
	}()
	d.End()
	close(out)
}

// TestLogStaysAlive: log lines are repeated without updates and say what is being done.
func TestLogStaysAlive(t *testing.T) {
	out := make(chan []byte, 100)
	d := NewDisplay(writerFunc(func(p []byte) { out <- p }), DisplayOptions{Interval: time.Millisecond, Doing: func() string { return "saving" }})
	d.alive = time.Millisecond
	d.Begin("svd")
	d.Update(State{Done: 1, Total: 2, Attrs: []slog.Attr{slog.Int("pass", 7)}})
	for logged := 0; logged < 3; {
		line := string(<-out)
		if strings.Contains(line, "msg=svd pass=7 since=") && strings.Contains(line, " doing=saving done=50%") {
			logged++
		}
	}
	go func() {
		for range out { // lets the logging goroutine continue
		}
	}()
	d.End()
	close(out)
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(bytes.Clone(p))
	return len(p), nil
}

// TestBarNeverGoesBack: the bar does not decrease if an extrapolation was too large.
func TestBarNeverGoesBack(t *testing.T) {
	d, out, clock := display(DisplayOptions{Terminal: true})
	d.Begin("svd")
	for _, done := range []int64{300, 200} {
		*clock = clock.Add(time.Second)
		d.Update(State{Done: done, Total: 1000, About: true})
	}
	lines := screen(out.String())
	if bar := lines[len(lines)-1]; !strings.Contains(bar, "30%") {
		t.Errorf("the bar shows %q", bar)
	}
	d.End()
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Millisecond: "1s", 7 * time.Second: "7s", 130 * time.Second: "2m10s",
		3*time.Hour + 5*time.Minute: "3h5m", 59*time.Minute + 59*time.Second: "59m59s",
	} {
		if got := Short(d); got != want {
			t.Errorf("Short(%v) = %q, want %q", d, got, want)
		}
	}
}
