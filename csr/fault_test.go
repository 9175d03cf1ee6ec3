package csr_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// writeFaulty writes a store of several shards with both kinds of ids.
// version distinguishes an old from a new one.
func writeFaulty(fsys vfs.FS, path string, version float64, force bool) (err error) {
	w, err := csr.Create(path, csr.CreateOptions{
		FS: fsys, Cols: 3, ShardSize: 1, Force: force, Values: csr.Values{Coding: csr.Float64},
		Workers: int(version) % 2 * 3,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	if err := w.AppendRow([]uint32{0, 2}, []float64{version, 5}); err != nil {
		return err
	}
	if err := w.AppendEmptyRows(csr.BlockRows); err != nil { // a second block
		return err
	}
	rows, err := w.IDs(csr.RowAxis, csr.IntIDs)
	if err != nil {
		return err
	}
	for i := range int64(csr.BlockRows + 1) {
		if err := rows.AppendInt(10 * i); err != nil {
			return err
		}
	}
	cols, err := w.IDs(csr.ColAxis, csr.StringIDs)
	if err != nil {
		return err
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := cols.AppendString(id); err != nil {
			return err
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if err := cols.Close(); err != nil {
		return err
	}
	return w.Commit()
}

// versionAt returns the version of the store at path, 0 if path does not exist. An unsound store
// fails the test.
func versionAt(t *testing.T, path string) float64 {
	t.Helper()
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return 0
	}
	requireSound(t, path)
	return csrtest.Rows(t, open(t, path))[0][0].Val
}

// sweep calls run again and again, each time with the index n of a later file operation to fail,
// until run reports that no operation failed.
func sweep(t *testing.T, existing bool, run func(n int, path string) (failed bool)) {
	t.Helper()
	for n := 0; ; n += longtest.Pick(1, 19) {
		path := filepath.Join(t.TempDir(), "x.csr")
		if existing {
			must.Do(t, writeFaulty(vfs.OS(), path, 1, false))
		}
		if !run(n, path) {
			t.Logf("%d operations", n)
			if n < 20 {
				t.Errorf("only %d operations could fail", n)
			}
			return
		}
	}
}

// TestErrorSweep fails every file operation of writing a store in turn: the error must be returned,
// the target must be absent or sound, and no other file may be left.
func TestErrorSweep(t *testing.T) {
	for name, existing := range map[string]bool{"new": false, "replace": true} {
		t.Run(name, func(t *testing.T) {
			sweep(t, existing, func(n int, path string) bool {
				fsys := &vfstest.FaultFS{Inject: vfstest.FailAt(n)}
				err := writeFaulty(fsys, path, 2, existing)
				failed := fsys.Count() > n
				if failed != (err != nil) || failed && !errors.Is(err, vfstest.ErrInjected) {
					t.Fatalf("operation %d of %d fails, the writer says %v", n, fsys.Count(), err)
				}
				version := versionAt(t, path)
				if err == nil && version != 2 || existing && version == 0 {
					t.Fatalf("operation %d: version %v after %v", n, version, err)
				}
				entries, readErr := os.ReadDir(filepath.Dir(path))
				if readErr != nil {
					t.Fatal(readErr)
				}
				for _, e := range entries {
					if e.Name() != "x.csr" {
						t.Fatalf("operation %d leaves %s behind after %v", n, e.Name(), err)
					}
				}
				return failed
			})
		})
	}
}

// TestDeathSweep ends the process at every file operation in turn: the target must be absent or
// sound, and the next writer must succeed and remove leftovers.
func TestDeathSweep(t *testing.T) {
	for name, existing := range map[string]bool{"new": false, "replace": true} {
		t.Run(name, func(t *testing.T) {
			sweep(t, existing, func(n int, path string) bool {
				fsys := new(vfstest.FaultFS)
				fsys.Inject = func(o vfstest.Op) error {
					if o.Index < n {
						return nil
					}
					fsys.Die()
					return vfstest.ErrDead
				}
				failed := writeFaulty(fsys, path, 2, existing) != nil
				if version := versionAt(t, path); existing && version == 0 {
					t.Fatalf("operation %d: both versions are gone", n)
				}
				if err := writeFaulty(vfs.OS(), path, 3, true); err != nil {
					t.Fatalf("operation %d: the next writer gets %v", n, err)
				}
				entries, err := os.ReadDir(filepath.Dir(path))
				if err != nil || len(entries) != 1 || versionAt(t, path) != 3 {
					t.Fatalf("operation %d: %v, %v after the next writer", n, entries, err)
				}
				return failed
			})
		})
	}
}

// TestOpenSweep fails every file operation of opening, reading and checking in turn.
func TestOpenSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	must.Do(t, writeFaulty(vfs.OS(), path, 1, false))
	read := func(fsys vfs.FS) (err error) {
		s, err := csr.Open(path, csr.OpenOptions{FS: fsys})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		_, rowErr := readIDs(s, csr.RowAxis)
		_, colErr := readIDs(s, csr.ColAxis)
		return errors.Join(rowErr, colErr)
	}
	check := func(fsys vfs.FS) error {
		report, err := csr.Check(t.Context(), path, csr.CheckOptions{FS: fsys})
		return errors.Join(append(report.Problems, err)...)
	}
	for name, run := range map[string]func(vfs.FS) error{"open": read, "check": check} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n += longtest.Pick(1, 7) {
				fsys := &vfstest.FaultFS{Inject: vfstest.FailAt(n)}
				err := run(fsys)
				if fsys.Count() <= n {
					if err != nil || n < 10 {
						t.Errorf("after %d operations: %v", n, err)
					}
					return
				}
				if !errors.Is(err, vfstest.ErrInjected) || errors.Is(err, csr.ErrCorrupt) {
					t.Fatalf("operation %d fails, the reader says %v", n, err)
				}
			}
		})
	}
}

// TestDiskFull checks that a disk that fills up at any point gives ENOSPC in one line, and that no file is left.
func TestDiskFull(t *testing.T) {
	for limit := int64(0); ; limit += 5000 {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.csr")
		err := writeFaulty(&vfstest.FaultFS{Inject: vfstest.DiskFull(limit)}, path, 1, false)
		if err == nil {
			if limit < 50_000 {
				t.Errorf("a disk of %d bytes is enough", limit)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("limit %d: %q", limit, err)
		}
		requireEmpty(t, dir)
	}
}

// TestWriteOrder pins the order of file operations on which durability depends: FORMAT.md, "Write order".
func TestWriteOrder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csr")
	const written = `mkdir x.csr.partial
create x.csr.partial/shard-000000.csr
file write x.csr.partial/shard-000000.csr
file sync x.csr.partial/shard-000000.csr
file close x.csr.partial/shard-000000.csr
read dir x.csr.partial
create x.csr.partial/MANIFEST.json.tmp
file write x.csr.partial/MANIFEST.json.tmp
file sync x.csr.partial/MANIFEST.json.tmp
file close x.csr.partial/MANIFEST.json.tmp
rename x.csr.partial/MANIFEST.json.tmp -> x.csr.partial/MANIFEST.json
sync dir x.csr.partial
`
	for _, c := range []struct {
		force bool
		want  string
	}{
		{false, `
lock x.csr.lock
lstat x.csr.partial.old
remove all x.csr.partial
lstat x.csr
` + written + `lstat x.csr
rename x.csr.partial -> x.csr
sync dir .
unlock x.csr.lock
`},
		{true, `
lock x.csr.lock
lstat x.csr.partial.old
remove all x.csr.partial
lstat x.csr
read dir x.csr
open x.csr/MANIFEST.json
file read x.csr/MANIFEST.json
file close x.csr/MANIFEST.json
` + written + `lstat x.csr
read dir x.csr
open x.csr/MANIFEST.json
file read x.csr/MANIFEST.json
file close x.csr/MANIFEST.json
exchange x.csr.partial -> x.csr
sync dir .
remove all x.csr.partial
unlock x.csr.lock
`},
	} {
		var log strings.Builder
		log.WriteString("\n")
		fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			line := strings.ReplaceAll(o.String(), dir+string(filepath.Separator), "")
			line = strings.ReplaceAll(line, dir, ".")
			line = filepath.ToSlash(line) + "\n"
			if !strings.HasSuffix(log.String(), "\n"+line) { // repeated reads or writes of a file count once
				log.WriteString(line)
			}
			return nil
		}}
		rows := [][]csrtest.Entry{{{Col: 1, Val: 2}}}
		csrtest.Write(t, path, 3, rows, csr.CreateOptions{FS: fsys, Force: c.force})
		if diff := cmp.Diff(c.want, log.String()); diff != "" {
			t.Errorf("force %v (-want +got):\n%s", c.force, diff)
		}
	}
}

// TestEarlySyncSurfaces checks that Commit returns the error of a sync that runs while a large file
// is written.
func TestEarlySyncSurfaces(t *testing.T) {
	broken := errors.New("the disk is broken")
	path := filepath.Join(t.TempDir(), "x.csr")
	fsys := &vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpSync, 0, broken)} // the file is larger than the bytes per sync
	w := must.Get(csr.Create(path, csr.CreateOptions{FS: fsys, Cols: 1 << 16, Values: csr.Values{Coding: csr.Float64}}))(t)
	cols, vals := make([]uint32, 1<<16), make([]float64, 1<<16)
	for i := range cols {
		cols[i], vals[i] = uint32(i), float64(i)
	}
	for range 20 {
		must.Do(t, w.AppendRow(cols, vals))
	}
	if err := w.Commit(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	requireEmpty(t, filepath.Dir(path))
}
