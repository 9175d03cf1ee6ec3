package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// LogSchema is the version of the lines of --log-format json, which docs/operate.md describes.
const LogSchema = "gdsvd-log/1"

// Values of the field event of a line of --log-format json.
const (
	eventLog      = "log"      // a note or a warning
	eventProgress = "progress" // progress of a task
	eventNotice   = "notice"   // message that is written even if the display is quiet
	eventFinal    = "final"    // the last line: the outcome of the command
)

// newLines returns a logger of a display that writes to w.
func newLines(w io.Writer, asJSON bool, level slog.Leveler) *slog.Logger {
	if !asJSON {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	h := slog.NewJSONHandler(printable{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: machine})
	return slog.New(h).With("schema", LogSchema)
}

// machine converts a field of a log line for programs: names without spaces, durations in seconds, null for NaN and infinity.
func machine(_ []string, a slog.Attr) slog.Attr {
	a.Key = strings.NewReplacer("/s", "_per_second", " ", "_").Replace(a.Key)
	switch a.Value.Kind() {
	case slog.KindDuration:
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	case slog.KindFloat64:
		if x := a.Value.Float64(); math.IsNaN(x) || math.IsInf(x, 0) {
			a.Value = slog.AnyValue(nil)
		}
	}
	return a
}

// printable escapes the control characters that encoding/json does not escape: DEL and U+0080 to U+009F, which occur only in
// strings. Each call writes a complete line.
type printable struct{ w io.Writer }

func (p printable) Write(line []byte) (int, error) {
	out := make([]byte, 0, len(line))
	for _, r := range string(line) {
		if r >= 0x7f && r <= 0x9f {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(line), nil
}

// Figure is a number of a log line: rounded to Digits digits in text, exact in JSON.
type Figure struct {
	X      float64
	Digits int
}

func (f Figure) MarshalText() ([]byte, error) {
	return strconv.AppendFloat(nil, f.X, 'g', f.Digits, 64), nil
}

func (f Figure) MarshalJSON() ([]byte, error) { return factor.Number(f.X).MarshalJSON() }

// brief is a duration of a log line: Short in text, seconds in JSON.
type brief time.Duration

func (b brief) MarshalText() ([]byte, error) { return []byte(Short(time.Duration(b))), nil }
func (b brief) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(b).Seconds()) }

// Amount is a number of bytes of a log line: with a unit in text, a number in JSON.
type Amount int64

func (a Amount) MarshalText() ([]byte, error) { return []byte(memory.FormatSize(int64(a))), nil }
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(int64(a)) }

// record returns the state as fields of --log-format json.
func (s State) record(task string, elapsed time.Duration) []slog.Attr {
	attrs := append([]slog.Attr{slog.String("event", eventProgress), slog.String("task", task), slog.Duration("elapsed_seconds", elapsed)}, s.Attrs...)
	if s.Total > 0 {
		attrs = append(attrs, slog.Float64("share", float64(s.Done)/float64(s.Total)))
	}
	if s.Bytes {
		attrs = append(attrs, slog.Int64("bytes", s.Done), slog.Int64("bytes_per_second", perSecond(s.Done, elapsed)))
		if s.Total > 0 {
			attrs = append(attrs, slog.Int64("bytes_total", s.Total))
		}
	}
	if s.ETA > 0 {
		attrs = append(attrs, slog.Duration("eta_seconds", s.ETA))
	}
	if s.About {
		attrs = append(attrs, slog.Bool("estimated", true))
	}
	return attrs
}

// Final reports the outcome of the command. In text it writes the message, if there is one; in JSON it always writes a line,
// unless the command has succeeded and the display is quiet.
func (d *Display) Final(message string, exit int, elapsed time.Duration) {
	if !d.o.JSON {
		if message != "" {
			d.Say("gdsvd: " + message)
		}
		return
	}
	level := slog.LevelInfo
	switch {
	case exit != ExitOK:
		level = slog.LevelError
	case message != "":
		level = slog.LevelWarn
	case d.o.Quiet:
		return
	default:
		message = "done"
	}
	d.said.LogAttrs(context.Background(), level, message, slog.String("event", eventFinal), slog.Int("exit", exit),
		slog.Duration("elapsed_seconds", elapsed), slog.Int64("peak_rss_bytes", memory.PeakRSS()))
}
