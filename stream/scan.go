package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
)

// Scan reads every block of a source once, for sums over its entries. compute is called
// with rows of it, their values as they are, by any of o.Workers goroutines, add with the same rows, by the same
// one, when it has been called with all rows before them. o.Reserve is what the two need.
// The error is a *BudgetError when the budget cannot work.
func Scan(ctx context.Context, src Source, o Options, compute, add func(worker int, b *csr.Block) error) error {
	o.Once, o.Space = true, nil
	m, err := NewFrom(src, o)
	if err != nil {
		return err
	}
	defer m.Close()
	m.scaling = &scaling{half: 1} // what is summed up is of the values themselves, not of products
	turn := newSequencer(1)
	return m.eachTask(ctx, inOrder, []*sequencer{turn}, func(worker int, u *task) error {
		if err := compute(worker, &u.block); err != nil {
			return err
		}
		if !turn.enter(u.i) {
			return context.Canceled // the pass has failed; eachTask returns the reason
		}
		err := add(worker, &u.block)
		if err == nil {
			turn.leave(u.i)
		}
		return err
	})
}
