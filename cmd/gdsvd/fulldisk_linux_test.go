package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of so many bytes for the time of the test.
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

// A full disk gives one clear line and leaves nothing, wherever it fills up.
func TestFullDisk(t *testing.T) {
	file := ratings(t, spilling)
	store := filepath.Join(t.TempDir(), "m.csr")
	must(t, "ingest", "-q", file, "-o", store)
	for _, c := range []struct {
		name string
		size int
		args func(disk string) []string
	}{
		{"ingest, the store does not fit", 128 << 10, func(disk string) []string {
			return []string{"ingest", "-q", file, "-o", filepath.Join(disk, "m.csr")}
		}},
		{"ingest, the temporary runs do not fit", 8 << 20, func(disk string) []string {
			return []string{"ingest", "-q", file, "-o", filepath.Join(disk, "m.csr"), "--memory", tightMemory}
		}},
		{"svd, the vectors do not fit", 128 << 10, func(disk string) []string {
			return []string{"svd", "-q", store, "-k", "10", "-o", filepath.Join(disk, "out"), "--max-passes", "30", "--checkpoint-every", "0"}
		}},
		{"generate", 128 << 10, func(disk string) []string {
			return []string{"generate", "ratings", "-q", "-o", filepath.Join(disk, "r.dat")}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := smallDisk(t, c.size)
			fails(t, exitError, "no space left on device", c.args(disk)...)
			if left := names(t, disk); len(left) > 0 {
				t.Errorf("on the disk are left %v", left)
			}
			if err := os.WriteFile(filepath.Join(disk, "room"), make([]byte, c.size/2), 0o666); err != nil {
				t.Errorf("the room is not given back: %v", err)
			}
		})
	}
}
