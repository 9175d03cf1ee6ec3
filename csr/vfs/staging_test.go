package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func anything(string) error { return nil }

// stage stages target and writes a file "new" in it.
func stage(t *testing.T, target string, force bool, replaceable func(string) error) *vfs.Staging {
	t.Helper()
	s := must.Get(vfs.Stage(vfs.OS(), target, force, replaceable, nil))(t)
	writeFile(t, filepath.Join(s.Dir(), "new"), nil)
	return s
}

func TestStageCommit(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "x")
	s := stage(t, target+string(filepath.Separator), false, nil)
	if s.Target() != target || names(t, dir) != "x.lock x.partial" {
		t.Errorf("target %s, there are %s", s.Target(), names(t, dir))
	}
	must.Do(t, s.Commit())
	if names(t, dir) != "x" || names(t, target) != "new" {
		t.Errorf("there are %s, with %s", names(t, dir), names(t, target))
	}
	if err := s.Abort(); err != nil || names(t, target) != "new" {
		t.Errorf("abort after commit: %v, %s", err, names(t, target))
	}
	if s.Commit() == nil {
		t.Error("commit again")
	}
}

func TestStageAbort(t *testing.T) {
	dir := t.TempDir()
	s := stage(t, filepath.Join(dir, "x"), false, nil)
	if err := errors.Join(s.Abort(), s.Abort()); err != nil || names(t, dir) != "" {
		t.Errorf("%v, left: %s", err, names(t, dir))
	}
	if s.Commit() == nil || names(t, dir) != "" {
		t.Error("commit after abort")
	}
}

func TestStageReplaces(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "x")
	must.Do(t, os.Mkdir(target, 0o777))
	writeFile(t, filepath.Join(target, "old"), nil)
	if _, err := vfs.Stage(vfs.OS(), target, false, anything, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("without force: %v", err)
	}
	if _, err := vfs.Stage(vfs.OS(), target, true, nil, nil); err == nil {
		t.Error("a directory that is not empty, and not recognised, would be replaced")
	}
	no := errors.New("precious")
	if _, err := vfs.Stage(vfs.OS(), target, true, func(path string) error {
		if path != target {
			t.Errorf("asked about %s", path)
		}
		return no
	}, nil); !errors.Is(err, no) {
		t.Errorf("refused: %v", err)
	}
	if names(t, dir) != "x" || names(t, target) != "old" {
		t.Fatalf("there are %s, with %s", names(t, dir), names(t, target))
	}
	s := stage(t, target, true, anything)
	if names(t, target) != "old" {
		t.Error("replaced before commit")
	}
	must.Do(t, s.Commit())
	if names(t, dir) != "x" || names(t, target) != "new" {
		t.Errorf("there are %s, with %s", names(t, dir), names(t, target))
	}
}

// TestStageTargetAppears checks that a target created during the staging is not lost.
func TestStageTargetAppears(t *testing.T) {
	for _, force := range []bool{false, true} {
		dir := t.TempDir()
		target := filepath.Join(dir, "x")
		s := stage(t, target, force, nil)
		must.Do(t, os.Mkdir(target, 0o777))
		writeFile(t, filepath.Join(target, "theirs"), nil)
		err := s.Commit()
		if err == nil || !force && !errors.Is(err, fs.ErrExist) {
			t.Errorf("force %v: %v", force, err)
		}
		if names(t, dir) != "x" || names(t, target) != "theirs" {
			t.Errorf("force %v: there are %s, with %s", force, names(t, dir), names(t, target))
		}
	}
}

func TestStageRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, target := range []string{".", "..", string(filepath.Separator), "", filepath.Join("a", "..")} {
		if _, err := vfs.Stage(vfs.OS(), target, true, anything, nil); err == nil {
			t.Errorf("stages %q", target)
		}
	}
	if _, err := vfs.Stage(vfs.OS(), filepath.Join(dir, "no", "x"), true, anything, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a missing folder: %v", err)
	}
	writeFile(t, "file", nil)
	if _, err := vfs.Stage(vfs.OS(), "file", true, anything, nil); err == nil {
		t.Error("replaces a file")
	}
	must.Do(t, os.Mkdir("real", 0o777))
	want := "file real"
	if os.Symlink("real", "link") == nil { // links may need a privilege on Windows
		want = "file link real"
		if _, err := vfs.Stage(vfs.OS(), "link", true, anything, nil); err == nil {
			t.Error("replaces a symbolic link")
		}
	}
	if got := names(t, dir); got != want {
		t.Errorf("there are %s", got)
	}
}

// TestStageRecovers checks that Stage removes what writers left that died at different moments.
func TestStageRecovers(t *testing.T) {
	for name, c := range map[string]struct {
		left []string // directories, each with a file of the same name
		want string   // file in the target before Commit
	}{
		"while writing":               {[]string{"x.partial"}, ""},
		"with the old one in place":   {[]string{"x", "x.partial"}, "x"},
		"first step of an exchange":   {[]string{"x.partial", "x.partial.old"}, "x.partial.old"},
		"second step of an exchange":  {[]string{"x", "x.partial.old"}, "x"},
		"after an exchange in a step": {[]string{"x", "x.partial"}, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, "x")
			writeFile(t, target+".lock", nil)
			for _, d := range c.left {
				must.Do(t, os.Mkdir(filepath.Join(dir, d), 0o777))
				writeFile(t, filepath.Join(dir, d, d), nil)
			}
			s := stage(t, target, true, anything)
			if names(t, s.Dir()) != "new" {
				t.Errorf("staging begins with %s", names(t, s.Dir()))
			}
			if c.want != "" && names(t, target) != c.want {
				t.Errorf("the target has %s, want %s", names(t, target), c.want)
			}
			must.Do(t, s.Commit())
			if names(t, dir) != "x" || names(t, target) != "new" {
				t.Errorf("there are %s, with %s", names(t, dir), names(t, target))
			}
		})
	}
}

// TestStageExchangeFails checks that after a failed exchange the old target stays and the new one is removed.
func TestStageExchangeFails(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "x")
	must.Do(t, os.Mkdir(target, 0o777))
	fsys := &vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpExchange, 0, vfstest.ErrInjected)}
	s := must.Get(vfs.Stage(fsys, target, true, anything, nil))(t)
	writeFile(t, filepath.Join(s.Dir(), "new"), nil)
	if err := s.Commit(); !errors.Is(err, vfstest.ErrInjected) || names(t, dir) != "x" || names(t, target) != "" {
		t.Errorf("%v; there are %s, with %s", err, names(t, dir), names(t, target))
	}
}

// TestStageKeeps checks that a kept directory outlives its staging, and that the next staging decides whether to continue it.
func TestStageKeeps(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "x")
	s := stage(t, target, false, nil)
	s.Keep()
	if err := s.Abort(); err != nil || names(t, dir) != "x.partial" {
		t.Fatalf("%v, left: %s", err, names(t, dir))
	}
	over := func(goOn bool, err error) (*vfs.Staging, error) {
		return vfs.Stage(vfs.OS(), target, false, nil, func(dir string) (bool, error) {
			if dir != target+".partial" {
				t.Errorf("asked about %s", dir)
			}
			return goOn, err
		})
	}
	no := errors.New("no")
	if _, err := over(false, no); !errors.Is(err, no) || names(t, dir) != "x.partial" {
		t.Errorf("refused: %v, left: %s", err, names(t, dir))
	}
	s, err := over(true, nil)
	if err != nil || names(t, s.Dir()) != "new" {
		t.Fatalf("going on: %v", err)
	}
	if err := s.Abort(); err != nil || names(t, dir) != "x.partial" {
		t.Errorf("abort again: %v, left: %s", err, names(t, dir))
	}
	// A target that exists by now is no reason to remove the kept directory.
	must.Do(t, os.Mkdir(target, 0o777))
	if _, err := over(true, nil); !errors.Is(err, fs.ErrExist) || names(t, dir) != "x x.partial" {
		t.Errorf("target exists: %v, left: %s", err, names(t, dir))
	}
	must.Do(t, os.Remove(target))
	s = must.Get(over(true, nil))(t)
	if err := s.Commit(); err != nil || names(t, dir) != "x" || names(t, target) != "new" {
		t.Errorf("commit: %v, there are %s", err, names(t, dir))
	}
	if s, err = vfs.Stage(vfs.OS(), filepath.Join(dir, "y"), false, nil, func(string) (bool, error) { return false, nil }); err != nil || names(t, s.Dir()) != "" {
		t.Fatalf("anew: %v", err)
	}
	if err := s.Abort(); err != nil {
		t.Error(err)
	}
}

// TestSweep checks that Sweep removes the leftovers of a writer that died after publishing, and only these.
func TestSweep(t *testing.T) {
	target := filepath.Join(t.TempDir(), "x")
	never := func(string) bool { t.Error("asked about nothing"); return true }
	must.Do(t, vfs.Sweep(vfs.OS(), target, never))
	leave := func() {
		t.Helper()
		must.Do(t, os.WriteFile(target+".lock", nil, 0o666))
		must.Do(t, os.MkdirAll(target+vfs.PartialSuffix, 0o777))
	}
	there := func(name string) bool { _, err := os.Stat(name); return err == nil }
	leave()
	if err := vfs.Sweep(vfs.OS(), target, func(string) bool { return false }); err != nil || there(target+".lock") || !there(target+vfs.PartialSuffix) {
		t.Errorf("what is of use: %v, lock %v, directory %v", err, there(target+".lock"), there(target+vfs.PartialSuffix))
	}
	leave()
	if err := vfs.Sweep(vfs.OS(), target, func(string) bool { return true }); err != nil || there(target+".lock") || there(target+vfs.PartialSuffix) {
		t.Errorf("what is of none: %v, lock %v, directory %v", err, there(target+".lock"), there(target+vfs.PartialSuffix))
	}
	leave()
	held := must.Get(vfs.OS().Lock(target + ".lock"))(t)
	defer held.Close()
	if err := vfs.Sweep(vfs.OS(), target, never); err != nil || !there(target+".lock") || !there(target+vfs.PartialSuffix) {
		t.Errorf("while another writes: %v, lock %v, directory %v", err, there(target+".lock"), there(target+vfs.PartialSuffix))
	}
}

// TestHold checks that the lock is released by Commit, and with Hold only by Abort after it.
func TestHold(t *testing.T) {
	for _, hold := range []bool{false, true} {
		target := filepath.Join(t.TempDir(), "x")
		s := must.Get(vfs.Stage(vfs.OS(), target, false, nil, nil))(t)
		if hold {
			s.Hold()
		}
		must.Do(t, s.Commit())
		called := func() (yes bool) {
			t.Helper()
			if err := vfs.Locked(vfs.OS(), target, func() error { yes = true; return nil }); err != nil {
				t.Error(err)
			}
			return yes
		}
		if called() == hold {
			t.Errorf("hold %v: after Commit the lock is free %v", hold, !hold)
		}
		if err := errors.Join(s.Abort(), s.Abort()); err != nil || !called() {
			t.Errorf("hold %v: after Abort: %v, or the lock is held", hold, err)
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("hold %v: %v", hold, err)
		}
	}
}
