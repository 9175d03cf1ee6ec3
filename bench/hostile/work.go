package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// work is a command that makes something, and what it makes when it is left alone.
type work struct {
	name    string
	args    []string // without -o and --resume
	saves   []string // flags that have it saved often
	resume  bool     // it can be gone on with
	compare []string // files of what is made that are the same bytes every time; nil: all
	long    bool     // too much for a test
}

// vectors are the files of a result that are the same bytes every time.
var vectors = []string{"sigma.npy", "U.npy", "V.npy"}

// inputs makes what the commands read.
func (e *Env) inputs(ctx context.Context) (string, error) {
	return e.fixture("inputs", func(t *Trial) error {
		for _, args := range [][]string{
			{"generate", "ratings", "-q", "-o", t.path("r.dat"), "--users", "1500", "--items", "600", "--ratings", "150000", "--seed", "1"},
			{"generate", "ratings", "-q", "-o", t.path("big.dat"), "--users", "6000", "--items", "1000", "--ratings", "1200000", "--seed", "1"},
			{"generate", "ratings", "-q", "-o", t.path("small.dat"), "--users", "400", "--items", "300", "--ratings", "30000", "--seed", "1"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("m.csr"), "--shard-size", "16KiB"},
			{"ingest", "-q", t.path("small.dat"), "-o", t.path("base.csr")},
		} {
			if _, err := t.must(ctx, gdsvd(args...)); err != nil {
				return err
			}
		}
		return split(t.path("r.dat"), t.path("part"), 12)
	})
}

// split cuts a file of lines into parts, every second compressed.
func split(file, prefix string, parts int) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	for i := range parts {
		part := bytes.Join(lines[i*len(lines)/parts:(i+1)*len(lines)/parts], nil)
		name := fmt.Sprintf("%s%02d.dat", prefix, i)
		if i%2 == 1 {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			if _, err := w.Write(part); err != nil {
				return err
			}
			if err := w.Close(); err != nil {
				return err
			}
			part, name = z.Bytes(), name+".gz"
		}
		if err := os.WriteFile(name, part, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// works are the commands that are killed, stopped, starved.
func (e *Env) works(ctx context.Context, long bool) ([]work, error) {
	in, err := e.inputs(ctx)
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(in, name) }
	often := []string{"--checkpoint-every", "1ms"}
	all := []work{
		{name: "ingest", args: []string{"ingest", at("r.dat")}, saves: often, resume: true},
		{name: "ingest of 12 files", args: []string{"ingest", at("part*")}, saves: often, resume: true},
		{name: "ingest that sorts on the disk", args: []string{"ingest", at("big.dat"), "--memory", "48MiB"}, saves: often, resume: true},
		{name: "generate kron", args: []string{"generate", "kron", "--base", at("base.csr"), "--rows", "8", "--cols", "8", "--nnz", "40", "--shard-size", "128KiB"}, resume: true},
		{name: "generate spectrum", args: []string{"generate", "spectrum", "--rows", "50000", "--cols", "3000", "--shard-size", "512KiB"}, resume: true},
		{name: "generate ratings", args: []string{"generate", "ratings", "--users", "2000", "--items", "500", "--ratings", "300000"}},
	}
	for _, flags := range []string{"auto", "power", "nesterov", "polyak", "block", "krylov", "krylov --block 8 --basis 30"} {
		args := slices.Concat([]string{"svd", at("m.csr"), "-k", "6", "--tol", "1e-12", "--method"}, strings.Fields(flags))
		all = append(all, work{name: "svd " + flags, args: args, saves: often, resume: true, compare: vectors})
	}
	if !long {
		return all, nil
	}
	files, err := e.fixture("files", func(t *Trial) error {
		_, err := t.must(ctx, gdsvd("generate", "spectrum", "-q", "--rows", "400000", "--cols", "350000", "--layers", "2", "--rank", "12", "-o", t.path("m.csr")))
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(all, work{
		name: "svd with vectors in files", saves: often, resume: true, compare: vectors, long: true,
		args: []string{"svd", filepath.Join(files, "m.csr"), "-k", "3", "--method", "krylov", "--block", "1", "--basis", "12", "--memory", "64MiB"},
	}), nil
}

// command is the work with its output at out.
func (w *work) command(out string, more ...string) job {
	return gdsvd(slices.Concat(w.args, []string{"-q", "-o", out}, more)...)
}

// saved is the work, saved often, going on with what there is.
func (w *work) saved(out string) job {
	more := slices.Clone(w.saves)
	if w.resume {
		more = append(more, "--resume")
	} else {
		more = append(more, "--force")
	}
	return w.command(out, more...)
}

// reference is what the work makes when it is left alone, and how long that takes.
func (e *Env) reference(ctx context.Context, w *work) (dir string, took time.Duration, err error) {
	dir, err = e.fixture("want-"+strings.ReplaceAll(w.name, " ", "-"), func(t *Trial) error {
		if _, err := t.must(ctx, w.command(t.path("out"), w.saves...)); err != nil {
			return err
		}
		// Once more, for the time: the first had to read everything from the disk.
		p, err := t.must(ctx, w.command(t.path("again"), w.saves...))
		if err != nil {
			return err
		}
		if err := os.WriteFile(t.path("took"), []byte(p.took.String()), 0o666); err != nil {
			return err
		}
		return os.RemoveAll(t.path("again"))
	})
	if err != nil {
		return "", 0, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "took"))
	if err == nil {
		took, err = time.ParseDuration(string(b))
	}
	return filepath.Join(dir, "out"), took, err
}

// same judges whether the work has made at out what it makes when it is left
// alone, and left nothing beside it.
func (w *work) same(want, out string) error {
	beside, err := names(filepath.Dir(out))
	if err != nil {
		return err
	}
	if base := filepath.Base(out); !slices.Equal(beside, []string{base}) {
		return wrongf("%s: at the end there are %v", w.name, beside)
	}
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		return sameFile(want, out)
	}
	return sameFiles(want, out, w.compare...)
}

func sameFile(want, got string) error {
	x, err := os.ReadFile(want)
	if err != nil {
		return err
	}
	y, err := os.ReadFile(got)
	if err != nil {
		return wrongf("%v", err)
	}
	if !bytes.Equal(x, y) {
		return wrongf("%s is not what it is without the attack%s", filepath.Base(got), firstDifference(x, y))
	}
	return nil
}

// finish goes on with the work until it is done and judges what it has made.
func (t *Trial) finish(ctx context.Context, w *work, want, out string) error {
	if _, err := t.must(ctx, w.saved(out)); err != nil {
		return err
	}
	return w.same(want, out)
}

// draw picks a work and its reference, and a directory for it.
func (t *Trial) draw(ctx context.Context, e *Env) (w work, want, out string, took time.Duration, err error) {
	all, err := e.works(ctx, t.Long)
	if err != nil {
		return w, "", "", 0, err
	}
	w = all[t.IntN(len(all))]
	if want, took, err = e.reference(ctx, &w); err != nil {
		return w, "", "", 0, err
	}
	if err = os.Mkdir(t.path("work"), 0o777); err != nil {
		return w, "", "", 0, err
	}
	return w, want, filepath.Join(t.path("work"), "out"), took, nil
}
