package remote

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// group is a task of a group that is being done.
type group struct {
	folder
	Task
	m    *stream.Matrix
	pass solver.Pass
	in   rowReader
	out  *writer
}

func (g *group) begin() (err error) {
	info, l := g.m.Info(), g.Columns
	if g.X != "" {
		g.pass.X = mat.NewDense(info.Cols, l, nil)
		if err := g.get(g.X, g.pass.X.RawMatrix().Data); err != nil {
			return err
		}
	}
	if g.In != "" {
		g.in = rowReader{folder: g.folder, name: g.In, numbers: info.Rows * int64(l)}
		g.pass.RowsIn.Func = g.in.read
	}
	if g.Out != "" {
		if g.out, err = g.create(g.Out); err != nil {
			return err
		}
		g.pass.RowsOut.Func = func(_ int64, rows *mat.Dense) error {
			n, _ := rows.Dims()
			return g.out.rows(rows, 0, n)
		}
	}
	if g.R != "" {
		g.pass.R = mat.NewDense(l, l, nil)
	}
	if len(g.Sum) > 0 {
		g.pass.Sum = mat.NewDense(info.Cols, l, nil)
	}
	return nil
}

// publish makes the pieces of what the pass has made, unless it has failed.
func (g *group) publish(failed error) error {
	if failed != nil {
		return nil
	}
	if g.out != nil {
		if err := g.out.commit(); err != nil {
			return err
		}
	}
	if g.pass.R != nil {
		if err := g.put(g.R, g.pass.R, 0, g.Columns); err != nil {
			return err
		}
	}
	for i, name := range g.Sum {
		cols := g.m.Info().Cols
		if err := g.put(name, g.pass.Sum, cut(cols, i, len(g.Sum)), cut(cols, i+1, len(g.Sum))); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) end() {
	g.in.close()
	if g.out != nil {
		g.out.discard()
	}
}
