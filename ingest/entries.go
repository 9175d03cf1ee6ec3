package ingest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
	"github.com/gdsvd/gdsvd/internal/budget"
)

// entries, the result of the first stage, holds what has been read, under temporary ids: in a spool, or in the store itself
// while the entries come in its order.
type entries struct {
	*task
	axes
	record
	spool    *extsort.Spool
	work     *work            // the tasks that have read the entries; nil: this process has
	straight *straight.Writer // writes the store while entries come in its order, instead of the spool
	stored   extsort.Packer   // layout of the store that straight writes
	values   values           // statistics under DuplicatesError, without the entries that straight has taken
	pairs    []uint64         // keys of a batch; reused
	timed    struct {         // keys and values of a batch with times; reused
		keys []uint64
		vals []float64
	}
}

// leaveOut counts items of an input beside the matrix. It clones the map: a journal being written may still read the old map.
func (r *record) leaveOut(names [2]string, counts [2]int64) {
	r.LeftOut = maps.Clone(r.LeftOut)
	for i, n := range counts {
		if n > 0 {
			if r.LeftOut == nil {
				r.LeftOut = map[string]int64{}
			}
			r.LeftOut[names[i]] += n
		}
	}
}

// values holds statistics of the values of entries that several goroutines report.
type values struct {
	mu    sync.Mutex
	stats csr.ValueStats
}

func (v *values) merge(stats *csr.ValueStats) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stats.Merge(stats)
}

func newEntries(t *task) *entries {
	e := &entries{task: t}
	e.users, e.items = ids.New(t.o.KeepOrder), ids.New(t.o.KeepOrder)
	if t.o.base != nil {
		e.Bad, e.Roles = t.o.base.bad, t.o.base.roles
	}
	if t.o.Graph != NoGraph {
		e.items = e.users
	}
	e.spool = extsort.New(t.plan.Budget, t.scratch, true, e.held)
	return e
}

// close releases open files. It removes what straight has written unless the ingest has succeeded.
func (e *entries) close(failed bool) (err error) {
	if failed && e.straight != nil {
		err = e.straight.Abort()
	}
	return errors.Join(err, e.users.Close(), e.items.Close())
}

// held returns the bytes of the dictionaries and, while entries are in memory, the bytes that sifting will need beside them.
func (e *entries) held() int64 {
	if e.spool.InFiles {
		return e.size()
	}
	return e.size() + e.o.sifting(e.lengths())
}

func (e *entries) count() int64 {
	if e.straight != nil {
		return e.straight.N
	}
	if e.o.Holdout.times() {
		return e.spool.N / 2
	}
	return e.spool.N
}

// given returns the number of entries of the inputs, without those of the store appended to; in an undirected graph, of edges.
func (e *entries) given() int64 {
	n := e.count()
	if e.o.base != nil && e.o.base.spooled {
		n -= e.o.base.nnz
	}
	if e.o.Graph != Undirected {
		return n
	}
	loops := e.Loops
	if e.o.SelfLoops == LoopsDropped {
		loops = 0
	}
	return (n + loops) / 2
}

func (e *entries) addKeys(b *format.Batch) error {
	named := e.named()
	if !named {
		e.spool.Loose() // the keys are not pairs of temporary ids; this is the only input
	}
	e.pairs = slices.Grow(e.pairs[:0], len(b.Val))[:len(b.Val)]
	cols := b.Col.Ints[:len(b.Val)]
	if named || e.shape.Late {
		for i, row := range b.Row.Ints[:len(b.Val)] {
			e.pairs[i] = uint64(row)<<32 | uint64(cols[i])
		}
		return e.spool.Add(e.pairs, b.Val)
	}
	e.spool.Final = true
	k, err := e.o.packer(*e.shape)
	if err != nil {
		return err
	}
	for i, row := range b.Row.Ints[:len(b.Val)] {
		e.pairs[i] = k.Key(row, cols[i])
	}
	return e.spool.Add(e.pairs, b.Val)
}

func (e *entries) addIDs(b *format.Batch) error {
	var err error
	if e.pairs, err = ids.Pairs(e.pairs[:0], b, e.users, e.items); err != nil {
		return err
	}
	keys, vals := e.pairs, b.Val
	if e.o.Holdout.times() {
		e.spool.Loose()
		if keys, vals, err = e.withTimes(b); err != nil {
			return err
		}
	}
	if err := e.spool.Add(keys, vals); err != nil {
		return err
	}
	return e.adjust()
}

// withTimes makes two entries of each entry of a batch, one with its value and one with its time: see timeValue.
func (e *entries) withTimes(b *format.Batch) ([]uint64, []float64, error) {
	if e.items.Len() > math.MaxInt32 {
		return nil, nil, fmt.Errorf("number ids: more than %d with times: %w", math.MaxInt32, format.ErrUnsupported)
	}
	keys, vals := e.timed.keys[:0], e.timed.vals[:0]
	for i, k := range e.pairs {
		k = k>>32<<32 | k<<33>>32
		keys = append(keys, k, k|1)
		vals = append(vals, b.Val[i], timeValue(b.Time[i]))
	}
	e.timed.keys, e.timed.vals = keys, vals
	return keys, vals, nil
}

// adjust makes room for the dictionaries: it moves entries to files, then closes generations of ids, as far as needed.
func (e *entries) adjust() error {
	for {
		ok, err := e.spool.Adjust()
		if ok || err != nil {
			return err
		}
		if err := e.turn(); err != nil {
			return err
		}
	}
}

// turn closes the generation of the side whose ids take more memory, and begins the next.
func (e *entries) turn() error {
	a := e.larger()
	if a.Len() == 0 {
		return &budget.Error{Need: e.o.Memory + minSpace, Budget: e.o.Memory, What: "no room is left for ids"}
	}
	if e.o.KeepOrder {
		return &budget.Error{Need: e.o.Memory + a.Held(), Budget: e.o.Memory, What: "the ids of rows and columns that keep their order have to be in memory"}
	}
	if err := a.Turn(e.scratch); err != nil {
		return err
	}
	e.o.Log.Debug("ids do not fit: begin another list", "users", e.users.Generations(), "items", e.items.Generations())
	return e.spool.Turn(e.users.Generations(), e.items.Generations())
}

// pour moves the entries that straight has written to the spool. From then on, workers make batches instead of rows.
func (r *reading) pour() error {
	r.inOrder.Store(false)
	w := r.straight
	r.straight = nil
	r.o.Log.Debug("the entries are not in the order of the store: sort them", "behind", w.N)
	var b format.Batch
	stats, err := w.Pour(func(row int64, cols []uint32, vals []float64) error {
		b.Reset(0)
		lines, across := csr.Exchanged(r.stored.Transposed, &b.Row, &b.Col)
		for _, c := range cols {
			lines.AddInt(row)
			across.AddInt(int64(c))
		}
		b.Val = append(b.Val, vals...)
		return r.addKeys(&b)
	})
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	r.values.merge(&stats)
	return nil
}

// turnAll writes all ids and entries in memory to files.
func (e *entries) turnAll() error {
	for _, a := range e.all() {
		if a.Len() > 0 {
			if err := a.Turn(e.scratch); err != nil {
				return err
			}
		}
	}
	return e.spool.Turn(e.users.Generations(), e.items.Generations())
}
