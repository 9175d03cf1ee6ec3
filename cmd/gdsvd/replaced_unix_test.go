//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestReplacedFiles: if a pipe, directory, device or sparse file is in the place of a file, the
// command fails with one line that names the file, without waiting or reading endlessly.
func TestReplacedFiles(t *testing.T) {
	kinds := map[string]func(name string) error{
		"pipe":      func(name string) error { return unix.Mkfifo(name, 0o666) },
		"directory": func(name string) error { return os.Mkdir(name, 0o777) },
		"zeros":     func(name string) error { return os.Symlink("/dev/zero", name) },
		"nothing":   func(name string) error { return os.Symlink("/dev/null", name) },
		"sparse": func(name string) error {
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(1 << 42)
		},
	}
	store := ingested(t, tall)
	larger := ingested(t, synth.Ratings{Users: 95, Items: 41, Ratings: 2500, Seed: 3})
	known := filepath.Join(t.TempDir(), "known.csr")
	succeeds(t, "generate", "spectrum", "-q", "--rows", "60", "--cols", "40", "-o", known)
	done, _ := factorised(t, store, "-k", "2")
	unfinished := filepath.Join(t.TempDir(), "unfinished")
	if o := gdsvd(t, "svd", "-q", store, "-k", "3", "-o", unfinished, "--max-passes", "4", "--tol", "1e-12"); o.code != ui.ExitNotConverged {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	config := filepath.Join(t.TempDir(), "config")
	must.Do(t, os.Mkdir(config, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(config, "flags.json"), []byte("{}"), 0o666))
	for _, c := range []struct {
		from, file string   // the directory that is copied; the file that is replaced in the copy
		args       []string // DIR stands for the copy
		code       int
	}{
		{store, "MANIFEST.json", []string{"info", "DIR"}, ui.ExitCorrupt},
		{store, "shard-000000.csr", []string{"svd", "-q", "DIR", "-k", "2", "-o", "OUT"}, ui.ExitCorrupt},
		{done, "result.json", []string{"info", "DIR"}, 0},
		{done, "result.json", []string{"svd", "-q", store, "-k", "2", "-o", "OUT", "--init", "DIR"}, 0},
		{done, "result.json", []string{"svd", "-q", store, "-k", "2", "-o", "DIR", "--force"}, 0},
		{done, "V.npy", []string{"svd", "-q", store, "-k", "2", "-o", "OUT", "--init", "DIR"}, 0},
		{unfinished, "checkpoint", []string{"svd", "-q", store, "-k", "3", "-o", "DIR", "--resume", "--tol", "1e-12"}, 0},
		{unfinished, "checkpoint", []string{"check", "-q", "DIR"}, 0},
		{unfinished, "checkpoint.jsonl", []string{"check", "-q", "DIR"}, 0},
		{done, "result.json", []string{"check", "-q", "DIR"}, 0},
		{done, "events.jsonl", []string{"check", "-q", "DIR"}, 0},
		{done, "sigma.npy", []string{"check", "-q", "DIR"}, 0},
		{done, "U.npy", []string{"check", "-q", "DIR", "--store", store}, 0},
		{store, "rows.ids", []string{"info", "DIR", "--ids", "rows"}, ui.ExitCorrupt},
		{store, "rows.ids", []string{"check", "-q", "DIR"}, ui.ExitCorrupt},
		{larger, "cols.ids", []string{"svd", "-q", "DIR", "-k", "2", "-o", "OUT", "--init", done}, ui.ExitCorrupt},
		{known, "truth.json", []string{"check", "-q", "DIR"}, ui.ExitCorrupt},
		{config, "flags.json", []string{"info", store, "--config", "DIR/flags.json"}, ui.ExitUsage},
	} {
		for kind, replace := range kinds {
			t.Run(filepath.Base(c.file)+" of "+c.args[0]+"/"+kind, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "copy")
				must.Do(t, os.CopyFS(dir, os.DirFS(c.from)))
				name := filepath.Join(dir, c.file)
				must.Do(t, os.Remove(name))
				must.Do(t, replace(name))
				r := strings.NewReplacer("DIR", dir, "OUT", filepath.Join(t.TempDir(), "out"))
				var args []string
				for _, a := range c.args {
					args = append(args, r.Replace(a))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var o ran
				go func() {
					defer cancel()
					o = gdsvd(t, args...)
				}()
				<-ctx.Done()
				if ctx.Err() == context.DeadlineExceeded {
					t.Fatal("it waits")
				}
				if o.code == ui.ExitOK || o.code == ui.ExitNotConverged || c.code != 0 && o.code != c.code ||
					strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stdout+o.stderr, c.file) {
					t.Errorf("exit %d: %q %q", o.code, o.stdout, o.stderr)
				}
			})
		}
	}
}

// TestPipesStay: files are replaced, but no pipe, no device and no link to one.
func TestPipesStay(t *testing.T) {
	store := ingested(t, tall)
	done, _ := factorised(t, store, "-k", "2")
	for _, args := range [][]string{ // the name of the file follows
		{"report", done, "--no-store", "--force", "-o"},
		{"similar", done, "--col", "all", "--force", "-o"},
		{"recommend", done, "--store", store, "--force", "-o"},
		{"generate", "ratings", "--users", "30", "--items", "40", "--ratings", "700", "--force", "-o"},
		{"svd", store, "-k", "2", "-o", filepath.Join(t.TempDir(), "out"), "--metrics-file"},
	} {
		for _, link := range []bool{false, true} {
			pipe := filepath.Join(t.TempDir(), "pipe.csv")
			must.Do(t, unix.Mkfifo(pipe, 0o666))
			name := pipe
			if link {
				name = filepath.Join(t.TempDir(), "link.csv")
				must.Do(t, os.Symlink(pipe, name))
			}
			before := must.Get(os.Lstat(name))(t).Mode()
			fails(t, ui.ExitError, "it is a pipe, a regular file is wanted", append(args, name, "-q")...)
			if after := must.Get(os.Lstat(name))(t).Mode(); after != before {
				t.Errorf("%s: %v became %v", args[0], before, after)
			}
		}
	}
}
