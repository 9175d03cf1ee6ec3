package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

// gzipOf returns text as one gzip member.
func gzipOf(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write(text))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

// TestReadEndsWithContext: a cancelled read ends, also within data that expand very much or to nothing.
func TestReadEndsWithContext(t *testing.T) {
	line := gzipOf(t, []byte("1 2 3\n"))
	for name, data := range map[string][]byte{
		"zeros":         gzipOf(t, make([]byte, 4<<20)),
		"empty members": append(line, bytes.Repeat(gzipOf(t, nil), 1<<13)...),
		"plain":         make([]byte, 4<<20),
	} {
		file := filepath.Join(t.TempDir(), "in")
		must.Do(t, os.WriteFile(file, data, 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		in := must.Get(Opener{Files: Files{FS: vfs.OS()}, Bytes: new(atomic.Int64)}.Open(ctx, file))(t)
		must.Get(in.Peek(6))(t)
		cancel()
		if at, _, err := in.At(); err != nil {
			t.Error(err)
		} else if at != nil {
			if _, err := at.ReadAt(make([]byte, 1), 0); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, at a place: %v", name, err)
			}
		}
		if _, err := io.Copy(io.Discard, struct{ io.Reader }{in}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}
