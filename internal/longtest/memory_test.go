package longtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestInMemory checks that InMemory keeps a TMPDIR that is set, and that the folder it sets otherwise holds files and
// runs programs.
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
	dir := must.Get(os.MkdirTemp("", "longtest"))(t)
	defer os.RemoveAll(dir)
	if filepath.Dir(dir) != folder {
		t.Errorf("a temporary folder is %s, not in %s", dir, folder)
	}
	self := must.Get(os.ReadFile("/proc/self/exe"))(t)
	program := filepath.Join(dir, "program")
	must.Do(t, os.WriteFile(program, self, 0o700))
	if out, err := exec.Command(program, "-test.list", "^TestInMemory$").CombinedOutput(); err != nil {
		t.Errorf("a program does not run there: %v\n%s", err, out)
	}
}
