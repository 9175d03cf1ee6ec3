package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// smallDisk mounts a file system of size bytes until the test ends.
func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("gdsvd-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("a small disk cannot be mounted here (only root may): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk: a full disk is one line on standard error, and no files are left.
func TestFullDisk(t *testing.T) {
	file := ratings(t, spilling)
	store := stored(t, file)
	for _, c := range []struct {
		name string
		size int
		says string
		args func(disk string) []string
	}{
		{"ingest, the store does not fit", 128 << 10, "no space left on device", func(disk string) []string {
			return []string{"ingest", "-q", file, "-o", filepath.Join(disk, "m.csr"), "--ignore-space"}
		}},
		{"ingest, the temporary runs do not fit", 1 << 20, "no space left on device", func(disk string) []string {
			return []string{"ingest", "-q", file, "-o", filepath.Join(disk, "m.csr"), "--memory", tightMemory, "--ignore-space"}
		}},
		{"svd, the vectors do not fit", 128 << 10, "the vectors take .*, and the disk of .*out has .* free: make room, or give another -o", func(disk string) []string {
			return []string{"svd", "-q", store, "-k", "10", "-o", filepath.Join(disk, "out"), "--max-passes", "30", "--checkpoint-every", "0"}
		}},
		{"generate", 128 << 10, "no space left on device", func(disk string) []string {
			return []string{"generate", "ratings", "-q", "-o", filepath.Join(disk, "r.dat")}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := smallDisk(t, c.size)
			fails(t, ui.ExitError, c.says, c.args(disk)...)
			if left := names(t, disk); len(left) > 0 {
				t.Errorf("on the disk are left %v", left)
			}
			if err := os.WriteFile(filepath.Join(disk, "room"), make([]byte, c.size/2), 0o666); err != nil {
				t.Errorf("the room is not given back: %v", err)
			}
		})
	}
}

// TestResultOnASmallDisk: a disk that fills up while the result is written is one line on standard error.
func TestResultOnASmallDisk(t *testing.T) {
	longtest.Only(t)
	store := ingested(t, spilling)
	disk := smallDisk(t, 1<<20)
	f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpCreate && filepath.Base(o.Name) == "sigma.npy" {
			fill(t, filepath.Join(disk, "ballast"))
		}
		return nil
	}}
	o := withFaults(t, f, "svd", "-q", store, "-k", "10", "-o", filepath.Join(disk, "out"), "--checkpoint-every", "0")
	if o.code != ui.ExitError || !strings.Contains(o.stderr, "no space left on device") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	if left := names(t, disk); slices.Contains(left, "out.partial") {
		t.Errorf("on the disk are left %v", left)
	}
}

// TestDiskWithoutALimit: a file system without a size limit reports 0 bytes in total and is not taken for full.
func TestDiskWithoutALimit(t *testing.T) {
	store := ingested(t, tall)
	disk := smallDisk(t, 0)
	succeeds(t, "svd", "-q", store, "-k", "2", "-o", filepath.Join(disk, "out"))
	succeeds(t, "ingest", "-q", ratings(t, tall), "-o", filepath.Join(disk, "m.csr"))
}

// TestFullDiskAtCheckpoints: while the disk is full no checkpoint is written and the one before
// stays valid; the failure and its end are reported once each.
func TestFullDiskAtCheckpoints(t *testing.T) {
	store := ingested(t, tall)
	flags := []string{"-k", "6", "--method", "krylov", "--block", "1", "--tol", "1e-12"}
	want, result := factorised(t, store, flags...)
	disk := smallDisk(t, 1<<20)
	dir, ballast := filepath.Join(disk, "out"), filepath.Join(disk, "ballast")
	begun, kept := 0, 0
	f := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind != vfstest.OpCreate || o.Name != filepath.Join(dir, checkpointEvents+halfSuffix) {
			return nil
		}
		switch begun++; begun {
		case 4:
			fill(t, ballast)
		case 8:
			var err error
			if kept, err = savedPasses(dir); err != nil {
				t.Error(err)
				break
			}
			if err := os.Remove(ballast); err != nil {
				t.Error(err)
			}
		}
		return nil
	}}
	o := withFaults(t, f, append([]string{"svd", store, "-o", dir}, flags...)...)
	if o.code != ui.ExitOK {
		t.Fatalf("exit %d\n%s", o.code, o.stderr)
	}
	for _, file := range partFiles {
		same(t, file, filepath.Join(want, file), filepath.Join(dir, file))
	}
	if begun <= 8 || begun < result.Passes/2 || kept != 3 {
		t.Errorf("%d checkpoints were begun in %d passes; while the disk was full there was one of pass %d, want 3", begun, result.Passes, kept)
	}
	for _, said := range []string{"no checkpoint could be written; the run continues", "no space left on device", "checkpoints are written again"} {
		if n := strings.Count(o.stderr, said); n != 1 {
			t.Errorf("%q is said %d times in\n%s", said, n, o.stderr)
		}
	}
}

// fill writes to a file until the disk is full.
func fill(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Error(err)
		return
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// TestIngestOnASmallDisk: an ingest that will not fit is refused before it begins; one that filled
// the disk is resumed when there is room.
func TestIngestOnASmallDisk(t *testing.T) {
	longtest.Only(t)
	most := spilling // more is written after the entries held in memory were saved
	most.Users, most.Ratings = 2*most.Users, 2*most.Ratings
	file := ratings(t, most)
	disk := smallDisk(t, 16<<20)
	store := filepath.Join(disk, "m.csr")
	args := []string{"ingest", "-q", file, "-o", store, "--memory", tightMemory, "--checkpoint-every", "1ms"}
	room := filepath.Join(disk, "room")
	must.Do(t, os.WriteFile(room, make([]byte, 9<<20), 0o666))
	fails(t, ui.ExitError, "(--ignore-space begins nevertheless)", args...)
	if left := names(t, disk); !slices.Equal(left, []string{"room"}) {
		t.Errorf("on the disk are left %v", left)
	}
	fails(t, ui.ExitError, "--resume goes on from there", append(args, "--ignore-space")...)
	must.Do(t, os.Remove(room))
	succeeds(t, append(args, "--ignore-space", "--resume")...)
	succeeds(t, "check", "-q", store)
}

// TestGenerateOnASmallDisk: a full disk leaves no part of a store; with room the store has the usual bytes.
func TestGenerateOnASmallDisk(t *testing.T) {
	longtest.Only(t)
	for kind, args := range generated(t) {
		want := filepath.Join(t.TempDir(), "m.csr")
		succeeds(t, append(slices.Clone(args), "-o", want)...)
		disk := smallDisk(t, 64<<20)
		ballast := filepath.Join(disk, "ballast")
		must.Do(t, os.WriteFile(ballast, make([]byte, 62<<20), 0o666))
		store := filepath.Join(disk, "m.csr")
		args = append(args, "-o", store)
		fails(t, ui.ExitError, "no space left on device", args...)
		if left := names(t, disk); !slices.Equal(left, []string{"ballast"}) {
			t.Errorf("%s: on the disk are left %v", kind, left)
		}
		must.Do(t, os.Remove(ballast))
		succeeds(t, args...)
		if left := names(t, disk); !slices.Equal(left, []string{"m.csr"}) {
			t.Errorf("%s: on the disk are %v", kind, left)
		}
		sameStore(t, want, store)
	}
}
