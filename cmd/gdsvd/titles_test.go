package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// TestInfoOfNoEntries: info of a store without entries lists no values.
func TestInfoOfNoEntries(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "empty.csr")
	succeeds(t, "ingest", write(t, dir, "empty.mtx", "%%MatrixMarket matrix coordinate real general\n4 5 0\n"), "-o", store)
	var info storeInfo
	decode(t, succeeds(t, "info", store, "--json"), &info)
	if text := succeeds(t, "info", store); info.Values == nil || len(info.Values) > 0 || strings.Contains(text, "different") {
		t.Errorf("values %v\n%s", info.Values, text)
	}
}

// TestTitlesCommand: ingest reads titles, and info prints them after the ids if there are any.
func TestTitlesCommand(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string { return write(t, dir, name, text) }
	in, titles, store := put("in", "7,10,1\n8,20,2\n"), put("titles", "itemId,title\n10,\"Heat, The\"\n"), filepath.Join(dir, "out.csr")
	succeeds(t, "ingest", in, "--titles", titles, "-o", store)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--titles", "cols"}, "10\tHeat, The\n20\t\n"},
		{[]string{"--titles", "cols", "--json"}, "[\n{\"id\": 10, \"title\": \"Heat, The\"},\n{\"id\": 20, \"title\": \"\"}\n]\n"},
		{[]string{"--ids", "cols"}, "10\n20\n"},
	} {
		if got := succeeds(t, append([]string{"info", store}, c.args...)...); got != c.want {
			t.Errorf("%v: got %q, want %q", c.args, got, c.want)
		}
	}
	fails(t, ui.ExitError, "has no titles of rows", "info", store, "--titles", "rows")
	fails(t, ui.ExitUsage, "leave out --ids", "info", store, "--titles", "rows", "--ids", "rows")
	fails(t, ui.ExitUsage, "ambiguous: titles of rows", "ingest", put("same", "1,2,1\n2,1,1\n"), "--titles", put("whose", "1,a\n2,b\n"), "-o", filepath.Join(dir, "b.csr"))
}
