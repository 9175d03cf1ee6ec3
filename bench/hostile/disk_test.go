package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var disk = Attack{
	Name: "disk",
	About: "ingest, svd and generate on a disk of random size, or where no file may be longer than a random size: done, or one line and exit 1, " +
		"and with more room --resume ends with the same bytes",
	Short: 16, Long: 500,
	Run: func(t *Trial) {
		w, out := t.draw("disk")
		if t.IntN(4) == 0 {
			t.Kind = "file size " + w.name
			t.shortFiles(w, out)
		} else {
			t.fullDisk(w)
		}
	},
}

// shortFiles limits the size of files by the shell's ulimit, in blocks of 512 bytes.
func (t *Trial) shortFiles(w *work, out string) {
	j := w.command(out, w.saves...)
	j.shell = fmt.Sprintf("ulimit -f %d", 1+t.Int64N(treeSize(w.want)/512+1))
	_, err := t.expect(j, 1)
	t.withRoom(w, out, err)
}

// fullDisk mounts a disk of a random size up to 5/4 of what the work writes, and 64 KiB.
func (t *Trial) fullDisk(w *work) {
	size := treeSize(w.want)
	if w.long || strings.Contains(w.name, "sorts on the disk") {
		size += 8 << 20 // of temporary files, most of which come at the beginning
	}
	at := t.path("disk")
	check(os.Mkdir(at, 0o777))
	if said, err := mount("-t", "tmpfs", "-o", fmt.Sprintf("size=%d", 64<<10+t.Int64N(size+size/4)), "gdsvd-hostile", at); err != nil {
		check(skipf("a small disk cannot be mounted here: %s", head(said)))
	}
	defer func() { check(unmount(at)) }()
	out := filepath.Join(at, "out")
	more := w.saves
	if w.args[0] == "ingest" {
		more = append([]string{"--ignore-space"}, more...)
	}
	_, err := t.expect(w.command(out, more...), 1)
	need(mount("-o", "remount,size=2G", at))
	t.withRoom(w, out, err)
}

func mount(args ...string) (said string, err error) {
	b, err := exec.Command("mount", args...).CombinedOutput()
	return string(b), err
}

// unmount waits until the file system is no longer in use.
func unmount(at string) (err error) {
	for range 50 {
		if err = exec.Command("umount", at).Run(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// withRoom judges what a run that was refused with err has left, and finishes the work once there
// is room.
func (t *Trial) withRoom(w *work, out string, err error) {
	if err == nil { // the room was enough
		w.same(out)
		return
	}
	text := err.Error()
	said := func(reason string) bool { return strings.Contains(text, reason) }
	if !slices.ContainsFunc([]string{"no space left on device", "file too large", "make room"}, said) {
		check(wrongf("%s on a full disk: %s", w.name, head(text)))
	}
	left := names(filepath.Dir(out))
	w.leaves("on a full disk", out, left)
	// A refusal that does not name --resume must leave no files.
	if len(left) > 0 && !strings.Contains(text, "--resume") {
		check(wrongf("%s on a full disk leaves %v and says %s", w.name, left, head(text)))
	}
	t.finish(w, out)
	check(err)
}

// treeSize returns the sum of the sizes of the files in path.
func treeSize(path string) (size int64) {
	for _, name := range files(path) {
		size += need(os.Stat(name)).Size()
	}
	return size
}

// files returns the regular files in a directory and below it, or the file itself.
func files(path string) (all []string) {
	check(filepath.Walk(path, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			all = append(all, path)
		}
		return err
	}))
	return all
}
