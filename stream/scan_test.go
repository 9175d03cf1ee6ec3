package stream

import (
	"math"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
)

// TestScanValues checks that a scan has the values of the store at any norm, with and without a table.
func TestScanValues(t *testing.T) {
	for _, size := range []float64{1, 1e-200, 1e60, 1e300} {
		for _, different := range []int{3, 700} {
			rows := make([][]csrtest.Entry, 700)
			for i := range rows {
				rows[i] = []csrtest.Entry{{Col: uint32(i % 7), Val: size * float64(1+i%different)}}
			}
			store := csrtest.Build(t, 7, rows, csr.CreateOptions{})
			seen := 0
			err := Scan(t.Context(), store, Options{Memory: 256 << 20, Workers: 2}, func(int, *csr.Block) error { return nil }, func(_ int, b *csr.Block) error {
				for i := range b.Rows() {
					at := b.RowPtr[i]
					got := math.NaN()
					switch {
					case len(b.Val) > 0:
						got = b.Val[at]
					case len(b.Code) > 0:
						got = b.Table[b.Code[at]]
					}
					if want := rows[seen][0].Val; got != want {
						t.Fatalf("row %d: %v, want %v", seen, got, want)
					}
					seen++
				}
				return nil
			})
			if err != nil || seen != len(rows) {
				t.Errorf("%v: %d rows", err, seen)
			}
		}
	}
}

// TestScanBlocks checks that a scan hands out whole blocks: with parts, each worker would wait for earlier parts.
func TestScanBlocks(t *testing.T) {
	rows := make([][]csrtest.Entry, 6000)
	for i := range rows {
		for j := range 60 {
			rows[i] = append(rows[i], csrtest.Entry{Col: uint32(j), Val: float64(i%5 + 1)})
		}
	}
	store := csrtest.Build(t, 60, rows, csr.CreateOptions{})
	if p := parts(store.NumBlocks(), 360000); p < 2 || store.NumBlocks() < 2 {
		t.Fatalf("%d blocks of %d parts: passes have none of more", store.NumBlocks(), p)
	}
	pieces := 0
	err := Scan(t.Context(), store, Options{Workers: 2}, func(int, *csr.Block) error { return nil }, func(int, *csr.Block) error {
		pieces++
		return nil
	})
	if err != nil || pieces != store.NumBlocks() {
		t.Errorf("%d pieces of %d blocks: %v", pieces, store.NumBlocks(), err)
	}
}
