package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// report is NAME.json.
type report struct {
	Store  string  `json:"store"`
	Coding string  `json:"coding"`
	NNZ    int64   `json:"nnz"`
	Bytes  int64   `json:"bytes"`
	Memory int64   `json:"memory"`
	Limit  string  `json:"limit"` // what enforced it
	CPUs   int     `json:"cpus"`
	Rounds int     `json:"rounds"`
	Rows   []width `json:"widths"`
}

// width has the seconds of every round, and what follows from their medians.
type width struct {
	L     int         `json:"l"`
	Fio   []float64   `json:"fio"`
	Cold  []passTimes `json:"cold"`
	Warm  []passTimes `json:"warm"`
	Ratio float64     `json:"ratio"` // cold / the longer of fio and warm
}

func measure(c *config) (_ *report, err error) {
	s, err := harness.OpenStore(c.store, 0)
	if err != nil {
		return nil, err
	}
	r := &report{Store: c.store, Coding: string(s.Coding), NNZ: s.NNZ, Bytes: s.Bytes, Memory: c.memory, CPUs: runtime.NumCPU(), Rounds: c.rounds}
	limit, err := cgroup.New("gdsvd-disk", c.memory)
	r.Limit = "enforced by a cgroup"
	if errors.Is(err, cgroup.ErrUnavailable) {
		limit, r.Limit = nil, "not enforced"
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, limit.Remove()) }()
	for _, l := range c.widths {
		r.Rows = append(r.Rows, width{L: l})
	}
	for range c.rounds {
		for i := range r.Rows {
			if err := r.Rows[i].round(c, s, limit); err != nil {
				return nil, err
			}
		}
	}
	for i := range r.Rows {
		w := &r.Rows[i]
		w.Ratio = harness.Median(seconds(w.Cold)) / max(harness.Median(w.Fio), harness.Median(seconds(w.Warm)))
	}
	return r, nil
}

func (w *width) round(c *config, s *harness.Store, limit *cgroup.Group) error {
	if err := s.Forget(); err != nil {
		return err
	}
	fio, err := fioSeconds(s.Shards)
	if err != nil {
		return err
	}
	w.Fio = append(w.Fio, fio)
	if err := s.Forget(); err != nil {
		return err
	}
	cold, err := passProcess(c, w.L, limit)
	if err != nil {
		return err
	}
	w.Cold = append(w.Cold, cold)
	if err := remember(s.Shards); err != nil {
		return err
	}
	warm, err := passProcess(c, w.L, nil)
	w.Warm = append(w.Warm, warm)
	return err
}

// fioSeconds is how long fio takes to read the files once, in sequence and directly.
func fioSeconds(files []string) (float64, error) {
	cmd := exec.Command("fio", "--name=read", "--readonly", "--rw=read", "--bs=1M", "--direct=1", "--ioengine=libaio", "--iodepth=8",
		"--file_service_type=sequential", "--openfiles=1", "--output-format=json", "--filename="+strings.Join(files, ":"))
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("fio: %w", err)
	}
	var result struct {
		Jobs []struct {
			Read struct {
				Runtime float64 `json:"runtime"` // ms
			} `json:"read"`
		} `json:"jobs"`
	}
	out = out[max(0, bytes.IndexByte(out, '{')):] // it may have warned
	if err := json.Unmarshal(out, &result); err != nil || len(result.Jobs) != 1 {
		return 0, fmt.Errorf("fio: unexpected output (%w)", err)
	}
	return result.Jobs[0].Read.Runtime / 1000, nil
}

// passProcess does one pass in a process of its own, under limit if there is one.
func passProcess(c *config, l int, limit *cgroup.Group) (p passTimes, err error) {
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	program := harness.Program{Path: self, Log: os.Stderr}
	run, err := program.Run(context.Background(), limit, "-store", c.store, "-memory", strconv.FormatInt(c.memory>>20, 10)+"MiB", "-pass", strconv.Itoa(l))
	if err != nil {
		return p, fmt.Errorf("pass of width %d: %w", l, err)
	}
	return p, run.Decode(&p)
}

// remember reads the files into the cache.
func remember(files []string) error {
	buf := make([]byte, 1<<20)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		// The readers and writers are hidden lest the kernel copies by itself and past the cache.
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func seconds(ps []passTimes) (s []float64) {
	for _, p := range ps {
		s = append(s, p.Seconds)
	}
	return s
}

func (r *report) write(name string) error {
	md := r.markdown()
	fmt.Print(md)
	return harness.Write(name, r, md)
}

func (r *report) markdown() string {
	var b strings.Builder
	gib := float64(r.Bytes) / (1 << 30)
	fmt.Fprintf(&b, "%s, %.2f GiB, %.0f million entries; %d MiB (%s); %d CPUs; medians of %d rounds, seconds\n\n", r.Coding, gib, float64(r.NNZ)/1e6, r.Memory>>20, r.Limit, r.CPUs, r.Rounds)
	b.WriteString("| l | fio | fio GB/s | cold pass | of which blocks | warm pass | cold / max(fio, warm) | cold ns per entry |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range r.Rows {
		fio, cold, warm := harness.Median(w.Fio), harness.Median(seconds(w.Cold)), harness.Median(seconds(w.Warm))
		var wait []float64
		for _, p := range w.Cold {
			wait = append(wait, p.Wait)
		}
		fmt.Fprintf(&b, "| %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", w.L, fio, float64(r.Bytes)/1e9/fio, cold, harness.Median(wait), warm, w.Ratio, cold*1e9/float64(r.NNZ))
	}
	return b.String()
}
