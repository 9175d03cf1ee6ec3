package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// A report is what has been measured.
type report struct {
	Date      string        `json:"date"`
	Processor string        `json:"processor"`
	Cores     int           `json:"cores"`
	Files     int           `json:"files"`
	Bytes     int64         `json:"bytes"`
	Ratings   int64         `json:"ratings"`
	Memory    string        `json:"memory"`
	Limit     int64         `json:"limit"`
	Killed    *interruption `json:"killed,omitempty"`
	Resumed   *ingestion    `json:"resumed"`
	Again     *ingestion    `json:"without_a_break,omitempty"`
	Same      bool          `json:"same_bytes"` // of both stores
	Group     cgroup.Usage  `json:"group"`
	Check     float64       `json:"check_seconds"`
}

// An interruption is a process that was killed.
type interruption struct {
	Seconds float64 `json:"seconds"`
	Saved   int64   `json:"saved_bytes"` // of the text, that need not be read again
}

// An ingestion is a process that came to its end.
type ingestion struct {
	Wall    float64 `json:"wall_seconds"`
	PeakRSS int64   `json:"peak_rss"`
	ingest.Report
}

func (c *config) measure(ctx context.Context) (r *report, err error) {
	r = &report{
		Date: time.Now().UTC().Format(time.DateOnly), Processor: harness.Processor(), Cores: runtime.NumCPU(),
		Memory: c.memory, Limit: c.limit,
	}
	files, size, err := c.makeText(ctx, c.size, c.part)
	if err != nil {
		return nil, fmt.Errorf("make the text: %w", err)
	}
	r.Files, r.Bytes = len(files), size
	group, err := cgroup.New("gdsvd-ingest", c.limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	if err := cgroup.Forget(files...); err != nil {
		return nil, err
	}
	store := filepath.Join(c.dir, "killed.csr")
	if c.kill > 0 {
		if r.Killed, err = c.killed(ctx, group, files, store, size); err != nil {
			return nil, err
		}
	}
	if r.Resumed, err = c.ingest(ctx, group, files, store, "--resume"); err != nil {
		return nil, err
	}
	r.Ratings = r.Resumed.NNZ // none comes twice: that would be an error
	if r.Group, err = group.Usage(); err != nil {
		return nil, err
	}
	check, err := c.gdsvd.Run(ctx, nil, "check", "-q", store)
	if err != nil {
		return nil, err
	}
	r.Check = check.Seconds
	if !c.again {
		return r, nil
	}
	if err := cgroup.Forget(files...); err != nil {
		return nil, err
	}
	whole := filepath.Join(c.dir, "again.csr")
	if r.Again, err = c.ingest(ctx, group, files, whole); err != nil {
		return nil, err
	}
	r.Same, err = same(store, whole)
	return r, err
}

// arguments are those of gdsvd ingest of the files.
func (c *config) arguments(files []string, store string, flags ...string) []string {
	return slices.Concat([]string{"ingest", "-q", "--json", "--memory", c.memory, "-o", store}, flags, files)
}

// killed runs an ingest and kills it when enough of the text has been saved.
func (c *config) killed(ctx context.Context, g *cgroup.Group, files []string, store string, size int64) (*interruption, error) {
	cmd := c.gdsvd.Command(ctx, g, c.arguments(files, store)...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var saved int64
	for float64(saved) < c.kill*float64(size) {
		select {
		case err := <-ended:
			return nil, errors.Join(errors.New("it ended before it could be killed"), err)
		case <-time.After(2 * time.Millisecond):
		}
		saved = readSoFar(store)
	}
	i := &interruption{Seconds: time.Since(began).Seconds(), Saved: saved}
	_ = cmd.Process.Kill() // an error means that it has ended
	if err := <-ended; err == nil {
		return nil, errors.New("it ended before it could be killed")
	}
	return i, nil
}

// readSoFar is how many bytes of text the journal of an ingest accounts for.
func readSoFar(store string) int64 {
	b, err := os.ReadFile(filepath.Join(store+ingest.SpoolSuffix, "journal"))
	if err != nil {
		return 0
	}
	var j struct{ Place struct{ Disk int64 } }
	if err := json.Unmarshal(b, &j); err != nil {
		return 0
	}
	return j.Place.Disk
}

// ingest runs an ingest to its end.
func (c *config) ingest(ctx context.Context, g *cgroup.Group, files []string, store string, flags ...string) (*ingestion, error) {
	run, err := c.gdsvd.Run(ctx, g, c.arguments(files, store, flags...)...)
	if err != nil {
		return nil, err
	}
	i := &ingestion{Wall: run.Seconds}
	return i, run.Decode(i)
}

func same(a, b string) (bool, error) {
	entries, err := os.ReadDir(a)
	if err != nil {
		return false, err
	}
	others, err := os.ReadDir(b)
	if err != nil || len(entries) != len(others) {
		return false, err
	}
	for _, e := range entries {
		cmp := exec.Command("cmp", "-s", filepath.Join(a, e.Name()), filepath.Join(b, e.Name()))
		if err := cmp.Run(); err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 1 {
				return false, nil
			}
			return false, err
		}
	}
	return true, nil
}
