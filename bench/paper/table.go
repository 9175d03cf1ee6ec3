package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
)

// tableSizes are the orders of the matrices of rank ⌊log n⌋, and draws how many
// there are of each order and decay.
func (l *lab) tableSizes() (sizes []int, draws int) {
	if l.Scale == Small {
		return []int{50, 75, 100, 200}, 1
	}
	return []int{50, 75, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000}, 3
}

func (l *lab) tableTasks() []task {
	sizes, draws := l.tableSizes()
	var tasks []task
	for d := range decays {
		for _, n := range sizes {
			for draw := range draws {
				for _, m := range tableMethods {
					key := record("table", decays[d].name, m.name, n, draw).Key
					tasks = append(tasks, task{key, func(ctx context.Context) (*Record, error) {
						return l.tableCase(ctx, d, n, draw, m)
					}})
				}
			}
		}
	}
	return tasks
}

// tableCase solves one matrix of rank ⌊log n⌋ by one method.
func (l *lab) tableCase(ctx context.Context, decay, n, draw int, m algorithm) (*Record, error) {
	k := int(math.Log(float64(n)))
	name := decays[decay].name
	seed := l.Seed + uint64(1000*n+10*draw+decay)
	s := decays[decay].draw(rand.New(rand.NewPCG(seed, streamDraw)), k)
	p, err := l.hold(fmt.Sprint("table", decay, n, draw), func() (*problem, error) {
		f := newFactored(n, seed, s.sigma)
		a, err := f.dense()
		if err != nil {
			return nil, err
		}
		return &problem{a: a, u: f.u, v: f.v, sigma: s.sigma, closer: a.Close}, nil
	})
	if err != nil {
		return nil, err
	}
	r := record("table", name, m.name, n, draw)
	r.A, r.B, r.Rejected = s.a, s.b, s.rejected
	return r, r.solve(ctx, p, m, k, seed)
}

// solve fills r with what a method makes of a problem.
func (r *Record) solve(ctx context.Context, p *problem, m algorithm, k int, seed uint64) error {
	f, err := m.find(ctx, p.a, k, seed)
	if err != nil {
		return err
	}
	r.Rows, r.Cols, r.Bytes, r.Rank = p.a.Info().Rows, int64(p.a.Info().Cols), p.bytes, k
	r.fill(f)
	r.ErrSigma, r.ErrVectors = f.errors(p.u, p.v, p.sigma)
	return nil
}
