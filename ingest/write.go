package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
)

// write writes the store and publishes it.
func (g *ingestion) write(ctx context.Context) (err error) {
	g.meter.begin(StageWrite, g.spool.N)
	w, err := csr.Create(g.report.Store, csr.CreateOptions{
		FS: g.o.FS, Cols: g.pack.Cols, Values: g.reading.stats.Values(), Transposed: g.pack.Transposed,
		ShardSize: g.o.ShardSize, Source: g.source(), Staging: g.staging, Workers: g.plan.encoders,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // nothing after Commit
	rows := rowWriter{w: w, pack: g.pack, most: g.longestRow()}
	if g.report.Duplicates, err = g.walk(ctx, rows.add); err != nil {
		if me := (*MemoryError)(nil); errors.As(err, &me) {
			me.Budget, me.Need = g.o.Memory, g.o.Memory+2*rowCost*g.pack.Cols
		}
		return err
	}
	if err := rows.flush(g.pack.Rows); err != nil {
		return err
	}
	if err := g.writeIDs(ctx, w); err != nil {
		return err
	}
	g.report.SpilledBytes = g.spool.Spilled()
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
	return int(max(csr.BlockNNZ, (g.plan.Space-g.reading.held())/2/rowCost))
}

func (g *ingestion) writeIDs(ctx context.Context, w *csr.Writer) error {
	users, items := csr.RowAxis, csr.ColAxis
	if g.pack.Transposed {
		users, items = items, users
	}
	if err := g.writeAxis(ctx, g.reading.users, w, users); err != nil {
		return err
	}
	return g.writeAxis(ctx, g.reading.items, w, items)
}

// writeAxis writes the ids of an axis, unless they are 0 … n−1.
func (g *ingestion) writeAxis(ctx context.Context, a *ids.Axis, w *csr.Writer, axis csr.Axis) error {
	if g.reading.shape != nil && !a.Any() || a.Natural() {
		return nil
	}
	kind := csr.IntIDs
	if a.Text {
		kind = csr.StringIDs
	}
	iw, err := w.IDs(axis, kind)
	if err != nil {
		return err
	}
	n := 0
	err = a.Each(g.scratch, func(id *ids.ID) error {
		if n++; n%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if a.Text {
			return iw.AppendString(string(id.Text))
		}
		return iw.AppendInt(id.Int)
	})
	if err != nil {
		return err
	}
	return iw.Close()
}

// source is what the manifest says about where the matrix came from. It must
// depend on nothing but the inputs and the options that shape the matrix.
func (g *ingestion) source() map[string]any {
	s := g.origin()
	s["format"] = g.reading.format
	s["entries"] = g.given()
	s["duplicates"] = g.o.Duplicates.String()
	if g.report.BadLines > 0 {
		s["bad_lines"] = g.report.BadLines
	}
	return s
}

// rowWriter puts entries in ascending order together to rows.
type rowWriter struct {
	w    *csr.Writer
	pack extsort.Packer
	most int // entries of a row the budget allows
	row  int64
	cols []uint32
	vals []float64
}

func (r *rowWriter) add(part []extsort.Entry) error {
	for len(part) > 0 {
		row, _ := r.pack.Stored(part[0].Key)
		if row != r.row {
			if err := r.flush(row); err != nil {
				return err
			}
		}
		n := r.pack.InRow(part)
		had := len(r.cols)
		if had+n > r.most {
			return &MemoryError{What: fmt.Sprintf("row %d of the store has more than %d entries", row, r.most)}
		}
		r.cols, r.vals = slices.Grow(r.cols, n)[:had+n], slices.Grow(r.vals, n)[:had+n]
		cols, vals := r.cols[had:], r.vals[had:]
		mask := uint32(1<<r.pack.ColBits - 1)
		for i, e := range part[:n] {
			cols[i], vals[i] = uint32(e.Key)&mask, e.Val
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
