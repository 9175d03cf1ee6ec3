package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// publish is the last stage: it writes the store or the pair of stores, and publishes them, the store of the entries held out
// first. Both are complete before; saved records their fingerprints, so that an ingest that dies in between is unfinished.
func publish(ctx context.Context, g *sifted, saved func(store, test *csr.Writer) error) (err error) {
	total := g.spool.N
	switch {
	case g.split != nil:
		total *= 2
	case g.o.merges():
		total += g.o.base.nnz
	}
	g.meter.begin(stageWrite, total)
	store, err := g.fill(ctx, g.train, g.staging, g.source())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Abort()) }() // no effect after Commit
	closing, err := g.keepTitles(ctx, store)
	fingerprint := ""
	if err == nil {
		fingerprint, err = store.Seal()
	}
	if err = errors.Join(err, closing()); err != nil {
		return err
	}
	var test *csr.Writer
	if g.split != nil {
		source := g.source()
		source[trainKey] = fingerprint
		if test, err = g.fill(ctx, g.test, g.testStaging, source); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, test.Abort()) }()
	}
	if err := saved(store, test); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if test != nil {
		if err := test.Commit(); err != nil {
			return err
		}
	}
	return store.Commit()
}

// fill writes a store of all entries that are left, or of a part of these.
func (g *sifted) fill(ctx context.Context, p *part, staging *vfs.Staging, source map[string]any) (_ *csr.Writer, err error) {
	stats := &g.final
	if p != nil {
		stats = &p.stats
	}
	w := g.straight
	if w == nil {
		missing := 0.0
		if g.shape != nil {
			missing = g.shape.Missing
		}
		w, err = g.create(ctx, csr.CreateOptions{
			Cols: g.left.Cols, Missing: missing, Values: stats.Values(), Transposed: g.pack.Transposed, Staging: staging, Source: source, Workers: g.plan.encoders,
		})
		if err != nil {
			return nil, err
		}
	}
	defer durable.Undo(&err, w.Abort)
	switch {
	case g.straight != nil:
		maps.Copy(w.Source, source)
	case p == nil:
		err = g.matrixRows(ctx, func(i int64, cols []uint32, vals []float64, _ []format.Time) error { return w.Row(i, cols, vals) })
	default:
		err = g.splitRows(ctx, func(held []bool, i int64, cols []uint32, vals []float64) error {
			cols, vals = p.take(held, cols, vals)
			return w.Row(i, cols, vals)
		})
	}
	if err != nil {
		return nil, err
	}
	g.report.Duplicates = g.duplicates
	if err := w.End(g.left.Rows); err != nil {
		return nil, err
	}
	for _, axis := range []csr.Axis{csr.RowAxis, csr.ColAxis} {
		if err := g.writeAxis(ctx, w.Writer, axis); err != nil {
			return nil, err
		}
	}
	g.report.SpilledBytes = g.spool.Spilled()
	return w.Writer, nil
}

func (t *task) create(ctx context.Context, o csr.CreateOptions) (*straight.Writer, error) {
	o.FS, o.ShardSize = t.o.FS, t.o.ShardSize
	return straight.Create(ctx, t.report.Store, o)
}

// rowCost is the bytes that an entry of the row being assembled takes here and in csr.Writer, with the growth of buffers.
const rowCost = 64

// longestRow returns how many entries of a row fit in half of the memory that sorting used.
func (e *entries) longestRow() int {
	return int(max(csr.BlockNNZ, (e.plan.Space-e.held())/2/rowCost))
}

// writeAxis writes the ids of a stored side, if it has any, unless they are 0 … n−1.
func (g *sifted) writeAxis(ctx context.Context, w *csr.Writer, axis csr.Axis) error {
	rows := axis == csr.RowAxis
	if natural, err := g.natural(rows); natural || err != nil {
		return err
	}
	kind := csr.IntIDs
	if g.isText(rows) {
		kind = csr.StringIDs
	}
	iw, err := w.IDs(axis, kind)
	if err != nil {
		return err
	}
	if g.o.KeepOrder {
		iw.KeepOrder()
	}
	n := 0
	err = g.eachLeft(rows, func(id *ids.ID) error {
		n++
		if n%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if kind == csr.StringIDs {
			return iw.AppendString(string(id.Text))
		}
		return iw.AppendInt(id.Int)
	})
	if err != nil {
		return err
	}
	return iw.Close()
}

// natural reports whether the ids of a stored side that are left are 0 … n−1.
func (g *sifted) natural(rows bool) (bool, error) {
	if g.sieve == nil {
		return !g.hasIDs(rows) || g.storedAxis(rows).Natural(), nil
	}
	if g.isText(rows) {
		return false, nil
	}
	n := int64(0)
	err := g.eachLeft(rows, func(id *ids.ID) error {
		if id.Int != n {
			return errStop
		}
		n++
		return nil
	})
	if errors.Is(err, errStop) {
		return false, nil
	}
	return true, err
}

// source returns the part of the manifest about the origin of the matrix. It must depend on nothing but the inputs and the
// options that shape the matrix.
func (g *ordered) source() map[string]any {
	s := g.in.origin(g.o)
	s["format"] = g.Format
	entries, merged := g.given(), g.duplicates
	if b := g.o.base; b != nil {
		entries += b.entries
		merged += b.repeated()
	}
	s["entries"] = entries
	if g.shape != nil {
		s["declared"] = true
	}
	if r := g.Roles; r != nil {
		s[rolesKey] = r.text()
	}
	if g.o.Graph == Undirected && merged > 0 {
		s["repeated"] = merged
	}
	if g.o.Duplicates == Sum && merged > 0 {
		s[sumsKind] = map[bool]string{true: "exact", false: "rounded"}[g.rounded == 0]
	}
	s["duplicates"] = g.o.Duplicates.String()
	if g.o.sifts() {
		s[combinedKey] = g.duplicates
	}
	if g.Bad > 0 {
		s["bad_lines"] = g.Bad
	}
	return s
}

// A rowBuilder assembles entries, in ascending order, into rows and passes the rows that have entries to emit.
type rowBuilder struct {
	pack  extsort.Packer
	most  int // entries of a row that the budget allows
	emit  func(row int64, cols []uint32, vals []float64, times []format.Time) error
	row   int64
	cols  []uint32
	vals  []float64
	times []format.Time // empty unless entries have times
}

func (r *rowBuilder) add(part []extsort.Entry, times []format.Time) error {
	for len(part) > 0 {
		row, _ := r.pack.Stored(part[0].Key)
		if row != r.row {
			if err := r.flush(); err != nil {
				return err
			}
			r.row = row
		}
		n := r.pack.InRow(part)
		had := len(r.cols)
		if had+n > r.most {
			return &budget.Error{What: fmt.Sprintf("row %d of the store has more than %d entries", row, r.most)}
		}
		r.cols, r.vals = slices.Grow(r.cols, n)[:had+n], slices.Grow(r.vals, n)[:had+n]
		cols, vals := r.cols[had:], r.vals[had:]
		mask := uint32(1<<r.pack.ColBits - 1)
		for i, e := range part[:n] {
			cols[i], vals[i] = uint32(e.Key)&mask, e.Val
		}
		part = part[n:]
		if len(times) > 0 {
			r.times, times = append(r.times, times[:n]...), times[n:]
		}
	}
	return nil
}

func (r *rowBuilder) flush() error {
	if len(r.cols) == 0 {
		return nil
	}
	err := r.emit(r.row, r.cols, r.vals, r.times)
	r.cols, r.vals, r.times = r.cols[:0], r.vals[:0], r.times[:0]
	return err
}

func (g *sifted) matrixRows(ctx context.Context, emit func(row int64, cols []uint32, vals []float64, times []format.Time) error) error {
	rows := rowBuilder{pack: g.left, most: g.longestRow(), emit: emit}
	err := g.places(ctx, rows.add)
	if err == nil {
		err = rows.flush()
	}
	if me := (*budget.Error)(nil); errors.As(err, &me) {
		me.Budget, me.Need = g.o.Memory, g.o.Memory+2*rowCost*g.left.Cols
	}
	return err
}
