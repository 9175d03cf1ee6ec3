package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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
		g, err := newThrottle(store, o)
		if err != nil {
			return r, err
		}
		defer g.remove()
		cmd = g.command(cmd)
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
