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
