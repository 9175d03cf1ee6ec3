package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
)

// write writes the store and publishes it.
func (g *ingestion) write(ctx context.Context) (err error) {
	g.meter.begin(StageWrite, g.spool.n)
	w, err := csr.Create(g.report.Store, csr.CreateOptions{
		FS: g.o.FS, Cols: g.pack.cols, Values: g.reading.stats.Values(), Transposed: g.pack.transposed,
		ShardSize: g.o.ShardSize, Source: g.source(), Staging: g.staging, Workers: g.plan.encoders,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // nothing after Commit
	rows := rowWriter{w: w, pack: g.pack, most: g.longestRow()}
	if g.report.Duplicates, err = g.walk(ctx, rows.add); err != nil {
		if me := (*MemoryError)(nil); errors.As(err, &me) {
			me.Budget, me.Need = g.o.Memory, g.o.Memory+2*rowCost*g.pack.cols
		}
		return err
	}
	if err := rows.flush(g.pack.rows); err != nil {
		return err
	}
	if err := g.writeIDs(ctx, w); err != nil {
		return err
	}
	g.report.SpilledBytes = g.spool.spilled.Load()
	if g.saver.saved {
		if err := g.saveCommit(w); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return w.Commit()
}

// saveCommit notes the fingerprint of the store that is about to be published:
// if it is there when the ingest is resumed, all is done.
func (g *ingestion) saveCommit(w *csr.Writer) (err error) {
	j := g.journal(stepCommit)
	if j.Fingerprint, err = w.Seal(); err != nil {
		return err
	}
	return j.write(g.scratch)
}

// rowCost is the bytes an entry of the row being put together takes here and
// in csr.Writer, growing included.
const rowCost = 64

// longestRow is how many entries of a row fit in half of what the sort used.
func (g *ingestion) longestRow() int {
	return int(max(csr.BlockNNZ, (g.plan.space-g.reading.held())/2/rowCost))
}

func (g *ingestion) writeIDs(ctx context.Context, w *csr.Writer) error {
	if g.reading.shape != nil {
		return nil
	}
	users, items := csr.RowAxis, csr.ColAxis
	if g.pack.transposed {
		users, items = items, users
	}
	if err := g.reading.users.write(ctx, g.scratch, w, users); err != nil {
		return err
	}
	return g.reading.items.write(ctx, g.scratch, w, items)
}

// source is what the manifest says about where the matrix came from. It must
// depend on nothing but the inputs and the options that shape the matrix.
func (g *ingestion) source() map[string]any {
	s := g.origin()
	s["format"] = g.reading.format
	s["entries"] = g.spool.n
	s["duplicates"] = g.o.Duplicates.String()
	if g.report.BadLines > 0 {
		s["bad_lines"] = g.report.BadLines
	}
	return s
}

// rowWriter puts entries in ascending order together to rows.
type rowWriter struct {
	w    *csr.Writer
	pack keyPacker
	most int // entries of a row the budget allows
	row  int64
	cols []uint32
	vals []float64
}

func (r *rowWriter) add(part []entry) error {
	for len(part) > 0 {
		row, _ := r.pack.stored(part[0].key)
		if row != r.row {
			if err := r.flush(row); err != nil {
				return err
			}
		}
		n := r.pack.inRow(part)
		had := len(r.cols)
		if had+n > r.most {
			return &MemoryError{What: fmt.Sprintf("row %d of the store has more than %d entries", row, r.most)}
		}
		r.cols, r.vals = slices.Grow(r.cols, n)[:had+n], slices.Grow(r.vals, n)[:had+n]
		cols, vals := r.cols[had:], r.vals[had:]
		mask := uint32(1<<r.pack.colBits - 1)
		for i, e := range part[:n] {
			cols[i], vals[i] = uint32(e.key)&mask, e.val
		}
		part = part[n:]
	}
	return nil
}

// flush writes the row being put together and the empty rows up to next.
func (r *rowWriter) flush(next int64) error {
	if len(r.cols) > 0 {
		if err := r.w.AppendRow(r.cols, r.vals); err != nil {
			return err
		}
		r.cols, r.vals = r.cols[:0], r.vals[:0]
		r.row++
	}
	if next > r.row {
		if err := r.w.AppendEmptyRows(next - r.row); err != nil {
			return err
		}
		r.row = next
	}
	return nil
}
