package tallskinny

import (
	"gonum.org/v1/gonum/mat"
)

// Space is solver.Space.
type Space interface {
	Make(numbers int) ([]float64, error)
	Fetch(x []float64)
	Evict(x []float64)
	Free(x []float64)
	Err() error
}

// TileRows is the number of rows that one loop over vectors covers before it says
// that it has passed them. Sums are formed tile by tile. More rows would be no faster, and what is in memory
// of many vectors is in proportion.
const TileRows = 1 << 12

// EachTile calls f with the tiles of n rows in order, a loop that goes over what u says.
func (a *Arena) EachTile(n int, u uses, f func(from, to int)) {
	over := a.Over(n, u)
	over.Fetch(0, min(n, TileRows))
	for from := 0; from < n; from += TileRows {
		if len(over.planes) > 0 {
			a.endEarly()
		}
		to := min(n, from+TileRows)
		over.Fetch(to, min(n, to+TileRows))
		f(from, to)
		over.Evict(from, to)
		a.tell()
	}
}

func Width(x *mat.Dense) int { _, l := x.Dims(); return l }

// Bytes returns those of count vectors of length n.
func Bytes(n, count int) int64 { return 8 * int64(n) * int64(count) }
