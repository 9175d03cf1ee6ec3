package csr_test

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

func TestCreateRefuses(t *testing.T) {
	one := csr.Values{Coding: csr.Constant, Table: []float64{1}}
	for name, o := range map[string]csr.CreateOptions{
		"no coding":           {},
		"unknown coding":      {Values: csr.Values{Coding: "dict5"}},
		"constant of two":     {Values: csr.Values{Coding: csr.Constant, Table: []float64{1, 2}}},
		"dict4 of 17":         {Values: csr.Values{Coding: csr.Dict4, Table: make([]float64, 17)}},
		"float64 with table":  {Values: csr.Values{Coding: csr.Float64, Table: []float64{1}}},
		"descending table":    {Values: csr.Values{Coding: csr.Dict4, Table: []float64{2, 1}}},
		"repeating table":     {Values: csr.Values{Coding: csr.Dict4, Table: []float64{1, 1}}},
		"NaN in table":        {Values: csr.Values{Coding: csr.Dict4, Table: []float64{math.NaN()}}},
		"negative zero":       {Values: csr.Values{Coding: csr.Dict4, Table: []float64{math.Copysign(0, -1), 1}}},
		"negative cols":       {Cols: -1, Values: one},
		"too many cols":       {Cols: csr.MaxCols + 1, Values: one},
		"source without JSON": {Values: one, Source: map[string]any{"f": func() {}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := csr.Create(filepath.Join(dir, "x.csr"), o); err == nil {
				t.Error("no error")
			}
			requireEmpty(t, dir)
		})
	}
}

// requireEmpty checks that dir has no entries.
func requireEmpty(t testing.TB, dir string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	if len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestAppendRowRefuses checks that the error of AppendRow is final and nothing is published.
func TestAppendRowRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		coding csr.Values
		cols   []uint32
		vals   []float64
	}{
		"lengths":         {csr.Values{Coding: csr.Float64}, []uint32{1, 2}, []float64{1}},
		"column too high": {csr.Values{Coding: csr.Float64}, []uint32{10}, []float64{1}},
		"column 2³²−1":    {csr.Values{Coding: csr.Float64}, []uint32{math.MaxUint32}, []float64{1}},
		"columns equal":   {csr.Values{Coding: csr.Float64}, []uint32{3, 3}, []float64{1, 1}},
		"columns descend": {csr.Values{Coding: csr.Float64}, []uint32{3, 2}, []float64{1, 1}},
		"more than cols":  {csr.Values{Coding: csr.Float64}, make([]uint32, 11), make([]float64, 11)},
		"NaN":             {csr.Values{Coding: csr.Float64}, []uint32{0}, []float64{math.NaN()}},
		"infinity":        {csr.Values{Coding: csr.Float64}, []uint32{0}, []float64{math.Inf(-1)}},
		"infinite single": {csr.Values{Coding: csr.Float32}, []uint32{0}, []float64{math.Inf(1)}},
		"NaN single":      {csr.Values{Coding: csr.Float32}, []uint32{0}, []float64{math.NaN()}},
		"not a single":    {csr.Values{Coding: csr.Float32}, []uint32{0}, []float64{0.1}},
		"not constant":    {csr.Values{Coding: csr.Constant, Table: []float64{1}}, []uint32{0}, []float64{2}},
		"not in dict4":    {csr.Values{Coding: csr.Dict4, Table: []float64{1, 2}}, []uint32{0, 1}, []float64{2, 1.5}},
		"not in dict8":    {csr.Values{Coding: csr.Dict8, Table: []float64{1, 2}}, []uint32{0}, []float64{3}},
		"NaN in dict4":    {csr.Values{Coding: csr.Dict4, Table: []float64{1, 2}}, []uint32{0}, []float64{math.NaN()}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := must.Get(csr.Create(filepath.Join(dir, "x.csr"), csr.CreateOptions{Cols: 10, Values: c.coding}))(t)
			must.Do(t, w.AppendRow(nil, nil))
			err := w.AppendRow(c.cols, c.vals)
			if err == nil || !strings.Contains(err.Error(), "row 1") {
				t.Errorf("error %v does not name row 1", err)
			}
			if again := w.AppendRow(nil, nil); !errors.Is(again, err) {
				t.Errorf("the next row gives %v", again)
			}
			if commit := w.Commit(); !errors.Is(commit, err) {
				t.Errorf("commit gives %v", commit)
			}
			requireEmpty(t, dir)
		})
	}
}

func TestCreateExisting(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csr")
	write(t, path, &matrix{cols: 1}, csr.CreateOptions{})
	o := csr.CreateOptions{Cols: 2, Values: csr.Values{Coding: csr.Float64}}
	if _, err := csr.Create(path, o); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating an existing store gives %v", err)
	}
	o.Force = true
	w := must.Get(csr.Create(path, o))(t)
	if _, err := csr.Create(path, o); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a second writer gets %v", err)
	}
	if got := open(t, path).Cols(); got != 1 {
		t.Errorf("before commit the store has %d columns, want the old one's 1", got)
	}
	must.Do(t, w.Commit())
	if got := open(t, path).Cols(); got != 2 {
		t.Errorf("after commit the store has %d columns, want the new one's 2", got)
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil {
		t.Errorf("abort after commit: %v", err)
	}
	if w.Commit() == nil || w.AppendRow(nil, nil) == nil {
		t.Error("a committed writer goes on writing")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// TestForceSparesOthers checks that Force deletes only stores and empty directories.
func TestForceSparesOthers(t *testing.T) {
	for name, c := range map[string]struct {
		files    map[string]string // in the target; nil: the target is a file
		replaced bool
	}{
		"a home":             {map[string]string{"thesis.tex": "x"}, false},
		"a file":             {nil, false},
		"foreign manifest":   {map[string]string{"MANIFEST.json": `{"format":"other"}`}, false},
		"store and more":     {map[string]string{"MANIFEST.json": `{"format": "gdsvd-store"}`, "notes.txt": "x"}, false},
		"store and folder":   {map[string]string{"MANIFEST.json": `{"format": "gdsvd-store"}`, "sub/x": "x"}, false},
		"ids only":           {map[string]string{"rows.ids": ""}, false},
		"empty":              {map[string]string{}, true},
		"newer store":        {map[string]string{"MANIFEST.json": `{"format": "gdsvd-store", "version": 2}`}, true},
		"damaged store":      {map[string]string{"MANIFEST.json": "\x00\x00", "shard-000000.csr": "", "cols.ids": ""}, true},
		"store, no manifest": {map[string]string{"shard-000000.csr": ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.csr")
			if c.files == nil {
				writeFile(t, path, "x")
			} else if err := os.Mkdir(path, 0o777); err != nil {
				t.Fatal(err)
			}
			for name, content := range c.files {
				must.Do(t, os.MkdirAll(filepath.Dir(filepath.Join(path, name)), 0o777))
				writeFile(t, filepath.Join(path, name), content)
			}
			w, err := csr.Create(path, csr.CreateOptions{Force: true, Values: csr.Values{Coding: csr.Float64}})
			if c.replaced {
				must.Do(t, err)
				must.Do(t, w.Commit())
				requireSound(t, path)
				return
			}
			if err == nil {
				t.Fatal("it would be replaced")
			}
			for name, content := range c.files {
				if b, err := os.ReadFile(filepath.Join(path, name)); err != nil || string(b) != content {
					t.Errorf("%s: %q, %v", name, b, err)
				}
			}
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(name, []byte(content), 0o666))
}

// TestCreateInStaging writes as ingest does: it stages first and keeps temporary files there, which
// must be removed before Commit.
func TestCreateInStaging(t *testing.T) {
	for _, tidy := range []bool{true, false} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.csr")
		st := must.Get(csr.Stage(nil, path, false))(t)
		run := filepath.Join(st.Dir(), "run-0")
		writeFile(t, run, "temporary")
		w := must.Get(csr.Create("", csr.CreateOptions{Staging: st, Cols: 3, Values: csr.Values{Coding: csr.Float64}}))(t)
		must.Do(t, w.AppendRow([]uint32{1}, []float64{2}))
		if tidy {
			must.Do(t, os.Remove(run))
		}
		err := w.Commit()
		if tidy && err == nil {
			requireSound(t, path)
		} else if tidy || err == nil {
			t.Errorf("tidy %v: commit gives %v", tidy, err)
		} else {
			requireEmpty(t, dir)
		}
	}
}

// TestWorkersWriteTheSameBytes checks that the number of workers changes no byte of a store, nor
// does Seal before Commit.
func TestWorkersWriteTheSameBytes(t *testing.T) {
	const cols = 3000
	var stores []string
	for _, workers := range []int{0, 1, 4} {
		path := filepath.Join(t.TempDir(), "x.csr")
		w := must.Get(csr.Create(path, csr.CreateOptions{Cols: cols, ShardSize: 300 << 10, Values: csr.Values{Coding: csr.Float32}, Workers: workers, Source: map[string]any{"of": "this test"}}))(t)
		r := rand.New(rand.NewPCG(1, 1))
		for range 900 {
			var c []uint32
			var v []float64
			for col := range uint32(cols) {
				if r.IntN(2) == 0 {
					c, v = append(c, col), append(v, float64(r.IntN(1000)))
				}
			}
			must.Do(t, w.AppendRow(c, v))
		}
		if workers > 0 {
			sealed, err := w.Seal()
			if err != nil || len(sealed) != 64 {
				t.Fatalf("fingerprint %q, %v", sealed, err)
			}
			if err := w.AppendRow(nil, nil); err == nil {
				t.Error("a row after Seal is accepted")
			}
		}
		must.Do(t, w.Commit())
		stores = append(stores, path)
	}
	for _, s := range stores[1:] {
		requireSameFiles(t, s, stores[0])
	}
}

// TestStatsOfGoOn checks that statistics restored from their Values continue as if they had seen
// all values.
func TestStatsOfGoOn(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		distinct, wide := 1+r.IntN(400), r.IntN(2) == 0
		value := func() float64 {
			v := float64(r.IntN(distinct))
			if wide && r.IntN(50) == 0 {
				v += 0.1
			}
			return v
		}
		var all, part csr.ValueStats
		for range 1 + r.IntN(600) {
			v := value()
			all.Add(v)
			part.Add(v)
		}
		restored := csr.StatsOf(part.Values())
		for range r.IntN(600) {
			v := value()
			all.Add(v)
			restored.Add(v)
		}
		if diff := cmp.Diff(all.Values(), restored.Values()); diff != "" {
			t.Fatal(diff)
		}
	}
}
