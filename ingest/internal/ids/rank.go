package ids

import (
	"bytes"
	"context"
	"errors"
	"math/bits"

	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// rank numbers the ids of lists, writes each id once to names, and sorts the
// ranks by generation and temporary id.
func (a *Axis) rank(ctx context.Context, s *scratch.Dir, lists []List, b extsort.Budget, held func() int64, m Meter) error {
	b.Run, b.First = max(b.Run/4, 1), max(b.First/4, 1)
	b.Keep, b.FanIn = b.Space/16, max(2, b.FanIn/4)
	spool := extsort.New(b, s, false, held)
	w, err := newList(s, "names", a.Text)
	if err != nil {
		return err
	}
	var last ID
	err = mergeLists(s, ctx, lists, m, func(r *ID) error {
		if a.N == 0 || last.Int != r.Int || !bytes.Equal(last.Text, r.Text) {
			a.N++
			if a.N > maxIDs {
				return errTooMany()
			}
			last.Int, last.Text, last.gen, last.temp = r.Int, append(last.Text[:0], r.Text...), r.gen, r.temp
			if err := w.add(&last); err != nil {
				return err
			}
		}
		return spool.Add([]uint64{uint64(r.gen)<<32 | uint64(r.temp)}, []float64{float64(a.N - 1)})
	})
	if err != nil {
		return errors.Join(err, w.f.Close())
	}
	if a.names, err = w.endPassing(); err != nil {
		return err
	}
	a.ranks, err = newRankReader(ctx, spool, 32+bits.Len(uint(len(a.closed))))
	return err
}

// A rankReader gives the ranks of one generation after the other.
type rankReader struct {
	spool *extsort.Spool
	m     *extsort.Merger
	size  int64 // bytes held
}

func newRankReader(ctx context.Context, s *extsort.Spool, keyBits int) (*rankReader, error) {
	by := extsort.Order{KeyBits: keyBits}
	err := s.Finish()
	if err == nil {
		err = s.Sort(ctx, 1, nil, by, func(int) {})
	}
	if err == nil {
		err = s.Reduce(ctx, by, func() error { return nil }, func(int) {})
	}
	if err != nil {
		return nil, err
	}
	m, err := s.Merge(by)
	if err != nil {
		return nil, err
	}
	return &rankReader{spool: s, m: m, size: s.MergeBytes()}, nil
}

// next gives the ranks of the next n temporary ids, which begin generation gen.
func (r *rankReader) next(gen int, n int64) ([]uint32, error) {
	ranks := make([]uint32, n)
	buf := make([]extsort.Entry, extsort.BlockEntries)
	for at := int64(0); at < n; {
		k, err := r.m.Read(buf[:min(int64(len(buf)), n-at)])
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return nil, scratch.ErrDamaged
		}
		for _, e := range buf[:k] {
			if e.Key != uint64(gen)<<32|uint64(at) {
				return nil, scratch.ErrDamaged
			}
			ranks[at] = uint32(e.Val)
			at++
		}
	}
	return ranks, nil
}

func (r *rankReader) close() error { return errors.Join(r.m.Close(), r.spool.Drop()) }
