package remote

import (
	"context"
	"errors"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
)

// SharedRate is about the bytes a second that a worker, or the driver, writes to a shared folder or reads from it.
const SharedRate = 1e9

// ColumnCost estimates the time of a column of n numbers in the shared folder in a pass with three groups a worker: the
// driver writes it and reads the sum; a worker reads it, writes its sums, and adds up others, a group each.
func ColumnCost(n int64) time.Duration {
	const groups = 3
	return time.Duration(float64(8*n*(2+3*groups)) / SharedRate * float64(time.Second))
}

// Traffic is the data that a pass with a sum alone, and the finishing of left vectors, move through a shared folder.
type Traffic struct {
	Parts         int   // pieces that a sum is cut into; more than one are added up by tasks
	Read, Written int64 // bytes of a pass, by all workers and the driver together
	ByDriver      int64 // bytes of Read and Written that the driver moves
	Gets, Puts    int64 // requests of a pass to a bucket: Gets look and read, Puts write and remove
	Left          int64 // bytes of left vectors in all; two fifths are the driver's where workers do not see the result
}

// TrafficOf returns the Traffic of passes of l columns in groups, by workers, over rows × cols, with k left vectors; 0:
// none.
func TrafficOf(rows, cols int64, l, groups, workers, k int) Traffic {
	const trailer, first = int64(trailerSize), int64(1 << 17) // bytes; first: of the first request of an object, the next are four times as large each
	t := Traffic{Parts: partsOf(cols, l, groups, usualPiece)}
	x, g, p, readers := 8*cols*int64(l), int64(groups), int64(t.Parts), int64(min(workers, groups))
	reading := func(size int64) (n int64) { // requests to read size bytes
		for n = 1; size > 0; n++ { // one to look
			size -= first << (2 * (n - 1))
		}
		return n
	}
	sums := x + p*trailer // of a group
	t.Read, t.Written = readers*(x+trailer)+g*sums, (x+trailer)+g*sums
	t.ByDriver = x + trailer + g*sums
	t.Gets = readers*reading(x) + 2*g*p + g*p*reading(x/p) // each piece is looked for before and after its task
	t.Puts = 1 + g*p
	if t.Parts > 1 {
		t.Read, t.Written, t.ByDriver = t.Read+sums, t.Written+sums, 2*x
		t.Gets += 2*p + p*reading(x/p)
		t.Puts += p
	}
	t.Puts *= 2                      // every object is removed
	t.Left = 5 * 8 * rows * int64(k) // written, read, written turned, read and, elsewhere, written
	return t
}

// PassCost measures the overhead of a pass, with tasks that do next to nothing: the shorter of two passes, after one that
// starts the workers. It is rounded up to a power of two of a millisecond, so that small differences vanish.
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

// nothing runs a pass of tasks that copy one number.
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
	return errors.Join(err, r.clear())
}
