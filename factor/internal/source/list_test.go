package source

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

// FuzzList: parseList returns the first line of each distinct id, blanks included; other lines are blank or repeat an id.
func FuzzList(f *testing.F) {
	f.Add("\uFEFFa\r\n\n b c \na\n a\n \r\n")
	f.Add("\x00\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		l := parseList([]byte(text))
		lines := map[string]int{}
		for _, at := range l.at {
			lines[string(l.id(at))] = 1 + strings.Count(string(l.text[:at]), "\n")
		}
		seen := map[string]bool{}
		for i, line := range strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n") {
			id, blank := strings.TrimSuffix(line, "\r"), strings.TrimSpace(line) == ""
			if n, ok := lines[id]; ok == blank || !blank && !seen[id] && n != i+1 {
				t.Fatalf("%q: line %d, %q, is in line %d, %t", text, i+1, id, n, ok)
			}
			seen[id] = seen[id] || !blank
		}
		maps.DeleteFunc(seen, func(_ string, is bool) bool { return !is })
		if len(l.at) != len(seen) {
			t.Fatalf("%q: %d ids, want %d", text, len(l.at), len(seen))
		}
	})
}

// TestListWithinMemory: a list of ids may take an eighth of the memory budget.
func TestListWithinMemory(t *testing.T) {
	dir := t.TempDir()
	path, name := filepath.Join(dir, "a.csr"), filepath.Join(dir, "list")
	csrtest.Write(t, path, 3, [][]csrtest.Entry{{{Col: 1, Val: 1}}}, csr.CreateOptions{})
	store := csrtest.Open(t, path, csr.OpenOptions{})
	must.Do(t, os.WriteFile(name, []byte("1\n0\n"+strings.Repeat("1\n", 500)), 0o666))
	p := must.Get(view.Pipeline{}.Keep(name))(t)
	src := New(store)
	if _, err := src.Keep(vfs.OS(), p, 8*1004, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
	if _, err := src.Keep(vfs.OS(), p, 8*1003, slog.New(slog.DiscardHandler)); !errors.Is(err, vfs.ErrTooLarge) || !strings.Contains(err.Error(), "memory budget") {
		t.Error(err)
	}
}
