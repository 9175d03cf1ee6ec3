package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestLongIDs: a window of a table ends where its ids exceed the memory, even after few rows.
func TestLongIDs(t *testing.T) {
	const rows = 40
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "%s%03d\n", strings.Repeat("0", 1<<20-4), i)
	}
	dir, file := t.TempDir(), factor.Text{File: "rows.ids"}
	must.Do(t, os.WriteFile(filepath.Join(dir, file.File), []byte(text.String()), 0o666))
	names, err := factor.OpenNames(t.Context(), vfs.OS(), dir, &factor.SideIDs{Kind: "string", Text: file},
		[]factor.File{{Name: file.File, Size: int64(text.Len()), CRC: crc.Sum(crc.Of([]byte(text.String())))}}, rows)
	must.Do(t, err)
	defer names.Close()
	x, w := &table{names: names, k: 1, rows: rows, idName: "row", most: 3 << 20}, new(window)
	if n, err := x.name(w, 0, rows); n != 4 || len(w.ids) != n || err != nil {
		t.Errorf("%d rows, %d ids, %v", n, len(w.ids), err)
	}
	if n, err := x.name(w, rows-3, 3); n != 3 || len(w.ids) != n || err != nil {
		t.Errorf("%d rows, %d ids, %v", n, len(w.ids), err)
	}
}
