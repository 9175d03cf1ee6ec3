package recommend

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// Sizes of the products: scores of queryRows rows and tileCols columns stay in the second-level cache until they have been
// used.
const (
	queryRows = 64
	tileCols  = 240
)

// index holds vectors of k numbers, the longest ones first, in tiles. The score of a query q and a vector v is qᵀv,
// and |qᵀv| ≤ ‖q‖·‖v‖: once the queries' heaps are full, tiles whose vectors are too short for them are skipped.
// A score is one chain of fused multiply-adds whatever the tile: the result is that of a full search, bit for bit.
type index struct {
	k     int
	tiles []tile
}

type tile struct {
	ids     []uint32 // ids of the vectors
	vectors panel.Factor
	longest float64 // largest norm of the vectors
}

// newIndex returns an index of the rows of v with the given ids. The first row of v has the id first.
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

// norm returns the Euclidean norm, without overflow.
func norm(x []float64) float64 { return blas64.Nrm2(blas64.Vector{N: len(x), Inc: 1, Data: x}) }

// below reports whether no computed score of a query and a vector of these norms reaches least. A chain of k
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

// search offers all vectors to the heap of each query. The queries are the rows of q, queryRows at most. without reports
// whether a vector is excluded for a query.
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

// offer adds the vectors of a tile that have high enough scores to a heap.
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

// largest is the largest magnitude of numbers that are multiplied: sums of their products do not overflow.
const largest = 1e150

// multiplies reports whether no number is larger than largest in magnitude, or not finite; otherwise x is such a number.
func multiplies(numbers []float64) (x float64, ok bool) {
	for _, x := range numbers {
		if !(math.Abs(x) <= largest) {
			return x, false
		}
	}
	return 0, true
}

// Item is a column (or, of a search for rows, a row) and its score.
type Item struct {
	Index uint32
	Score float64
}

// top keeps the first n of all Items offered, in the order of before. Once it has n, it is a heap whose root is the last Item.
type top struct {
	items []Item  // of capacity n
	from  float64 // length of the vector that the query was made of; 0: not known
	grid  float64 // scores are a tie if their nearest multiples of grid are the same; 0: if they are equal
}

// newHeaps returns a function that returns count empty heaps of n Items each, in memory that it reuses.
func newHeaps(n int) func(count int) []top {
	var heaps []top
	var items []Item
	return func(count int) []top {
		if len(heaps) < count {
			heaps, items = make([]top, count), make([]Item, count*n)
		}
		for i := range count {
			heaps[i] = top{items: items[i*n : i*n : (i+1)*n]}
		}
		return heaps[:count]
	}
}

// tie is the grid of scores, relative to the length of the vector that the query was made of: scores that differ by the
// rounding of the vectors, such as scores that are 0 by definition, are a tie on every machine.
const tie = 0x1p-36

// place returns a score in units of the grid, rounded; the score itself if the grid is 0.
func (t *top) place(score float64) float64 {
	if t.grid == 0 {
		return score
	}
	return math.Round(score / t.grid)
}

// before reports whether a comes before b: it has the larger score or, of a tie, the smaller index.
func (t *top) before(a, b Item) bool {
	if math.Abs(a.Score-b.Score) > t.grid {
		return a.Score > b.Score
	}
	x, y := t.place(a.Score), t.place(b.Score)
	return x > y || x == y && a.Index < b.Index
}

// least returns a score below which no Item is kept.
func (t *top) least() float64 {
	if len(t.items) < cap(t.items) {
		return math.Inf(-1)
	}
	return t.items[0].Score - t.grid
}

func (t *top) takes(x Item) bool {
	return len(t.items) < cap(t.items) || t.before(x, t.items[0])
}

func (t *top) add(x Item) {
	if len(t.items) < cap(t.items) {
		if t.items = append(t.items, x); len(t.items) == cap(t.items) {
			t.sort()
			slices.Reverse(t.items)
		}
		return
	}
	n, i := len(t.items), 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && t.before(t.items[down], t.items[down+1]) {
			down++
		}
		if t.before(t.items[down], x) {
			break
		}
		t.items[i] = t.items[down]
		i = down
	}
	t.items[i] = x
}

// sort puts the Items in order; nothing may be added after it.
func (t *top) sort() {
	slices.SortFunc(t.items, func(a, b Item) int {
		if t.before(a, b) {
			return -1
		}
		return 1 // no two Items are equal
	})
}

// segments are n vectors of k numbers, of which a window is in memory.
type segments struct {
	n     int64
	k     int
	read  func(first int64, rows *mat.Dense) error
	among []uint32 // the vectors that are searched, ascending; nil: all
	zeros bool     // vectors that are 0 are searched, too

	workers []*searcher
	npy.Window
	index *index // index of the vectors in memory; nil: not made yet
}

// rowsCached is the largest number of rows taken at a time if all vectors are in memory.
const rowsCached = 1 << 14

// plan divides the budget most, of which taken bytes are taken. left is the rest: half of it is for the vectors, and a
// quarter for some of the given number of queries, which take row bytes each.
func (s *segments) plan(most, taken, row, queries int64, workers int) (rows int, left int64, err error) {
	vector := int64(2*8*s.k + 48) // bytes of a vector itself and in an index
	l := budget.Process()
	l.Take("kept", taken)
	l.Take("searchers", int64(workers)*searcherBytes(s.k))
	if left, err = l.Left(most, 4*max(tileCols*vector, min(queries, queryRows)*row)+4<<20); err != nil {
		return 0, 0, err
	}
	s.Window = npy.Window{N: s.n, Most: left / 2 / vector, K: s.k, Read: s.load}
	rows = int(left / 4 / row)
	if s.Most >= s.n {
		rows = min(rows, rowsCached)
	}
	for range workers {
		s.workers = append(s.workers, newSearcher(s.k))
	}
	return rows, left, nil
}

// each calls f for one segment after the other, with the segment in memory and, if index is true, an index of it.
func (s *segments) each(ctx context.Context, index bool, f func() error) error {
	return s.Each(ctx, func(first int64, vectors *mat.Dense) error {
		if index && s.index == nil {
			s.index = newIndex(vectors, uint32(first), s.searched())
		}
		return f()
	})
}

func (s *segments) load(first int64, vectors *mat.Dense) error {
	s.index = nil
	if err := s.read(first, vectors); err != nil {
		return err
	}
	for i := range vectors.RawMatrix().Rows {
		if x, ok := multiplies(vectors.RawRowView(i)); !ok {
			return fmt.Errorf("vector %d has the number %v: scores need numbers up to %g", first+int64(i), x, largest)
		}
	}
	return nil
}

// searched returns the ids of those vectors in memory that are searched.
func (s *segments) searched() (ids []uint32) {
	n, _ := s.Rows.Dims()
	from, to := uint32(s.First), uint32(s.First+int64(n)-1)
	if s.among == nil {
		ids = make([]uint32, n)
		for i := range ids {
			ids[i] = from + uint32(i)
		}
	} else {
		a, _ := slices.BinarySearch(s.among, from)
		b, found := slices.BinarySearch(s.among, to)
		if found {
			b++
		}
		ids = slices.Clone(s.among[a:b])
	}
	if !s.zeros {
		ids = slices.DeleteFunc(ids, func(id uint32) bool { return norm(s.Rows.RawRowView(int(id-from))) == 0 })
	}
	return ids
}

// search finds the best vectors for each query, and puts them in order after the last segment.
func (s *segments) search(ctx context.Context, queries *mat.Dense, heaps []top, without func(query int, id uint32) bool) error {
	err := s.each(ctx, true, func() error {
		return s.parts(ctx, len(heaps), func(worker, from, to int) {
			s.index.search(s.workers[worker], queries.Slice(from, to, 0, s.k).(*mat.Dense), heaps[from:to], func(query int, id uint32) bool {
				return without(from+query, id)
			})
		})
	})
	if err != nil {
		return err
	}
	return s.parts(ctx, len(heaps), func(_, from, to int) {
		for i := from; i < to; i++ {
			heaps[i].sort()
		}
	})
}

// parts calls f with parts of n rows on all workers.
func (s *segments) parts(ctx context.Context, n int, f func(worker, from, to int)) error {
	parallel.Each(len(s.workers), (n+queryRows-1)/queryRows, func(worker, part int) {
		if ctx.Err() == nil {
			f(worker, part*queryRows, min(n, (part+1)*queryRows))
		}
	})
	return ctx.Err()
}
