package input

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestContentSum: the sum covers each byte of a small file; of a large one it covers the first and
// last byte and notices an insertion.
func TestContentSum(t *testing.T) {
	sum := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "in")
		must.Do(t, os.WriteFile(path, b, 0o666))
		return must.Get((Files{FS: vfs.OS()}).contentSum(t.Context(), path, int64(len(b))))(t)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{1, 1000, sumWhole, sumWhole + 1, 3*sumWhole + 7} {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		was := sum(b)
		places := []int{0, size - 1}
		if size <= sumWhole {
			places = append(places, r.IntN(size), r.IntN(size))
		}
		for _, at := range places {
			b[at] ^= 1
			if sum(b) == was {
				t.Errorf("%d bytes: a change at %d goes unnoticed", size, at)
			}
			b[at] ^= 1
		}
		if at := size / 3; size > 1000 {
			if sum(append(append(slices.Clone(b[:at]), 'x'), b[at:size-1]...)) == was {
				t.Errorf("%d bytes: an insertion goes unnoticed", size)
			}
		}
	}
}
