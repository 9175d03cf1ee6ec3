package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var disk = Attack{
	Name: "disk",
	About: "ingest, svd and generate on a disk of random size, or where no file may be longer than a random size: done, or one line and exit 1, " +
		"and with more room --resume ends with the same bytes",
	Short: 16, Long: 500,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		w, want, _, _, err := t.draw(ctx, e)
		if err != nil {
			return verdict("disk "+w.name, err)
		}
		if t.IntN(4) == 0 {
			return verdict("file size "+w.name, t.shortFiles(ctx, &w, want))
		}
		return verdict("disk "+w.name, t.fullDisk(ctx, &w, want))
	},
}

// shortFiles limits the size of files by the shell's ulimit, in blocks of 512 bytes.
func (t *Trial) shortFiles(ctx context.Context, w *work, want string) error {
	size, err := treeSize(want)
	if err != nil {
		return err
	}
	out := filepath.Join(t.path("work"), "out")
	j := w.command(out, w.saves...)
	j.shell = fmt.Sprintf("ulimit -f %d", 1+t.Int64N(size/512+1))
	_, err = t.expect(ctx, j, 1)
	return t.withRoom(ctx, w, want, out, err)
}

// fullDisk mounts a disk with a size up to somewhat more than the work makes.
func (t *Trial) fullDisk(ctx context.Context, w *work, want string) (err error) {
	size, err := treeSize(want)
	if err != nil {
		return err
	}
	if w.long || strings.Contains(w.name, "sorts on the disk") {
		size += 8 << 20 // of temporary files, most of which come at the beginning
	}
	at := t.path("disk")
	if err := mount(at, 64<<10+t.Int64N(size+size/4)); err != nil {
		return err
	}
	defer func() {
		if e := unmount(at); e != nil {
			err = errors.Join(err, e)
		}
	}()
	out := filepath.Join(at, "out")
	more := w.saves
	if w.args[0] == "ingest" {
		more = append([]string{"--ignore-space"}, more...)
	}
	_, err = t.expect(ctx, w.command(out, more...), 1)
	if err := remount(at, 2<<30); err != nil {
		return err
	}
	return t.withRoom(ctx, w, want, out, err)
}

// withRoom judges what a run that ended with err has left, and goes on with it
// where there is room.
func (t *Trial) withRoom(ctx context.Context, w *work, want, out string, err error) error {
	if err == nil { // there was room enough
		return w.same(want, out)
	}
	if !isRefused(err) {
		return err
	}
	if text := err.Error(); !strings.Contains(text, "no space left on device") && !strings.Contains(text, "file too large") {
		return wrongf("%s on a full disk: %s", w.name, head(text))
	}
	left, e := names(filepath.Dir(out))
	if e != nil {
		return e
	}
	for _, name := range left {
		if !strings.HasPrefix(name, filepath.Base(out)) {
			return wrongf("%s on a full disk leaves %v", w.name, left)
		}
	}
	// Who does not say that there is something to go on from has left nothing.
	if len(left) > 0 && !strings.Contains(err.Error(), "--resume") {
		return wrongf("%s on a full disk leaves %v and says %s", w.name, left, head(err.Error()))
	}
	if e := t.finish(ctx, w, want, out); e != nil {
		return e
	}
	return err
}

// treeSize is the sum of the sizes of files.
func treeSize(path string) (size int64, err error) {
	err = filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// settle waits until a file system is no longer in use.
func settle(try func() error) (err error) {
	for range 50 {
		if err = try(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
