package live

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestLongEvent: a line longer than any event is not read into memory.
func TestLongEvent(t *testing.T) {
	dir := t.TempDir()
	text := "{\"phase\":\"iterate\",\"pass\":3}\n{\"phase\":\"" + strings.Repeat("x", 1<<25) + "\"}\n"
	for name, of := range map[string]string{layout.Checkpoint: "", layout.CheckpointEvents: text} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(of), 0o666))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := NewReader(vfs.OS(), dir).State(t.Context())
	if err != nil || s.Status != Unfinished || s.Last == nil || s.Last.Pass != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("%d bytes for a line of %d", took, len(text))
	}
}
