package longtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// InMemory leaves what the environment names; a folder it chooses holds files and runs programs.
func TestInMemory(t *testing.T) {
	own := t.TempDir()
	t.Setenv("TMPDIR", own)
	InMemory()
	if got := os.Getenv("TMPDIR"); got != own {
		t.Errorf("TMPDIR is %q, was %q", got, own)
	}
	t.Setenv("TMPDIR", "")
	InMemory()
	folder := os.Getenv("TMPDIR")
	if folder == "" {
		t.Skipf("%s: no file system in memory with enough room", runtime.GOOS)
	}
	dir, err := os.MkdirTemp("", "longtest")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if filepath.Dir(dir) != folder {
		t.Errorf("a temporary folder is %s, not in %s", dir, folder)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, self, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(program, "-test.list", "^TestInMemory$").CombinedOutput(); err != nil {
		t.Errorf("a program does not run there: %v\n%s", err, out)
	}
}
