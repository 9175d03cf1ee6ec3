package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Heldout is what a Holdout has done.
type Heldout struct {
	Store       string    `json:"store"`
	NNZ         int64     `json:"nnz"`
	Bytes       int64     `json:"bytes"`
	Fingerprint string    `json:"fingerprint"`
	From        time.Time `json:"from,omitzero"` // of holdoutTime and holdoutAfter: the moment from which on entries are held out
	Rows        int64     `json:"empty_rows"`    // of the user's matrix: how many have all their entries held out
	Cols        int64     `json:"empty_cols"`
}

// A part of a matrix goes to a store of its own: what is held out of it, or the rest.
type part struct {
	held  bool
	nnz   int64
	stats csr.ValueStats
}

// take leaves the entries of a part in a row.
func (p *part) take(held []bool, cols []uint32, vals []float64) ([]uint32, []float64) {
	n := 0
	for i, h := range held {
		if h == p.held {
			cols[n], vals[n] = cols[i], vals[i]
			n++
		}
	}
	return cols[:n], vals[:n]
}

// holdOut settles which entries are held out, and counts.
func (g *ingestion) holdOut(ctx context.Context) error {
	if err := g.room(g.left.Cols/4, "two bits for each column have to be at hand"); err != nil {
		return err
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	train, test := &part{}, &part{held: true}
	seen := make([]uint64, (g.left.Cols+63)/64) // columns with entries for training
	filled := int64(0)                          // rows with some
	rows, cols := int64(0), make([]uint64, len(seen))
	g.meter.Extend(g.spool.N)
	n, err := g.splitRows(ctx, func(held []bool, _ int64, c []uint32, v []float64) error {
		some := false
		for i, h := range held {
			p := train
			if cols[c[i]/64] |= 1 << (c[i] % 64); h {
				p = test
			} else {
				some = true
				seen[c[i]/64] |= 1 << (c[i] % 64)
			}
			p.nnz++
			p.stats.Add(v[i])
		}
		rows++
		if some {
			filled++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if train.nnz == 0 || test.nnz == 0 {
		return fmt.Errorf("hold out %v: %d of %d entries would be held out; %w would be left in one of the stores", g.o.Holdout, test.nnz, test.nnz+train.nnz, format.ErrEmpty)
	}
	g.report.Duplicates = n
	g.train, g.test = train, test
	h := &Heldout{Store: g.report.Store + TestSuffix, Rows: rows - filled}
	for i, w := range cols {
		h.Cols += int64(bits.OnesCount64(w &^ seen[i]))
	}
	if g.pack.Transposed {
		h.Rows, h.Cols = h.Cols, h.Rows
	}
	if k := g.o.Holdout.kind; k == holdoutTime || k == holdoutAfter {
		h.From = time.UnixMicro(int64(g.split.cut)).UTC()
	}
	g.report.Heldout = h
	return nil
}

// splitRows is matrixRows with what is held out.
func (g *ingestion) splitRows(ctx context.Context, emit func(held []bool, row int64, cols []uint32, vals []float64) error) (duplicates int64, err error) {
	s := g.split
	if s.kind == holdoutRandom {
		s.rows = g.hashIDs(true)
		defer s.rows.stop()
	}
	return g.matrixRows(ctx, func(row int64, cols []uint32, vals []float64, times []format.Time) error {
		held, err := s.mark(row, cols, times)
		if err != nil {
			return err
		}
		return emit(held, row, cols, vals)
	})
}

// stagePair stages the store of what is held out, unless nothing is. Half a pair that a process has
// left that died while it published one is replaced by the ingest that goes on from there.
func stagePair(o Options, out string) (*vfs.Staging, error) {
	if o.Holdout.kind == holdoutNone {
		return nil, nil
	}
	j, err := readJournal(&scratch.Dir{FS: o.FS, Name: out + SpoolSuffix})
	half := err == nil && j.Test != ""
	if half && !o.Resume && !o.Force {
		return nil, &csr.UnfinishedError{What: "ingest", Dir: out + SpoolSuffix}
	}
	return csr.Stage(o.FS, out+TestSuffix, o.Force || half)
}

// writePair writes both stores and publishes them, that of what is held out first. Both are complete and a
// journal says what they are before the first one is published: an ingest that dies in between is unfinished.
func (g *ingestion) writePair(ctx context.Context) (err error) {
	train, err := g.fill(ctx, g.train, g.staging, g.source())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, train.Abort()) }() // nothing after Commit
	fingerprint, err := train.Seal()
	if err != nil {
		return err
	}
	source := g.source()
	source[trainKey] = fingerprint
	test, err := g.fill(ctx, g.test, g.testStaging, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, test.Abort()) }()
	if err := g.saveCommit(train, test); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := test.Commit(); err != nil {
		return err
	}
	return train.Commit()
}

// trainKey is the name of the fingerprint, in the source of a store of what is held out, of the store with the rest.
const trainKey = "held_out_of"

// describePair completes the report on the store of what is held out of a finished one. It is fs.ErrNotExist
// if there is none, or one of another store.
func (g *ingestion) describePair() error {
	if g.o.Holdout.kind == holdoutNone {
		return nil
	}
	name := g.report.Store + TestSuffix
	s, err := csr.Open(name, csr.OpenOptions{FS: g.o.FS})
	if err != nil {
		return fmt.Errorf("open the store of what is held out: %w", err)
	}
	if g.report.Heldout == nil {
		g.report.Heldout = &Heldout{}
	}
	h := g.report.Heldout
	h.Store, h.NNZ, h.Bytes, h.Fingerprint = name, s.NNZ(), s.Size(), s.Fingerprint()
	if of := s.Manifest().Source[trainKey]; of != g.report.Fingerprint {
		return errors.Join(&fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is held out of another store: %w", fs.ErrNotExist)}, s.Close())
	}
	return s.Close()
}
