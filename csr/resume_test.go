package csr_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// keptRows is the number of rows of the store of writeKept, of one shard each block.
const keptRows = 5*csr.BlockRows + 7

// appendKept writes rows of it. Every 500th has an entry; the sum of the squares
// depends on every rounding.
func appendKept(w *csr.Writer, from, to int64) error {
	for i := from; i < to; {
		n := min((i+499)/500*500, to) - i // without an entry
		if err := w.AppendEmptyRows(n); err != nil {
			return err
		}
		if i += n; i == to {
			break
		}
		v := math.Sqrt(float64(i+1)) * math.Pow(10, float64(i%9))
		if err := w.AppendRow([]uint32{uint32(i % 7)}, []float64{v}); err != nil {
			return err
		}
		i++
	}
	return nil
}

func keptOptions(fsys vfs.FS, resume bool) csr.CreateOptions {
	return csr.CreateOptions{
		FS: fsys, Cols: 7, Values: csr.Values{Coding: csr.Float64}, ShardSize: 1, Keep: true, Resume: resume,
		Source: map[string]any{"generator": "test", "seed": uint64(math.MaxUint64)},
	}
}

// writeKept writes the store, or what is left of it to be written, and tells from where.
func writeKept(path string, o csr.CreateOptions) (from int64, err error) {
	w, err := csr.Create(path, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = w.Leave(err) }()
	from = w.Rows()
	if !w.HasTruth() {
		if err := w.SetTruth(csr.Truth{Sigma: []float64{math.Pi, 3}, Error: 1e-9}); err != nil {
			return from, err
		}
	}
	if err := appendKept(w, from, keptRows); err != nil {
		return from, err
	}
	return from, w.Commit()
}

// keptFiles are the files of a store.
func keptFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(path, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func sameFiles(t *testing.T, what string, want map[string][]byte, path string) {
	t.Helper()
	got := keptFiles(t, path)
	for name := range got {
		if !bytes.Equal(want[name], got[name]) {
			t.Fatalf("%s: %s differs", what, name)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d files, want %d", what, len(got), len(want))
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Fatalf("%s: beside the store are %v, %v", what, entries, err)
	}
}

// unbroken writes the store without a break.
func unbroken(t *testing.T) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.csr")
	if _, err := writeKept(path, keptOptions(nil, false)); err != nil {
		t.Fatal(err)
	}
	if report, err := csr.Check(t.Context(), path, csr.CheckOptions{}); err != nil || len(report.Problems)+len(report.Warnings) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	files := keptFiles(t, path)
	if len(files) < 7 {
		t.Fatalf("only %d files", len(files))
	}
	return files
}

// TestResumeSweep interrupts the writing of a store at every single file
// operation, by an error or by the end of the process: it can be resumed, no
// shard that has been saved is written again, and the bytes are the same.
func TestResumeSweep(t *testing.T) {
	want := unbroken(t)
	for _, dies := range []bool{false, true} {
		for _, workers := range []int{0, 2} {
			t.Run(fmt.Sprintf("dies %v, %d workers", dies, workers), func(t *testing.T) {
				resumed := 0
				for n := 0; ; n++ {
					path := filepath.Join(t.TempDir(), "x.csr")
					fsys := new(vfstest.FaultFS)
					saved := 0
					fsys.Inject = func(op vfstest.Op) error {
						if op.Index == n {
							if dies {
								fsys.Die()
							}
							return vfstest.ErrInjected
						}
						if op.Kind == vfstest.OpRename && strings.HasSuffix(op.Name, "UNFINISHED.json") {
							saved++
						}
						return nil
					}
					o := keptOptions(fsys, false)
					o.Workers = workers
					_, err := writeKept(path, o)
					if fsys.Count() <= n {
						if err != nil || resumed < 30 {
							t.Errorf("%d operations, %d of which were made up for: %v", n, resumed, err)
						}
						return
					}
					if err == nil && !dies {
						t.Fatalf("operation %d fails, the writer says nothing", n)
					}
					if _, err := os.Lstat(path); err == nil { // it was published before
						sameFilesBesides(t, want, path)
						continue
					}
					from, err := writeKept(path, keptOptions(nil, true))
					if err != nil {
						t.Fatalf("operation %d: %v", n, err)
					}
					if from < min(int64(saved)*csr.BlockRows, keptRows) {
						t.Fatalf("operation %d: goes on at row %d, though %d shards were saved", n, from, saved)
					}
					if from > 0 {
						resumed++
					}
					sameFiles(t, fmt.Sprint("operation ", n), want, path)
				}
			})
		}
	}
}

// sameFilesBesides is sameFiles where there may be leftovers beside the store.
func sameFilesBesides(t *testing.T, want map[string][]byte, path string) {
	t.Helper()
	for name, b := range keptFiles(t, path) {
		if !bytes.Equal(want[name], b) {
			t.Fatalf("%s differs", name)
		}
	}
}

// interrupted writes the first shards of the store, so many rows, and leaves.
func interrupted(t testing.TB, path string, rows int64) *csr.UnfinishedError {
	t.Helper()
	w, err := csr.Create(path, keptOptions(nil, false))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.SetTruth(csr.Truth{Sigma: []float64{math.Pi, 3}, Error: 1e-9}); err != nil {
		t.Fatal(err)
	}
	if err := appendKept(w, 0, rows); err != nil {
		t.Fatal(err)
	}
	var unfinished *csr.UnfinishedError
	err = w.Leave(vfstest.ErrInjected)
	if !errors.As(err, &unfinished) || !errors.Is(err, vfstest.ErrInjected) || unfinished.Dir != path+".partial" {
		t.Fatalf("got %v", err)
	}
	return unfinished
}

// TestResumeIsInterrupted: resuming that fails at any operation loses nothing.
func TestResumeIsInterrupted(t *testing.T) {
	want := unbroken(t)
	for n := 0; ; n++ {
		path := filepath.Join(t.TempDir(), "x.csr")
		interrupted(t, path, keptRows-1)
		fsys := &vfstest.FaultFS{Inject: vfstest.FailAt(n)}
		_, err := writeKept(path, keptOptions(fsys, true))
		if fsys.Count() <= n {
			if err != nil || n < 20 {
				t.Errorf("%d operations, %v", n, err)
			}
			return
		}
		if !errors.Is(err, vfstest.ErrInjected) {
			t.Fatalf("operation %d fails, the writer says %v", n, err)
		}
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		from, err := writeKept(path, keptOptions(nil, true))
		if err != nil || from < 5*csr.BlockRows {
			t.Fatalf("operation %d: resumed at row %d, %v", n, from, err)
		}
		sameFiles(t, fmt.Sprint("operation ", n), want, path)
	}
}

// TestResumeAfterFullDisk: what a full disk has interrupted goes on when there is room.
func TestResumeAfterFullDisk(t *testing.T) {
	want := unbroken(t)
	for _, limit := range []int64{1000, 3_000, 6_000, 10_000, 14_000} {
		path := filepath.Join(t.TempDir(), "x.csr")
		_, err := writeKept(path, keptOptions(&vfstest.FaultFS{Inject: vfstest.DiskFull(limit)}, false))
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("limit %d: %v", limit, err)
		}
		if _, err := writeKept(path, keptOptions(nil, true)); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, fmt.Sprint("limit ", limit), want, path)
	}
}

// TestUnfinishedIsNotLost: only Resume and Force touch what is unfinished, also that of another kind.
func TestUnfinishedIsNotLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	interrupted(t, path, keptRows-1)
	before := keptFiles(t, path+".partial")
	for name, o := range map[string]csr.CreateOptions{"same": keptOptions(nil, false), "other": {Cols: 3, Values: csr.Values{Coding: csr.Float64}}} {
		_, err := csr.Create(path, o)
		var unfinished *csr.UnfinishedError
		if !errors.As(err, &unfinished) || unfinished.Err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, keptFiles(t, path+".partial")); diff != "" {
			t.Errorf("%s: changed", name)
		}
	}
	o := keptOptions(nil, false)
	o.Force = true
	if from, err := writeKept(path, o); err != nil || from != 0 {
		t.Errorf("by force: from row %d, %v", from, err)
	}
	if _, err := writeKept(path, keptOptions(nil, true)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("resumed though finished: %v", err)
	}
}

// requireRefused resumes and wants one line that says why not.
func requireRefused(t *testing.T, what, path string, o csr.CreateOptions, want string) {
	t.Helper()
	_, err := csr.Create(path, o)
	var refused *csr.ResumeError
	if !errors.As(err, &refused) || refused.Dir != path+".partial" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// TestResumeOfAnother: a store with other parameters is not gone on with.
func TestResumeOfAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	interrupted(t, path, keptRows-1)
	for want, change := range map[string]func(*csr.CreateOptions){
		"it had seed 18446744073709551615, this one has 18446744073709551614": func(o *csr.CreateOptions) {
			o.Source = map[string]any{"generator": "test", "seed": uint64(math.MaxUint64 - 1)}
		},
		`it had generator "test", this one has none`: func(o *csr.CreateOptions) { o.Source = nil },
		"it had extra none, this one has 1": func(o *csr.CreateOptions) {
			o.Source = map[string]any{"generator": "test", "seed": uint64(math.MaxUint64), "extra": 1}
		},
		"it had shard size 1, this one has 2":                 func(o *csr.CreateOptions) { o.ShardSize = 2 },
		"it had number of columns 7, this one has 8":          func(o *csr.CreateOptions) { o.Cols++ },
		"it had transposition false, this one has true":       func(o *csr.CreateOptions) { o.Transposed = true },
		"it had value coding {float64 []}, this one has {con": func(o *csr.CreateOptions) { o.Values = csr.Values{Coding: csr.Constant, Table: []float64{1}} },
	} {
		o := keptOptions(nil, true)
		change(&o)
		requireRefused(t, want, path, o, want)
	}
	if _, err := writeKept(path, keptOptions(nil, true)); err != nil {
		t.Error(err)
	}
}

// TestDamagedJournal: no damage goes unnoticed, none makes more than one line.
func TestDamagedJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	name := filepath.Join(interrupted(t, path, keptRows-1).Dir, "UNFINISHED.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, b []byte, want string) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		requireRefused(t, what, path, keptOptions(nil, true), want)
	}
	for n := range good {
		try(fmt.Sprintf("cut to %d bytes", n), good[:n], "its journal is damaged")
		b := bytes.Clone(good)
		b[n] ^= 1 << (n % 8)
		try(fmt.Sprintf("a bit of byte %d", n), b, "its journal is damaged")
	}
	try("longer", append(bytes.Clone(good), '\n'), "its journal is damaged")
	for from, to := range map[string]string{
		`"version": 1`:            `"version": 2`,
		`"shards": `:              `"shards": 9`,
		`"shards": 5`:             `"shards": 4`,
		`"rows": 32`:              `"rows": 31`,
		`"nnz": `:                 `"nnz": 1`,
		`"cols": `:                `"cols": -`,
		`"sum": `:                 `"sum": 1e999`,
		`"coding": "float64"`:     `"coding": "complex"`,
		`"format": "gdsvd-unf`:    `"format": "gdsvd-f`,
		`"source": {`:             `"sauce": {`,
		`"footers": "`:            `"footers": "x`,
		`"fingerprint": ""`:       `"fingerprint": "beef"`,
		`"error": 1e-9`:           `"error": -1`,
		`"sigma": [`:              `"sigma": [1,`,
		`"compensation": `:        `"compensation": "x", "y": `,
		`"seed": 184467440737095`: `"seed": 184467440737094`,
	} {
		b := []byte(strings.Replace(string(good), from, to, 1))
		if bytes.Equal(b, good) {
			t.Errorf("no %s in\n%s", from, good)
			continue
		}
		csr.RepairManifest(b)
		want := "cannot be resumed"
		if strings.Contains(to, "version") {
			want = "its journal has version 2, this program knows 1"
		}
		try(to, b, want)
	}
}

// TestDamagedShards: finished shards that are not what they were are refused by name.
func TestDamagedShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	dir := interrupted(t, path, keptRows-1).Dir
	name := filepath.Join(dir, "shard-000001.csr")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(dir, "shard-000002.csr"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := func(at int) []byte {
		b := bytes.Clone(good)
		b[(at+len(b))%len(b)] ^= 4
		return b
	}
	for what, c := range map[string]struct {
		b    []byte
		want string
	}{
		"cut":      {good[:len(good)-1], "shard-000001.csr: trailer"},
		"cut more": {good[:50], "shard-000001.csr: file: cut short"},
		"empty":    {nil, "shard-000001.csr: file: cut short"},
		"header":   {flipped(20), "shard-000001.csr: header"},
		"footer":   {flipped(-40), "shard-000001.csr: footer: checksum"},
		"trailer":  {flipped(-20), "shard-000001.csr: trailer"},
		"magic":    {flipped(-1), "shard-000001.csr: trailer"},
		"another":  {other, "shard-000001.csr: header: belongs to another place"},
	} {
		if err := os.WriteFile(name, c.b, 0o666); err != nil {
			t.Fatal(err)
		}
		requireRefused(t, what, path, keptOptions(nil, true), c.want)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, "missing", path, keptOptions(nil, true), "shard-000001.csr: file: missing")
	if err := os.WriteFile(name, good, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := writeKept(path, keptOptions(nil, true)); err != nil {
		t.Error(err)
	}
}

// TestShardOfAnotherRun: a sound shard with other rows, which has the place of a finished one.
func TestShardOfAnotherRun(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "x.csr"), filepath.Join(t.TempDir(), "x.csr")
	dir := interrupted(t, path, keptRows-1).Dir
	csrtest.Write(t, other, 7, [][]csrtest.Entry{{{Col: 1, Val: 2}}}, csr.CreateOptions{Values: csr.Values{Coding: csr.Float64}})
	b, err := os.ReadFile(filepath.Join(other, "shard-000000.csr"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shard-000000.csr"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, "another", path, keptOptions(nil, true), "shard-000001.csr: header: belongs to another place")
}

// TestResumeOfACompleteStore: without a journal, about to be published.
func TestResumeOfACompleteStore(t *testing.T) {
	want := unbroken(t)
	leave := func() (path, manifest string) {
		path = filepath.Join(t.TempDir(), "x.csr")
		fsys := &vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpRename, 7, vfstest.ErrInjected)} // six journals, the manifest
		_, err := writeKept(path, keptOptions(fsys, false))
		var unfinished *csr.UnfinishedError
		if !errors.As(err, &unfinished) {
			t.Fatalf("got %v", err)
		}
		manifest = filepath.Join(unfinished.Dir, "MANIFEST.json")
		if _, err := os.Stat(manifest); err != nil {
			t.Fatal(err)
		}
		return path, manifest
	}
	path, _ := leave()
	if from, err := writeKept(path, keptOptions(nil, true)); err != nil || from != keptRows {
		t.Fatalf("from row %d, %v", from, err)
	}
	sameFiles(t, "published", want, path)

	path, _ = leave() // which is another one
	o := keptOptions(nil, true)
	o.Source = map[string]any{"generator": "test", "seed": uint64(math.MaxUint64 - 1)}
	if from, err := writeKept(path, o); err != nil || from != 0 {
		t.Fatalf("another: from row %d, %v", from, err)
	}

	path, manifest := leave()
	if err := os.WriteFile(manifest, want["MANIFEST.json"][:100], 0o666); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, "damaged", path, keptOptions(nil, true), "MANIFEST.json: ")
}

// TestResumeOfAFinishedStore: there is nothing to do, or it is another one.
func TestResumeOfAFinishedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	if _, err := writeKept(path, keptOptions(nil, false)); err != nil {
		t.Fatal(err)
	}
	want := keptFiles(t, path)
	for _, shard := range []int64{1, csr.DefaultShard} { // files, not the matrix
		o := keptOptions(nil, true)
		o.ShardSize = shard
		if _, err := writeKept(path, o); !errors.Is(err, csr.ErrFinished) {
			t.Errorf("got %v", err)
		}
	}
	for _, change := range []func(o *csr.CreateOptions){
		func(o *csr.CreateOptions) { o.Cols++ }, func(o *csr.CreateOptions) { o.Transposed = true },
		func(o *csr.CreateOptions) { o.Source = map[string]any{"seed": 1} }, func(o *csr.CreateOptions) { o.Values.Coding = csr.Float32 },
	} {
		o := keptOptions(nil, true)
		change(&o)
		_, err := writeKept(path, o)
		if !errors.Is(err, fs.ErrExist) || errors.Is(err, csr.ErrFinished) || !strings.Contains(err.Error(), "a finished store, but another one: it had ") {
			t.Errorf("got %v", err)
		}
	}
	sameFiles(t, "finished", want, path)

	// Something unfinished beside it comes first.
	o := keptOptions(&vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpRename, 3, vfstest.ErrInjected)}, false)
	o.Force = true
	var unfinished *csr.UnfinishedError
	if _, err := writeKept(path, o); !errors.As(err, &unfinished) {
		t.Fatalf("got %v", err)
	}
	if _, err := writeKept(path, keptOptions(nil, true)); !errors.Is(err, fs.ErrExist) || errors.Is(err, csr.ErrFinished) {
		t.Errorf("got %v", err)
	}
	o = keptOptions(nil, true)
	o.Force = true
	if from, err := writeKept(path, o); err != nil || from == 0 {
		t.Errorf("from row %d, %v", from, err)
	}
	sameFiles(t, "replaced", want, path)

	other := filepath.Join(t.TempDir(), "x.csr")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := writeKept(other, keptOptions(nil, true)); !errors.Is(err, fs.ErrExist) || strings.Contains(err.Error(), "another") {
		t.Errorf("got %v", err)
	}
}

// FuzzJournal: no bytes make reading a journal panic, and what is read can be written.
func FuzzJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "x.csr")
	b, err := os.ReadFile(filepath.Join(interrupted(f, path, keptRows-1).Dir, "UNFINISHED.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, false)
	f.Add(b[:len(b)/2], true)
	f.Fuzz(func(t *testing.T, b []byte, repair bool) {
		if repair {
			b = bytes.Clone(b)
			csr.RepairManifest(b)
		}
		if err := csr.ReadJournal(b); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than a line: %v", err)
		}
	})
}
