package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The components are the modules that go version -m lists.
func TestComponents(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sbom.json")
	if err := write(self, file); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range d.Components {
		if !strings.HasPrefix(c.URL, "pkg:golang/"+c.Name+"@") || c.Type != "library" {
			t.Errorf("%+v", c)
		}
		got[c.Name] = c.Version
	}
	if len(got) != len(d.Components) || len(got) != len(d.Dependencies[0].DependsOn) || d.Metadata.Component.Name != "github.com/gdsvd/gdsvd" {
		t.Errorf("%s", data)
	}
	if "go"+got["std"] != runtime.Version() {
		t.Errorf("the standard library is of %q", got["std"])
	}
	delete(got, "std")
	listed, err := exec.Command("go", "version", "-m", self).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(listed)) {
		if f := strings.Fields(line); len(f) >= 3 && f[0] == "dep" {
			if got[f[1]] != f[2] {
				t.Errorf("%s is of version %q, want %s", f[1], got[f[1]], f[2])
			}
			delete(got, f[1])
		}
	}
	if len(got) > 0 {
		t.Errorf("not linked: %v", got)
	}
}

func TestNoProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{name, name + "2"} {
		if err := write(p, name+".json"); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
	if _, err := os.Stat(name + ".json"); err == nil {
		t.Error("a document was written")
	}
}
