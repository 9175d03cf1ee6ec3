package factor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestRecallLongLine: a line longer than any event is refused without reading it into memory.
func TestRecallLongLine(t *testing.T) {
	text := "{\"pass\":1}\n{\"phase\":\"" + strings.Repeat("x", 1<<25) + "\"}\n"
	name := filepath.Join(t.TempDir(), "checkpoint.jsonl")
	must.Do(t, os.WriteFile(name, fmt.Appendf([]byte(text), durable.SealedLine, crc.Sum(crc.Of([]byte(text)))), 0o666))
	o := &output{fsys: vfs.OS(), lines: json.NewEncoder(io.Discard)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := o.recall(name, 9); !errors.Is(err, csr.ErrCorrupt) {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
		t.Errorf("%d bytes for a line of %d", took, len(text))
	}
}
