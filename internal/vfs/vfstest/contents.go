package vfstest

import (
	"os"
	"path/filepath"

	"github.com/gdsvd/gdsvd/internal/must"
)

// Contents returns the contents of the files of a directory by name.
func Contents(t must.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		files[e.Name()] = string(must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t))
	}
	return files
}

// Restore writes the files that Contents has returned to a directory, which it creates if necessary.
func Restore(t must.TB, dir string, files map[string]string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o777))
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}
