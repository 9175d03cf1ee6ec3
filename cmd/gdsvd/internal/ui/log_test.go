package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/internal/must"
)

// objects parses lines of one JSON object each and fails on keys that occur twice and on control characters.
func objects(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		if !ended || !utf8.ValidString(body) || strings.ContainsFunc(body, unicode.IsControl) {
			t.Errorf("line %q", line)
		}
		d := json.NewDecoder(strings.NewReader(body))
		if first, err := d.Token(); err != nil || first != json.Delim('{') {
			t.Fatalf("no object: %q: %v", line, err)
		}
		object := map[string]any{}
		for d.More() {
			key := must.Get(d.Token())(t)
			var value any
			if err := d.Decode(&value); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if _, twice := object[key.(string)]; twice {
				t.Errorf("%q occurs twice: %s", key, line)
			}
			object[key.(string)] = value
		}
		if rest, err := d.Token(); err != nil || rest != json.Delim('}') || d.More() {
			t.Errorf("not one object: %q", line)
		}
		if _, err := time.Parse(time.RFC3339Nano, object["time"].(string)); err != nil || object["schema"] != "gdsvd-log/1" {
			t.Errorf("%v in %s", err, line)
		}
		all = append(all, object)
	}
	return all
}

func TestJSONLines(t *testing.T) {
	d, out, clock := display(DisplayOptions{JSON: true, Terminal: true, Interval: time.Second})
	d.Begin("svd")
	*clock = clock.Add(4 * time.Second)
	d.Update(State{Done: 300, Total: 1200, Bytes: true, ETA: 90 * time.Second, About: true, Attrs: []slog.Attr{
		slog.Any("sigma", Figure{1.0 / 3, 3}), slog.Any("passes/s", Figure{math.NaN(), 3}), slog.Any("vectors", Amount(1<<20)),
		slog.Float64("rmse", math.Inf(1)), slog.Any("since", brief(70*time.Second)),
	}})
	d.End()
	d.Logger().Warn("a\x1b[31m\u009b\x7f\xff\"", "in memory at a time", 5*time.Second, "error", errors.New("e\n"))
	d.Say("gdsvd: interrupted")
	d.Final("it failed", 1, 2*time.Second)
	d.Final("it is partial", 0, 0)
	d.Final("", 0, 0)
	all := objects(t, out.String())
	want := []map[string]any{
		{"level": "INFO", "event": "progress", "msg": "svd", "task": "svd", "share": 0.25, "bytes": 300.0, "bytes_total": 1200.0, "bytes_per_second": 75.0, "eta_seconds": 90.0,
			"elapsed_seconds": 4.0, "estimated": true, "sigma": 1.0 / 3, "passes_per_second": nil, "vectors": 1048576.0, "rmse": nil, "since": 70.0},
		{"level": "WARN", "event": "log", "msg": "a\x1b[31m\u009b\x7f\ufffd\"", "in_memory_at_a_time": 5.0, "error": "e\n"},
		{"level": "WARN", "event": "notice", "msg": "interrupted"},
		{"level": "ERROR", "event": "final", "msg": "it failed", "exit": 1.0, "elapsed_seconds": 2.0},
		{"level": "WARN", "event": "final", "msg": "it is partial", "exit": 0.0, "elapsed_seconds": 0.0},
		{"level": "INFO", "event": "final", "msg": "done", "exit": 0.0, "elapsed_seconds": 0.0},
	}
	if len(all) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(all), len(want), out)
	}
	for i, object := range all {
		if object["event"] == "final" {
			if _, ok := object["peak_rss_bytes"].(float64); !ok {
				t.Errorf("line %d has no peak_rss_bytes", i)
			}
			delete(object, "peak_rss_bytes")
		}
		delete(object, "time")
		delete(object, "schema")
		for key, value := range want[i] {
			if got, there := object[key]; !there || got != value {
				t.Errorf("line %d: %s is %v, want %v", i, key, got, value)
			}
		}
		if len(object) != len(want[i]) {
			t.Errorf("line %d: %v, want %v", i, object, want[i])
		}
	}
}

// TestQuietJSONLines: a quiet command logs notices and its failure only.
func TestQuietJSONLines(t *testing.T) {
	d, out, _ := display(DisplayOptions{JSON: true, Quiet: true})
	d.Logger().Error("unsaid")
	d.Final("", 0, 0)
	if out.Len() > 0 {
		t.Errorf("wrote %s", out)
	}
	d.Say("interrupted")
	d.Final("failed", 130, 0)
	if all := objects(t, out.String()); len(all) != 2 || all[0]["msg"] != "interrupted" || all[1]["exit"] != 130.0 {
		t.Errorf("wrote %s", out)
	}
}

// FuzzJSONLine: for any message and field, a line is one JSON object that is read back.
func FuzzJSONLine(f *testing.F) {
	f.Add("plain", "value")
	f.Add("\x00\x1b]0;\x07\x7f\u0085\u009f\u2028\xc2", "\xc2\x80\xe2\x80\xa8\\u0080")
	f.Fuzz(func(t *testing.T, message, value string) {
		var out bytes.Buffer
		d := NewDisplay(&out, DisplayOptions{JSON: true})
		d.Logger().Info(message, "value", value)
		all := objects(t, out.String())
		if len(all) != 1 || all[0]["msg"] != strings.ToValidUTF8(message, "\ufffd") && utf8.ValidString(message) || all[0]["value"] != value && utf8.ValidString(value) {
			t.Errorf("%q, %q became %s", message, value, out.String())
		}
	})
}
