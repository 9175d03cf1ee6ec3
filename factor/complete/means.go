package complete

import (
	"context"
	"math"

	"github.com/gdsvd/gdsvd/csr"
)

// The biases are computed by turns, at most meansRounds of them, until none changes the mean square by this share.
const (
	meansRounds = 30
	meansTol    = 1e-5
)

// means does one round of the means: the first sums up μ, the others replace c by what is best for the b_i of the c before.
func (f *fit) means(ctx context.Context) error {
	m := f.model()
	first := f.At == 0
	if first {
		m.mean, m.columns = 0, nil
	}
	var all sums
	total := 0.0
	sum, count := make([]float64, f.src.Cols()), make([]int64, f.src.Cols())
	err := f.scan(ctx, 16*f.src.Cols(), func(l *lane, b *csr.Block) {
		l.val = sized(l.val, b.NNZ())
		l.squares, l.in, l.out = 0, 0, 0
		for i := range b.Rows() {
			l.split(m, b, i)
			for t, r := range l.r {
				l.squares += r * r
				l.val[l.at[t]] = r
			}
			l.in += int64(len(l.r))
			l.out += int64(b.RowPtr[i+1]-b.RowPtr[i]) - int64(len(l.r))
		}
	}, func(l *lane, b *csr.Block) error {
		all.add(&l.sums)
		for i := range b.Rows() { // the first entry of what may be a part of a block need not be entry 0
			p := b.RowPtr[i]
			for col := range b.Row(i) {
				if !m.held(b.FirstRow+int64(i), col) {
					if first {
						total += l.val[p]
					} else {
						sum[col] += l.val[p] + m.columns[col]
						count[col]++
					}
				}
				p++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if first {
		if err := f.enough(all.in, all.out); err != nil {
			return err
		}
	}
	f.Count, f.RMSE, f.Held = all.in, math.Sqrt(share(all.squares, float64(all.in))), math.NaN()
	was := f.F
	f.F = all.squares / 2
	f.State.Rounds++
	f.At++
	if first {
		f.Mean = share(total, float64(all.in))
	} else {
		for j := range f.Columns {
			f.Columns[j] = share(sum[j], float64(count[j])+f.Damping)
		}
	}
	if math.IsNaN(f.F) || math.IsInf(f.F, 0) {
		return ErrDiverged
	}
	if !first && was-f.F <= meansTol*f.F || f.At == meansRounds || f.Columns == nil {
		switch {
		case !f.Full:
			f.begin(Top)
		default:
			f.begin(Final)
		}
	}
	return nil
}
