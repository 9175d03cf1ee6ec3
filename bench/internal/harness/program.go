// Package harness is shared by the programs that measure gdsvd. It runs gdsvd as a process, with or without a memory limit,
// measures its time, and compares its output with the known values of a store.
package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/memory"
)

type Program struct {
	Path string
	// Log receives standard error of gdsvd; nil: standard error becomes part of the error of a run that fails.
	Log io.Writer
}

// Open returns the program at path, or, if path is empty, builds it from this source for the duration of a test.
func Open(t testing.TB, path string) *Program {
	t.Helper()
	if path != "" {
		return &Program{Path: path}
	}
	p := &Program{Path: filepath.Join(t.TempDir(), "gdsvd")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.Path, "github.com/gdsvd/gdsvd/cmd/gdsvd")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build gdsvd: %v\n%s", err, said)
	}
	return p
}

// Run describes a run that has ended.
type Run struct {
	Printed []byte        // standard output
	Seconds float64       // from start to exit
	Group   *cgroup.Usage // usage of the group; nil: there is no group
}

// Command prepares a run within a group, or without one if g is nil.
func (p *Program) Command(ctx context.Context, g *cgroup.Group, args ...string) *exec.Cmd {
	cmd := g.Command(exec.CommandContext(ctx, p.Path, args...))
	cmd.Stderr = p.Log
	return cmd
}

// Run runs the program within a group, or without one if g is nil. It returns a Run even if the program fails: the Run covers
// the time until then.
func (p *Program) Run(ctx context.Context, g *cgroup.Group, args ...string) (*Run, error) {
	var stdout, stderr bytes.Buffer
	cmd := p.Command(ctx, g, args...)
	cmd.Stdout = &stdout
	if p.Log == nil {
		cmd.Stderr = &stderr
	}
	start := time.Now()
	err := cmd.Run()
	r := &Run{Printed: stdout.Bytes(), Seconds: time.Since(start).Seconds()}
	if err != nil {
		err = fmt.Errorf("%s %s: %w %s", filepath.Base(p.Path), args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	if g != nil {
		usage, e := g.Usage()
		if usage.Killed > 0 {
			err = fmt.Errorf("killed by the kernel for want of memory after %.0f s: %w", r.Seconds, err)
		}
		r.Group, err = &usage, errors.Join(err, e)
	}
	return r, err
}

// Do runs the program for its effect and writes its output to the log.
func (p *Program) Do(ctx context.Context, args ...string) error {
	r, err := p.Run(ctx, nil, args...)
	if err == nil && p.Log != nil {
		_, err = p.Log.Write(r.Printed)
	}
	return err
}

// Decode reads the JSON that a run with --json has printed.
func (r *Run) Decode(v any) error {
	if err := json.Unmarshal(r.Printed, v); err != nil {
		return fmt.Errorf("read what gdsvd printed: %w", err)
	}
	return nil
}

// Commit returns the name of the commit of the source in the current directory, and says if files under version control differ
// from it. Outside a checkout it returns "unknown".
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--abbrev=12", "--dirty= with changes", "--exclude=*").Output()
	if name := strings.TrimSpace(string(out)); err == nil && name != "" {
		return name
	}
	return "unknown"
}

// Machine returns the number of processors of this machine and their model.
func Machine() string { return fmt.Sprintf("%d processors (%s)", runtime.NumCPU(), Processor()) }

// Processor returns the model of the processor from /proc/cpuinfo, or the architecture if there is none.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // without it the model is unknown
	for line := range strings.Lines(string(info)) {
		if model, found := strings.CutPrefix(line, "model name"); found {
			return strings.Trim(model, "\t :\n")
		}
	}
	return runtime.GOARCH
}

// Write writes a report as NAME.json, and the markdown text as NAME.md.
func Write(name string, report any, markdown string) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(name+".json", append(data, '\n'), 0o666),
		os.WriteFile(name+".md", []byte(markdown), 0o666))
}

// SizeVar defines a flag for a size like 20GB or 512MiB.
func SizeVar(f *flag.FlagSet, p *int64, name, value, usage string) {
	set := func(text string) error {
		n, err := memory.ParseSize(text)
		if err == nil {
			*p = n
		}
		return err
	}
	if value != "" {
		usage += " (default " + value + ")"
		if err := set(value); err != nil {
			panic("harness: " + err.Error())
		}
	}
	f.Func(name, usage, set)
}

// Result holds the fields of a result.json, which gdsvd svd --json prints, that the measurements use.
type Result struct {
	Status        string                     `json:"status"`
	Certified     bool                       `json:"certified"`
	Converged     int                        `json:"converged"`
	Sigma         []float64                  `json:"sigma"`
	Residual      []float64                  `json:"residual"`
	Orthogonality struct{ U, V float64 }     `json:"orthogonality"`
	Outside       struct{ Bound float64 }    `json:"outside"`
	Passes        int                        `json:"passes"`
	PeakRSS       int64                      `json:"peak_rss"`
	VectorFiles   int64                      `json:"vector_files"`
	VectorsRead   int64                      `json:"vectors_read"`
	VectorsWrote  int64                      `json:"vectors_written"`
	Settings      map[string]json.RawMessage `json:"settings"`
}
