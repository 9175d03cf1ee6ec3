package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
)

// logged runs a command with --log-format json and a log line for each update, and returns the lines of standard error.
func logged(t *testing.T, ctx context.Context, args ...string) (lines []map[string]any, o ran) {
	t.Helper()
	o = gdsvdAs(t, ctx, func(a *app) { a.interval = time.Nanosecond }, append(args, "--log-format", "json")...)
	for line := range strings.Lines(o.stderr) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) {
			t.Fatalf("gdsvd %s: line %q: %v", strings.Join(args, " "), line, err)
		}
		lines = append(lines, object)
	}
	for i, object := range lines {
		if (object["event"] == "final") != (i == len(lines)-1) || object["schema"] != ui.LogSchema {
			t.Errorf("gdsvd %s: line %d of %d is %v", strings.Join(args, " "), i+1, len(lines), object)
		}
	}
	if len(lines) == 0 || lines[len(lines)-1]["exit"] != float64(o.code) {
		t.Fatalf("gdsvd %s: exit %d, but\n%s", strings.Join(args, " "), o.code, o.stderr)
	}
	return lines, o
}

// ofEvent returns the lines with the given event.
func ofEvent(lines []map[string]any, event string) (some []map[string]any) {
	for _, l := range lines {
		if l["event"] == event {
			some = append(some, l)
		}
	}
	return some
}

func TestLogFormatJSON(t *testing.T) {
	work := t.TempDir()
	file, store, out := ratings(t, tall), filepath.Join(work, "m.csr"), filepath.Join(work, "m.svd")
	for _, c := range []struct {
		args   []string
		task   string
		fields []string
	}{
		{[]string{"ingest", file, "-o", store}, "ingest: read", []string{"entries", "bytes", "elapsed_seconds"}},
		{[]string{"svd", store, "-k", "3", "-o", out, "--method", "power"}, "svd", []string{"pass", "found", "of", "sigma", "residual", "passes_per_second", "share"}},
		{[]string{"complete", store, "-k", "2", "-o", filepath.Join(work, "m.complete")}, "complete", []string{"round", "lambda", "rmse", "rounds_per_second"}},
		{[]string{"check", store}, "check", []string{"bytes", "bytes_total", "share"}},
	} {
		lines, o := logged(t, t.Context(), c.args...)
		if o.code != ui.ExitOK {
			t.Fatalf("exit %d\n%s", o.code, o.stderr)
		}
		found := map[string]bool{}
		for _, l := range ofEvent(lines, "progress") {
			for key, v := range l {
				if _, number := v.(float64); number && l["task"] == c.task {
					found[key] = true
				}
			}
		}
		for _, f := range c.fields {
			if !found[f] {
				t.Errorf("gdsvd %s: no progress of %q has a number %q:\n%s", c.args[0], c.task, f, o.stderr)
			}
		}
	}
	lines, o := logged(t, t.Context(), "svd", store, "-k", "3", "-o", out, "--resume")
	if notes := ofEvent(lines, "log"); o.code != ui.ExitOK || len(notes) != 1 || notes[0]["result"] != out {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

// TestLogFormatJSONOfErrors: errors before the command line is parsed are JSON, too, also with odd file names.
func TestLogFormatJSONOfErrors(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "no\x1b[31m\u009b\nsuch")
	for code, commands := range map[int][][]string{
		ui.ExitUsage: {{"svdd"}, {"svd"}, {"--nonsense"}, {"svd", "-k", "two", "x"}, {"version", "--config", odd}},
		ui.ExitError: {{"info", odd}},
	} {
		for _, args := range commands {
			lines, o := logged(t, t.Context(), args...)
			if last := lines[len(lines)-1]; o.code != code || last["level"] != "ERROR" || last["msg"] == "" || o.stdout != "" {
				t.Errorf("%q: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
			}
		}
	}
	t.Setenv("GDSVD_LOG_FORMAT", "json")
	if o := gdsvd(t, "--nonsense"); !strings.HasPrefix(o.stderr, "{") {
		t.Errorf("the variable is not obeyed: %s", o.stderr)
	}
	if o := gdsvd(t, "--nonsense", "--log-format=text"); !strings.HasPrefix(o.stderr, "gdsvd: ") {
		t.Errorf("the flag does not win: %s", o.stderr)
	}
}

func TestLogFormatJSONOfAnInterruption(t *testing.T) {
	store := ingested(t, tall)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lines, o := logged(t, ctx, "svd", store, "-k", "3", "-o", filepath.Join(t.TempDir(), "out"))
	if o.code != ui.ExitInterrupted || lines[len(lines)-1]["level"] != "ERROR" {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
}

// TestPartialOK: with --partial-ok an incomplete result is no failure, but other errors are.
func TestPartialOK(t *testing.T) {
	store := ingested(t, tall)
	for name, args := range map[string][]string{
		"svd":      {"svd", store, "-k", "3", "--tol", "1e-13", "--method", "gd", "--max-passes", "3"},
		"complete": {"complete", store, "-k", "3", "--lambda", "1", "--max-rounds", "1"},
	} {
		strict, out := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out")
		without := fails(t, ui.ExitNotConverged, `; the result`, append(args, "-q", "-o", strict)...)
		o := gdsvd(t, append(args, "-q", "-o", out, "--partial-ok", "--json")...)
		var r factor.Result
		if decode(t, o.stdout, &r); o.code != ui.ExitOK || r.Status == "converged" || r.Status == "" || o.stderr != strings.ReplaceAll(without.stderr, strict, out) {
			t.Errorf("%s: exit %d, status %q, standard error %q", name, o.code, r.Status, o.stderr)
		}
		if kept := resultOf(t, out); kept.Status != r.Status {
			t.Errorf("%s: result.json says %q", name, kept.Status)
		}
	}
	lines, o := logged(t, t.Context(), "svd", store, "-k", "3", "--tol", "1e-13", "--method", "gd", "--max-passes", "3", "--partial-ok", "-o", filepath.Join(t.TempDir(), "out"))
	if last := lines[len(lines)-1]; o.code != ui.ExitOK || last["level"] != "WARN" || !strings.Contains(last["msg"].(string), "pass limit") {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	// The result is written, but its summary cannot be printed.
	a := newApp(strings.NewReader(""), brokenWriter{}, &bytes.Buffer{})
	out := filepath.Join(t.TempDir(), "out")
	if code := a.run(t.Context(), []string{"svd", "-q", store, "-k", "3", "--tol", "1e-13", "--method", "gd", "--max-passes", "3", "--partial-ok", "-o", out}); code == ui.ExitOK {
		t.Error("exit 0 although the result could not be printed")
	}
	if _, err := os.Stat(filepath.Join(out, factor.ResultFile)); err != nil {
		t.Error(err)
	}
}
