package vfstest

import (
	"os"
	"path/filepath"
)

// Contents are the names of the files of a directory and what is in them.
func Contents(t interface {
	Helper()
	Fatal(...any)
}, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(b)
	}
	return files
}
