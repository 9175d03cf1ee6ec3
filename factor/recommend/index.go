package recommend

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
)

// Sizes of the products: scores of queryRows rows and tileCols columns are in the second-level cache until they
// have been looked at.
const (
	queryRows = 64
	tileCols  = 240
)

// index holds vectors of k numbers, the longest ones first, in tiles. The score of a query q and a vector v is qᵀv,
// and |qᵀv| ≤ ‖q‖·‖v‖: once the queries' heaps are full, tiles whose vectors are too short for them are passed over.
// A score is one chain of fused multiply-adds whatever the tile: what is found is that of a full search, bit for bit.
type index struct {
	k     int
	tiles []tile
}

type tile struct {
	ids     []uint32 // of its vectors
	vectors panel.Factor
	longest float64 // norm
}

// newIndex makes an index of the rows of v with these numbers, the first row being number first.
func newIndex(v *mat.Dense, first uint32, ids []uint32) *index {
	_, k := v.Dims()
	x := &index{k: k}
	norms, byNorm := make([]float64, len(ids)), make([]int, len(ids))
	for i, id := range ids {
		norms[i], byNorm[i] = norm(v.RawRowView(int(id-first))), i
	}
	slices.SortFunc(byNorm, func(a, b int) int { return cmp.Or(cmp.Compare(norms[b], norms[a]), cmp.Compare(a, b)) })
	for part := range slices.Chunk(byNorm, tileCols) {
		t := tile{longest: norms[part[0]]}
		rows := mat.NewDense(len(part), k, nil)
		for i, at := range part {
			t.ids = append(t.ids, ids[at])
			rows.SetRow(i, v.RawRowView(int(ids[at]-first)))
		}
		t.vectors = panel.Pack(1, rows.RawMatrix())
		x.tiles = append(x.tiles, t)
	}
	return x
}

// norm is that of Euclid, without overflow.
func norm(x []float64) float64 { return blas64.Nrm2(blas64.Vector{N: len(x), Inc: 1, Data: x}) }

// below tells whether no computed score of a query and a vector of these norms reaches the least one. A chain of k
// multiply-adds is off by at most k·ε/2·‖q‖·‖v‖ (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), and a norm by
// as much; what underflow adds is less than the smallest number that counts.
func (x *index) below(query, longest, least float64) bool {
	const underflow = 0x1p-960
	return query*longest*(1+4*float64(x.k+8)*0x1p-52)+underflow < least
}

type searcher struct {
	queries []float64
	scores  []float64
	who     []int
	norms   []float64
}

func newSearcher(k int) *searcher {
	return &searcher{queries: make([]float64, queryRows*k), scores: make([]float64, queryRows*tileCols), who: make([]int, queryRows), norms: make([]float64, queryRows)}
}

func searcherBytes(k int) int64 { return int64(8 * queryRows * (k + tileCols + 2)) }

// search offers all vectors to the heap of each query, which are the rows of q, queryRows at most. without tells
// which are not for a query.
func (x *index) search(s *searcher, q *mat.Dense, heaps []top, without func(query int, id uint32) bool) {
	n, k := q.Dims()
	for i := range n {
		copy(s.queries[i*k:], q.RawRowView(i))
		s.who[i], s.norms[i] = i, norm(q.RawRowView(i))
		heaps[i].grid = max(s.norms[i], heaps[i].from) * tie
	}
	for _, t := range x.tiles {
		for i := 0; i < n; {
			if !x.below(s.norms[i], t.longest, heaps[s.who[i]].least()) {
				i++
				continue
			}
			n--
			copy(s.queries[i*k:(i+1)*k], s.queries[n*k:(n+1)*k])
			s.who[i], s.norms[i] = s.who[n], s.norms[n]
		}
		if n == 0 {
			return
		}
		wide := len(t.ids)
		scores := s.scores[:n*wide]
		clear(scores)
		panel.AddProduct(
			blas64.General{Rows: n, Cols: wide, Stride: wide, Data: scores},
			blas64.General{Rows: n, Cols: k, Stride: k, Data: s.queries[:n*k]}, t.vectors)
		for i := range n {
			t.offer(scores[i*wide:(i+1)*wide], s.who[i], &heaps[s.who[i]], without)
		}
	}
}

// offer adds those of a tile that have high enough scores to a heap.
func (t *tile) offer(scores []float64, query int, heap *top, without func(int, uint32) bool) {
	least := heap.least()
	for j := 0; j < len(scores); j++ {
		for j+4 <= len(scores) && scores[j] < least && scores[j+1] < least && scores[j+2] < least && scores[j+3] < least {
			j += 4
		}
		if j >= len(scores) {
			return
		}
		if scores[j] < least {
			continue
		}
		item := Item{t.ids[j], scores[j]}
		if heap.takes(item) && !without(query, item.Index) {
			heap.add(item)
			least = heap.least()
		}
	}
}

// largest is the size up to which numbers are multiplied: sums of their products are numbers.
const largest = 1e150

// multiplies tells whether all numbers are so small, and finite; x is one that is not.
func multiplies(numbers []float64) (x float64, ok bool) {
	for _, x := range numbers {
		if !(math.Abs(x) <= largest) {
			return x, false
		}
	}
	return 0, true
}
