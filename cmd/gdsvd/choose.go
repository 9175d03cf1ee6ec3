package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// choiceRecord is what result.json says about the choice of --method auto.
type choiceRecord struct {
	Flags  []string `json:"flags"` // that make exactly this run again
	Why    string   `json:"why"`   // table, memory, rule or checkpoint
	Reason string   `json:"reason"`
	Table  []string `json:"table,omitempty"` // the flags of the choice where memory holds everything, if that was given up
}

// worthSaying is how long a run must be expected to take for its method to be told
// beforehand.
const worthSaying = 2 * time.Second

// chooseMethod fills in the method and its parameters, unless the user has said
// them: those of the checkpoint, if the run goes on from one. say logs the choice,
// once it is known to be possible.
func (a *app) chooseMethod(ctx context.Context, store *csr.Store, before outState, o *svdOptions) (r *choiceRecord, say func(), err error) {
	silent := func() {}
	if o.method != autoMethod {
		return nil, silent, nil
	}
	if o.resume && before.checkpoint {
		r, err = a.recordedMethod(o)
		return r, silent, err
	}
	c := solver.Choose(o.problem(store, o.planned))
	r = o.settle(c)
	level := slog.LevelDebug
	if c.Total >= worthSaying {
		level = slog.LevelInfo // of a shorter run the result says it soon enough
	}
	return r, func() {
		a.display.Logger().Log(ctx, level, "svd", "chosen", strings.Join(r.Flags, " "), "why", r.Reason)
	}, nil
}

// recordedMethod takes the method from the checkpoint.
func (a *app) recordedMethod(o *svdOptions) (*choiceRecord, error) {
	saved, err := openCheckpoint(a.fsys, o.out)
	if err != nil {
		return nil, err
	}
	m := saved.Method(o.list)
	if err := saved.Close(); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("the checkpoint in %s is of a method that this program does not have (--force begins anew)", o.out)
	}
	o.adopt(m)
	return &choiceRecord{Flags: o.flags(), Why: "checkpoint", Reason: "the run goes on with the method it began with"}, nil
}

// settle makes the flags those of a choice and says why it was made.
func (o *svdOptions) settle(c solver.Choice) *choiceRecord {
	r := &choiceRecord{Why: c.Why.String(), Reason: o.reason(c)}
	if c.Method != c.Table {
		o.adopt(c.Table)
		r.Table = o.flags()
	}
	o.adopt(c.Method)
	r.Flags = o.flags()
	return r
}

// reason says in a sentence why a method was chosen.
func (o *svdOptions) reason(c solver.Choice) string {
	switch {
	case c.Why == solver.ByRule:
		return "the stop rule of the paper belongs to its algorithms, of which this is the first"
	case c.Why == solver.ByMemory:
		return fmt.Sprintf("the fastest by the table of costs of what fits into %s", memory.FormatSize(o.memory))
	case o.operator == solver.Dilation:
		return "the dilation has negative eigenvalues and takes methods of one vector at a time; fewest passes of those"
	}
	return "the fastest for this shape and number of triplets by the table of costs"
}

// problem describes a run for the choice of its method, with the room that a method
// leaves.
func (o *svdOptions) problem(store *csr.Store, room func(*csr.Store, solver.Method) solver.Room) solver.Problem {
	p := solver.Problem{
		Rows: store.Rows(), Columns: store.Cols(), NNZ: store.NNZ(), Rank: o.rank,
		Operator: o.operator, Stop: o.stop, Tol: o.tol, Methods: o.list,
		Room: func(m solver.Method) solver.Room { return room(store, m) },
	}
	for i := range store.NumBlocks() {
		b := store.Block(i)
		p.Encoded += b.Size
		p.Decoded += store.DecodedSize(int64(b.Rows), int64(b.NNZ))
	}
	return p
}

// planned is the room that a method leaves by the budget alone, whatever the number
// of workers: that of one, which needs least.
func (o *svdOptions) planned(store *csr.Store, m solver.Method) solver.Room {
	one := *o
	one.workers = 1
	mem, err := one.fit(store, m)
	if err != nil {
		return solver.Room{}
	}
	return mem.room()
}

// room is what a run leaves for the matrix.
func (p *placement) room() solver.Room {
	resident := float64(p.plan.Resident) / float64(max(1, p.plan.Blocks))
	return solver.Room{Fits: true, Resident: resident, Outside: p.files > 0, Reads: p.reads()}
}
