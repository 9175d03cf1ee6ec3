package remote

import (
	"context"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
)

// sharedRate is about how many bytes a second a worker writes to a shared folder, or reads from it.
const sharedRate = 1e9

// ColumnCost is about what a column of a pass over a matrix of n columns takes on its way through the shared folder, with three
// groups a worker: the driver writes it and reads the sum; each worker reads it, writes its sums, and adds up others, a group each.
func ColumnCost(n int64) time.Duration {
	const groups = 3
	return time.Duration(float64(8*n*(2+3*groups)) / sharedRate * float64(time.Second))
}

// PassCost measures what a pass takes beside its work, by tasks that have next to none: the shorter of two times, after one
// that starts what there is to start, as the next power of two of a millisecond, so that a little more or less changes nothing.
func (m *Matrix) PassCost(ctx context.Context) (time.Duration, error) {
	least := time.Duration(math.MaxInt64)
	for i := range 3 {
		begin := time.Now()
		if err := m.nothing(ctx); err != nil {
			return 0, err
		}
		if i > 0 {
			least = min(least, time.Since(begin))
		}
	}
	ms := max(1, float64(least)/float64(time.Millisecond))
	return time.Duration(math.Exp2(math.Ceil(math.Log2(ms)))) * time.Millisecond, nil
}

// nothing is a pass of tasks that copy a number.
func (m *Matrix) nothing(ctx context.Context) error {
	m.pass++
	r := &pass{Matrix: m, l: 1}
	one := r.name("x", 0, 0)
	r.inputs = append(r.inputs, one)
	err := m.run.put(one, mat.NewDense(1, 1, nil), 0, 1)
	for i := range m.groups {
		r.first = append(r.first, Task{Version: version, Dir: m.run.dir, Columns: 1, Rows: 1, Add: []string{one}, Sum: []string{r.makes("part", i, 0, 1)}})
	}
	if err == nil {
		err = r.complete(ctx, [][]Task{r.first}, func(context.Context) error { return nil })
	}
	if e := r.clear(); err == nil {
		err = e
	}
	return err
}
