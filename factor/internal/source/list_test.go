package source

import (
	"strings"
	"testing"
)

// Every line of a list is an id, or empty, or the same as one before.
func FuzzList(f *testing.F) {
	f.Add("\uFEFFa\r\n\n b c \na")
	f.Add("\x00\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		l := parseList([]byte(text))
		seen := map[string]bool{}
		for i, line := range strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n") {
			id := strings.TrimSpace(line)
			if n, ok := l.line[id]; ok != (id != "") || id != "" && !seen[id] && n != i+1 {
				t.Fatalf("%q: line %d, %q, is in line %d, %t", text, i+1, id, n, ok)
			}
			seen[id] = true
		}
		delete(seen, "")
		if l.ids != len(seen) {
			t.Fatalf("%q: %d ids, want %d", text, l.ids, len(seen))
		}
	})
}
