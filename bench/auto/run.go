package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/memgroup"
)

// run is what one run has come to.
type run struct {
	seconds float64
	passes  int
	choice  *choice
	failed  string // why there is no result
	late    bool   // it was stopped
}

type choice struct {
	Flags []string `json:"flags"`
	Why   string   `json:"why"`
}

// measure runs a choice once, for no longer than limit if there is one. The error is for what is wrong with measuring;
// that the choice is impossible, or does not converge, is part of the run.
func measure(o options, store string, k int, flags string, limit time.Duration) (r run, err error) {
	dir, err := os.MkdirTemp("", "gdsvd-auto-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	args := []string{"svd", store, "-k", strconv.Itoa(k), "-o", filepath.Join(dir, "out"), "-q", "--json", "--vectors", "none", "--checkpoint-every", "0"}
	if o.memory > 0 {
		args = append(args, "--memory", strconv.FormatInt(o.memory, 10))
	}
	cmd := exec.Command(o.program, append(args, strings.Fields(flags)...)...)
	if o.rate > 0 {
		g, err := throttle(store, o)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, g.Remove()) }()
		cmd = g.Command(cmd)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	if limit > 0 {
		timer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	if err := cmd.Wait(); err != nil {
		if limit > 0 && time.Since(start) >= limit {
			return run{late: true}, nil
		}
		return run{failed: strings.TrimSpace(fmt.Sprint(err, ": ", stderr.String()))}, nil
	}
	r.seconds = time.Since(start).Seconds()
	var result struct {
		Passes int     `json:"passes"`
		Choice *choice `json:"choice"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		return r, fmt.Errorf("read what %s printed: %w", o.program, err)
	}
	r.passes, r.choice = result.Passes, result.Choice
	return r, nil
}

// throttle makes a group with the memory and the rate of reading of o, and takes
// the store out of the page cache.
func throttle(store string, o options) (*memgroup.Group, error) {
	files, err := filepath.Glob(filepath.Join(store, "*"))
	if err != nil {
		return nil, err
	}
	if err := memgroup.Forget(files...); err != nil {
		return nil, err
	}
	g, err := memgroup.New("gdsvd-auto", o.memory)
	if err != nil {
		return nil, err
	}
	if err := g.LimitReads(store, o.rate); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}
