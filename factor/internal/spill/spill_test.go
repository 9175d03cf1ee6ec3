package spill_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver"
)

var _ solver.Space = (*spill.Dir)(nil)

func TestBlocksKeepWhatIsInThem(t *testing.T) {
	dir := t.TempDir()
	d := spill.New(vfs.OS(), dir)
	var blocks [][]float64
	for i, n := range []int{1, 511, 512, 513, 100000} {
		x := must.Get(d.Make(n))(t)
		if len(x) != n {
			t.Fatalf("%d numbers of %d", len(x), n)
		}
		for j := range x {
			if x[j] != 0 {
				t.Fatal("not zero at first")
			}
			x[j] = float64(i*n + j)
		}
		blocks = append(blocks, x)
	}
	d.Free(blocks[2])
	blocks[2] = nil
	d.Evict(make([]float64, 1000)) // not a block of d
	for i, x := range blocks {
		d.Evict(x)
		for j, v := range x {
			if v != float64(i*len(x)+j) {
				t.Fatalf("block %d of %d: entry %d is %v", i, len(x), j, v)
			}
		}
		if len(x) > 600 {
			d.Evict(x[7:600])
		}
	}
	if most, want := d.Most(), int64(8*(1+511+512+513+100000)); most != want {
		t.Errorf("at most %d bytes, want %d", most, want)
	}
	if err := errors.Join(d.Err(), d.Close()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	d := spill.New(&vfstest.FaultFS{Inject: vfstest.DiskFull(1 << 20)}, dir)
	must.Get(d.Make(1 << 16))(t)
	_, err := d.Make(1 << 17)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "1.0 MiB for vectors, with 0.5 MiB") {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestLostWrites: a write error of the system is reported by Err and Close, also after
// the block was freed.
func TestLostWrites(t *testing.T) {
	bad := errors.New("input/output error")
	d := spill.New(&vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpFailed, 0, bad)}, t.TempDir())
	x := must.Get(d.Make(10))(t)
	d.Free(x)
	if err := d.Err(); !errors.Is(err, bad) {
		t.Error(err)
	}
	if err := d.Close(); !errors.Is(err, bad) {
		t.Error(err)
	}
}
