package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestUsage checks that wrong flags are refused before anything is written.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	nowhere := filepath.Join(dir, "nowhere")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no DIR to write to"},
		{[]string{"-o", nowhere, "-scale", "huge"}, "choose small or full"},
		{[]string{"-o", nowhere, "-ml10m", nowhere}, "no such file"},
		{[]string{"-o", nowhere, "-data", nowhere}, "no such file"},
		{[]string{"-o", nowhere, "paper"}, `argument "paper" is not understood`},
	} {
		if _, err := parse(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
	c, err := parse([]string{"-o", nowhere, "-scale", "full", "-data", dir})
	if err != nil || c.Scale != Full || c.Dir != nowhere || c.Data != dir {
		t.Errorf("good flags: %+v, %v", c, err)
	}
}
