//go:build unix

package ingest

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestPipesAndSockets: named pipes and sockets are refused without opening them, because opening may block.
func TestPipesAndSockets(t *testing.T) {
	dir := t.TempDir()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "s")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err) // the path may be too long for a socket
	}
	defer l.Close()
	text := write(t, "in", "1,10,3\n")
	for name, want := range map[string]string{fifo: "it is a pipe", socket: "it is a socket"} {
		for _, inputs := range [][]string{{name}, {text, name}} {
			if _, err := Ingest(t.Context(), inputs, target(t), Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "as - from standard input") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
