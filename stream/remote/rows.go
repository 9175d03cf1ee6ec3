package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// Make makes rows of numbers in the program of a worker: it calls write with each row, in order.
type Make func(ctx context.Context, w *Worker, j Job, in []float64, rows int, write func(row []float64) error) error

// Job describes the rows that a Make makes.
type Job struct {
	Kind  string          `json:"kind"`         // key of the Make in Worker.Make
	Spec  json.RawMessage `json:"spec"`         // specification from the program of the driver
	First int64           `json:"first"`        // number of the first row
	In    string          `json:"in,omitempty"` // a piece of Count float64s that all tasks are given; "": none
	Count int             `json:"count,omitempty"`
}

// Rows computes a matrix of rows × columns float64s by o.Groups tasks of neighbouring rows, and hands the rows to take, ascending, a portion at a
// time. Tasks are given spec as JSON and in, which may be empty. A row must depend on its number, kind, spec and in alone.
func Rows(ctx context.Context, o Options, kind string, spec any, in []float64, rows int64, columns int, take func(first int64, rows *mat.Dense) error) (err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	m, err := New(Subject{}, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r := &pass{Matrix: m, l: columns, want: solver.Pass{RowsOut: solver.Rows{Func: take}}}
	job := Job{Kind: kind, Spec: text, Count: len(in)}
	if len(in) > 0 {
		job.In = r.name("in", 0, 0)
		if err := m.give(job.In, func() error { return m.run.putNumbers(job.In, in) }); err != nil {
			return err
		}
	}
	n := min(int64(o.Groups), rows)
	for i := range n {
		job.First = rows * i / n
		own, count := job, rows*(i+1)/n-job.First
		m.groups = append(m.groups, blocks{first: job.First, rows: count})
		t := Task{Version: version, Dir: m.run.dir, Columns: columns, Rows: int(count), Job: &own}
		t.Out = r.makes("out", int(i), 0, count*int64(columns))
		r.first = append(r.first, t)
	}
	return r.complete(ctx, [][]Task{r.first}, r.collect)
}

func (w *Worker) rows(ctx context.Context, f folder, t Task) error {
	rows := w.Make[t.Job.Kind]
	if rows == nil || t.Rows < 1 || t.Job.Count < 0 {
		return refusal{fmt.Errorf("a task of %d rows of the kind %q, which this worker does not make", t.Rows, t.Job.Kind)}
	}
	in := make([]float64, t.Job.Count)
	if t.Job.In != "" {
		if err := f.get(t.Job.In, in); err != nil {
			return err
		}
	}
	return f.make(t.Out, func(out *writer) error {
		left := t.Rows
		err := rows(ctx, w, *t.Job, in, t.Rows, func(row []float64) error {
			if left--; len(row) != t.Columns {
				return fmt.Errorf("a row of %d numbers, want %d", len(row), t.Columns)
			}
			return out.write(row)
		})
		if err == nil && left != 0 {
			err = fmt.Errorf("%d rows too few", left)
		}
		return err
	})
}
