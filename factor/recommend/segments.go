package recommend

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

// segments are n vectors of k numbers, some of which are in memory at a time.
type segments struct {
	n     int64
	k     int
	read  func(first int64, rows *mat.Dense) error
	among []uint32 // the vectors that are searched, ascending; nil: all
	zeros bool     // those that are 0 are searched, too

	size    int // of a segment
	workers []*searcher

	buffer  *mat.Dense // for the vectors of a segment
	vectors *mat.Dense // those in memory, from first on; nil: none
	first   int64
	index   *index // of these
}

// rowsCached is how many rows are taken at a time where all vectors are in memory.
const rowsCached = 1 << 14

// plan divides a budget, of which something is taken: half of the rest is for the vectors, and a quarter for rows
// that take row bytes each. left is the rest.
func (s *segments) plan(most, taken, row int64, workers int) (rows int, left int64, err error) {
	vector := int64(2*8*s.k + 48) // itself, and what an index has of it
	var l budget.Ledger
	l.TakeOutside("runtime", budget.Runtime)
	l.Take("garbage", budget.Garbage)
	l.Take("kept", taken)
	l.Take("searchers", int64(workers)*searcherBytes(s.k))
	if left, err = l.Left(most, 4*max(tileCols*vector, queryRows*row)+4<<20); err != nil {
		return 0, 0, err
	}
	s.size = int(min(s.n, left/2/vector))
	rows = int(left / 4 / row)
	if int64(s.size) == s.n {
		rows = min(rows, rowsCached)
	}
	for range workers {
		s.workers = append(s.workers, newSearcher(s.k))
	}
	return rows, left, nil
}

// each calls f with one segment in memory after the other, with an index of it if that is wanted.
func (s *segments) each(ctx context.Context, index bool, f func() error) error {
	for first := int64(0); first < s.n; first += int64(s.size) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.load(first, index); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (s *segments) load(first int64, index bool) error {
	if s.vectors == nil || s.first != first {
		n := int(min(s.n-first, int64(s.size)))
		if s.buffer == nil {
			s.buffer = mat.NewDense(n, s.k, nil)
		}
		s.vectors, s.index = nil, nil
		vectors := s.buffer.Slice(0, n, 0, s.k).(*mat.Dense)
		if err := s.read(first, vectors); err != nil {
			return err
		}
		for i := range n {
			if x, ok := multiplies(vectors.RawRowView(i)); !ok {
				return fmt.Errorf("vector %d has the number %v: scores need numbers up to %g", first+int64(i), x, largest)
			}
		}
		s.vectors, s.first = vectors, first
	}
	if index && s.index == nil {
		s.index = newIndex(s.vectors, uint32(s.first), s.searched())
	}
	return nil
}

// searched are the vectors in memory that are searched.
func (s *segments) searched() (ids []uint32) {
	n, _ := s.vectors.Dims()
	from, to := uint32(s.first), uint32(s.first+int64(n)-1)
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
		ids = slices.DeleteFunc(ids, func(id uint32) bool { return norm(s.vectors.RawRowView(int(id-from))) == 0 })
	}
	return ids
}

// search finds the best vectors for each query, and puts them in order when it has been through all of them.
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
