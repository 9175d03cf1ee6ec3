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

	"github.com/gdsvd/gdsvd/vfs"
)

// gzipOf is a member of a gzip file.
func gzipOf(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A cancelled read ends, however much a few bytes of the file stand for, and however little many of them do.
func TestReadEndsWithContext(t *testing.T) {
	line := gzipOf(t, []byte("1 2 3\n"))
	for name, data := range map[string][]byte{
		"zeros":         gzipOf(t, make([]byte, 4<<20)),
		"empty members": append(line, bytes.Repeat(gzipOf(t, nil), 1<<13)...),
		"plain":         make([]byte, 4<<20),
	} {
		file := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		in, err := Opener{Files: Files{FS: vfs.OS()}, Bytes: new(atomic.Int64)}.Open(ctx, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Peek(6); err != nil {
			t.Fatal(err)
		}
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
