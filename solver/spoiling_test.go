package solver_test

import (
	"errors"
	"math"
	"sync"

	"github.com/gdsvd/gdsvd/solver"
)

// errNoRoom is what a Space gives when its Limit is reached.
var errNoRoom = errors.New("no room")

// spoiling is a solver.Space in memory that spoils what is given back: a reader that goes
// on using it will notice. It panics when something is given back twice, or
// dropped that is not there.
type spoiling struct {
	Limit int // blocks that can be made; 0: any number

	mu      sync.Mutex
	blocks  map[*float64][]float64
	Made    int // blocks
	Fetched int // float64s that were said to be gone through next
	Dropped int // and to have been passed
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

// Holds tells whether x is a part of what Make has returned.
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

// Blocks is the number of blocks that have not been given back.
func (s *spoiling) Blocks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blocks)
}
