//go:build unix

package csr_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestReplacedFiles replaces a file of a store by a pipe, a directory, a device or a huge sparse
// file: Open and Check return an error of one line that names the file, and do not block.
func TestReplacedFiles(t *testing.T) {
	kinds := map[string]struct {
		make func(name string) error
		says string
	}{
		"pipe":      {func(name string) error { return unix.Mkfifo(name, 0o666) }, "it is a pipe, a regular file is wanted"},
		"directory": {func(name string) error { return os.Mkdir(name, 0o777) }, "it is a directory, a regular file is wanted"},
		"zeros":     {func(name string) error { return os.Symlink("/dev/zero", name) }, "it is a device, a regular file is wanted"},
		"nothing":   {func(name string) error { return os.Symlink("/dev/null", name) }, "it is a device, a regular file is wanted"},
		"sparse": {func(name string) error {
			return errors.Join(os.WriteFile(name, nil, 0o666), os.Truncate(name, 1<<42))
		}, "4398046511104 bytes"},
	}
	sound := filepath.Join(t.TempDir(), "sound.csr")
	writeVictim(t, sound, 1)
	for _, file := range []string{"MANIFEST.json", "truth.json", "shard-000000.csr", "rows.ids", "cols.ids"} {
		for kind, k := range kinds {
			t.Run(file+"/"+kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.csr")
				must.Do(t, os.CopyFS(path, os.DirFS(sound)))
				name := filepath.Join(path, file)
				must.Do(t, os.RemoveAll(name))
				must.Do(t, k.make(name))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				var opened, checked error
				go func() {
					defer cancel()
					opened = openWhole(path)
					report, err := csr.Check(context.Background(), path, csr.CheckOptions{})
					checked = errors.Join(append(report.Problems, err)...)
				}()
				<-ctx.Done()
				if ctx.Err() == context.DeadlineExceeded {
					t.Fatal("it waits")
				}
				for _, err := range []error{opened, checked} {
					var bad *csr.CorruptError
					if !errors.As(err, &bad) || bad.File != file || !strings.Contains(err.Error(), k.says) || strings.Contains(err.Error(), "\n") {
						t.Errorf("%v, want one line about %s with %q", err, file, k.says)
					}
				}
			})
		}
	}
}

// openWhole opens a store and reads its ids and its truth.
func openWhole(path string) error {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, a := range []csr.Axis{csr.RowAxis, csr.ColAxis} {
		if _, err := readIDs(s, a); err != nil {
			return err
		}
	}
	_, err = s.Truth()
	return err
}
