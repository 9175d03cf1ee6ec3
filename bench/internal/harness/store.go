package harness

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// Store is what is known of a store to measure with.
type Store struct {
	Path            string
	Rows, Cols, NNZ int64
	Bytes           int64
	Decoded         int64     // bytes
	Sigma           []float64 // the true ones; nil if they are not known
	Shards          []string  // its files, but for the small ones
}

// OpenStore looks at a store. One of which fewer than known true values are there is an error.
func OpenStore(path string, known int) (_ *Store, err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := &Store{Path: path, Rows: s.Rows(), Cols: s.Cols(), NNZ: s.NNZ(), Bytes: s.Size()}
	truth, err := s.Truth()
	if err != nil {
		return nil, err
	}
	if truth != nil {
		d.Sigma = truth.Sigma
	}
	if len(d.Sigma) < known {
		return nil, fmt.Errorf("%s: %d of its singular values are known, %d are needed", path, len(d.Sigma), known)
	}
	for _, shard := range s.Manifest().Shards {
		d.Shards = append(d.Shards, filepath.Join(path, shard.Name))
	}
	for i := range s.NumBlocks() {
		b := s.Block(i)
		d.Decoded += s.DecodedSize(int64(b.Rows), int64(b.NNZ))
	}
	return d, nil
}

// Forget drops the store from the page cache, so that who reads it next is charged for it.
func (s *Store) Forget() error { return cgroup.Forget(s.Shards...) }
