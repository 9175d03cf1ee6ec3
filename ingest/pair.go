package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// A part counts the entries that go to one of two stores: those held out of the matrix, or the rest.
type part struct {
	held  bool
	nnz   int64
	stats csr.ValueStats
}

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

// holdOut determines which entries are held out, and counts them.
func (g *sifted) holdOut(ctx context.Context) error {
	if err := g.room(g.left.Cols/4, "two bits for each column have to be at hand"); err != nil {
		return err
	}
	if err := g.prepare(ctx); err != nil {
		return err
	}
	train, test := &part{}, &part{held: true}
	seen := make([]uint64, (g.left.Cols+63)/64) // columns with entries for training
	filled := int64(0)                          // rows with entries for training
	rows, cols := int64(0), make([]uint64, len(seen))
	g.meter.Extend(g.spool.N)
	err := g.splitRows(ctx, func(held []bool, _ int64, c []uint32, v []float64) error {
		some := false
		for i, h := range held {
			p := train
			cols[c[i]/64] |= 1 << (c[i] % 64)
			if h {
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
	g.train, g.test = train, test
	h := &Heldout{Store: g.report.Store + TestSuffix, Rows: rows - filled}
	for i, w := range cols {
		h.Cols += int64(bits.OnesCount64(w &^ seen[i]))
	}
	h.Rows, h.Cols = csr.Exchanged(g.pack.Transposed, h.Rows, h.Cols)
	if k := g.o.Holdout.kind(); k == heldout.Time || k == heldout.After {
		h.From = time.UnixMicro(int64(g.split.Cut)).UTC()
	}
	g.report.Heldout = h
	return nil
}

// splitRows is matrixRows that also passes which entries of each row are held out.
func (g *sifted) splitRows(ctx context.Context, emit func(held []bool, row int64, cols []uint32, vals []float64) error) error {
	s := g.split
	if s.Kind == heldout.Random {
		s.Rows = g.hashIDs(true)
		defer s.Rows.Stop()
	}
	return g.matrixRows(ctx, func(row int64, cols []uint32, vals []float64, times []format.Time) error {
		held, err := s.Mark(row, cols, times)
		if err != nil {
			return err
		}
		return emit(held, row, cols, vals)
	})
}

// stagePair stages the store of the entries held out; nil if none are held out. A process that dies while it publishes a pair
// leaves half of it, which the ingest that is resumed replaces.
func stagePair(o request, out string) (*vfs.Staging, error) {
	if o.Holdout.kind() == heldout.None {
		return nil, nil
	}
	j, err := readJournal(&scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}, scratch.Journal)
	half := err == nil && j.Test != ""
	if half && !o.Resume && !o.Force {
		return nil, &csr.UnfinishedError{What: "ingest", Dir: out + SpoolSuffix}
	}
	return csr.Stage(o.FS, out+TestSuffix, o.Force || half)
}

// hashIDs returns the sequence of the hashes of the ids of a stored side that are left.
func (g *sifted) hashIDs(rows bool) *heldout.Hashes {
	var seq iter.Seq2[uint64, error] = func(yield func(uint64, error) bool) {
		var digits []byte
		err := g.eachLeft(rows, func(id *ids.ID) error {
			text := id.Text
			if !g.isText(rows) {
				digits = strconv.AppendInt(digits[:0], id.Int, 10)
				text = digits
			}
			if !yield(heldout.Hash(text), nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(0, err)
		}
	}
	return heldout.NewHashes(seq)
}

func (g *ordered) storedAxis(rows bool) *ids.Axis {
	a, _ := csr.Exchanged(g.pack.Transposed == rows, g.users, g.items)
	return a
}

func (g *ordered) isText(rows bool) bool { return g.hasIDs(rows) && g.storedAxis(rows).Text }

// hasIDs reports whether a stored side has ids; otherwise its ids are the indices.
func (g *ordered) hasIDs(rows bool) bool { return g.shape == nil || g.storedAxis(rows).Any() }

var errStop = errors.New("stopped")

// eachLeft calls visit with the ids of a stored side that are left, in the order of the matrix.
func (g *sifted) eachLeft(rows bool, visit func(*ids.ID) error) error {
	n := int64(0)
	one := func(id *ids.ID) error {
		n++
		if g.sieve != nil && (rows && !g.sieve.HasRow(n-1) || !rows && !g.sieve.HasCol(n-1)) {
			return nil
		}
		return visit(id)
	}
	if g.hasIDs(rows) {
		return g.storedAxis(rows).Each(g.scratch, one)
	}
	length := g.pack.Cols
	if rows {
		length = g.pack.Rows
	}
	for id := (ids.ID{}); id.Int < length; id.Int++ {
		if err := one(&id); err != nil {
			return err
		}
	}
	return nil
}

// prepare collects the data beside an entry itself that decide whether it is held out.
func (g *sifted) prepare(ctx context.Context) error {
	s := g.split
	switch {
	case s.Kind == heldout.After:
		s.Cut = format.Time(g.o.Holdout.After.UnixMicro())
	case s.Kind == heldout.Time:
		return g.findCut(ctx)
	case s.Kind == heldout.Random:
		if err := g.room(8*g.left.Cols, "the hashes of the ids of all columns have to be at hand"); err != nil {
			return err
		}
		h := g.hashIDs(false)
		defer h.Stop()
		s.Cols = make([]uint64, g.left.Cols)
		for c := range s.Cols {
			var err error
			if s.Cols[c], err = h.At(int64(c)); err != nil {
				return err
			}
		}
	case s.Kind == heldout.Last && s.Transposed:
		if err := g.room((24+16*s.N)*g.left.Cols, fmt.Sprintf("the times of the newest %d entries of all columns have to be at hand", s.N)); err != nil {
			return err
		}
		s.Newest = make([]heldout.NewestOnes, g.left.Cols)
		g.meter.Extend(g.spool.N)
		return g.places(ctx, func(part []extsort.Entry, times []format.Time) error {
			for i, e := range part {
				row, col := g.left.Stored(e.Key)
				s.Newest[col].Add(heldout.Moment{Time: times[i], At: row}, s.N)
			}
			return nil
		})
	}
	return nil
}

const cutBins = 1 << 16

// findCut sets Cut to the time of the oldest entry to hold out: the newest entries, as many as do not exceed the fraction. It
// counts entries in bins of time, then divides the bin where the count exceeds the fraction, down to bins of one moment.
func (g *sifted) findCut(ctx context.Context) error {
	var all span
	pass := func(visit func(t format.Time)) error {
		g.meter.Extend(g.spool.N)
		return g.places(ctx, func(_ []extsort.Entry, times []format.Time) error {
			for _, t := range times {
				visit(t)
			}
			return nil
		})
	}
	if err := pass(func(t format.Time) { all.add(span{1, t, t}) }); err != nil {
		return err
	}
	want := int64(g.split.Fraction * float64(all.N))
	// Invariant: at most want entries have times from hi on, more than want have times from lo on.
	for lo, hi := all.Least, all.Most+1; ; {
		width := (hi-lo)/cutBins + 1
		var bins [cutBins]int64
		behind, next := int64(0), hi
		if hi <= all.Most {
			next = all.Most
		}
		err := pass(func(t format.Time) {
			switch {
			case t >= hi:
				behind++
				next = min(next, t)
			case t >= lo:
				bins[(t-lo)/width]++
			}
		})
		if err != nil {
			return err
		}
		b := int64(cutBins)
		for b > 0 && behind+bins[b-1] <= want {
			b--
			behind += bins[b]
		}
		if b > 0 && width > 1 { // the bin before b together with the later entries exceeds want
			lo, hi = lo+format.Time(b-1)*width, min(hi, lo+format.Time(b)*width)
			continue
		}
		for b < cutBins && bins[b] == 0 {
			b++
		}
		g.split.Cut = next
		if b < cutBins {
			g.split.Cut = lo + format.Time(b)*width
		}
		return nil
	}
}
