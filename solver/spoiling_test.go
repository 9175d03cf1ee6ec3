package solver_test

import (
	"errors"
	"math"
	"sync"

	"github.com/gdsvd/gdsvd/solver"
)

// errNoRoom is the error of a Space whose Limit is reached.
var errNoRoom = errors.New("no room")

// spoiling is a solver.Space in memory that overwrites freed blocks with NaN, so that later reads
// of them show. It panics if a block is freed twice.
type spoiling struct {
	Limit int // blocks that can be made; 0: any number

	mu      sync.Mutex
	blocks  map[*float64][]float64
	Made    int // blocks made
	Fetched int // float64s that were fetched
	Dropped int // float64s that were evicted
}

var _ solver.Space = (*spoiling)(nil)

// Make implements solver.Space.
func (s *spoiling) Make(numbers int) ([]float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Made++; s.Limit > 0 && s.Made > s.Limit {
		return nil, errNoRoom
	}
	if s.blocks == nil {
		s.blocks = map[*float64][]float64{}
	}
	x := make([]float64, numbers)
	s.blocks[&x[0]] = x
	return x, nil
}

// Holds reports whether x is a block that Make has returned and that is not freed.
func (s *spoiling) Holds(x []float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.blocks[&x[0]]
	return ok
}

// Fetch implements solver.Space.
func (s *spoiling) Fetch(x []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Fetched += len(x)
}

// Evict implements solver.Space.
func (s *spoiling) Evict(x []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Dropped += len(x)
}

// Free implements solver.Space.
func (s *spoiling) Free(x []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blocks[&x[0]]
	if !ok {
		panic("given back twice")
	}
	delete(s.blocks, &x[0])
	for i := range b {
		b[i] = math.NaN()
	}
}

// Err implements solver.Space.
func (s *spoiling) Err() error { return nil }

// Blocks returns the number of blocks that are not freed.
func (s *spoiling) Blocks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blocks)
}
