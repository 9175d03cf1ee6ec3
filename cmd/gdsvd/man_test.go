package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestMan: each command has a page with each visible flag and the same bytes each time; other files in the folder stay.
func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share", "man1")
	var made madePages
	decode(t, succeeds(t, "man", dir, "--json"), &made)
	must.Do(t, os.WriteFile(filepath.Join(dir, "other.1"), []byte("x"), 0o666))
	pages := map[string]string{}
	for _, name := range made.Pages {
		text := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		pages[name] = string(text)
	}
	succeeds(t, "man", dir)
	if there := names(t, dir); len(there) != len(pages)+1 {
		t.Errorf("%v", there)
	}
	for _, cmd := range allCommands() {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		text := pages[name]
		again, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || text == "" || string(again) != text {
			t.Errorf("%s: %d bytes, then %d, %v", name, len(text), len(again), err)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if there := strings.Contains(text, `\fB\-\-`+strings.ReplaceAll(f.Name, "-", `\-`)+`\fP`); there == f.Hidden {
				t.Errorf("%s has --%s: %v, hidden: %v", name, f.Name, there, f.Hidden)
			}
		})
	}
	if path, err := exec.LookPath("groff"); err != nil {
		t.Log("groff is not there: the pages are not shown")
	} else {
		args := []string{"-man", "-ww", "-z", "-Tutf8"}
		for name := range pages {
			args = append(args, filepath.Join(dir, name))
		}
		if out, err := exec.Command(path, args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v: %s", err, out)
		}
	}
}
