package vfs_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
)

// TestNarrowPlatforms checks that a 32-bit build fails with a compiler error that names the reason.
func TestNarrowPlatforms(t *testing.T) {
	if !longtest.On() {
		t.Skip("compiles for other platforms")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command here")
	}
	cmd := exec.Command(tool, "build", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH=386")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "undefined: gdsvd_needs_a_64_bit_platform") {
		t.Errorf("%v\n%s", err, out)
	}
}
