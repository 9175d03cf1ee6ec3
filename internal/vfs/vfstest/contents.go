package vfstest

import (
	"os"
	"path/filepath"

	"github.com/gdsvd/gdsvd/internal/must"
)

// Contents are the names of the files of a directory and what is in them.
func Contents(t must.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		files[e.Name()] = string(must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t))
	}
	return files
}

// Restore makes a directory of what Contents tells of one.
func Restore(t must.TB, dir string, files map[string]string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o777))
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}
