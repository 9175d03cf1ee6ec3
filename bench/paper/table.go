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
					r := record("table", decays[d].name, m.name, n, draw)
					tasks = append(tasks, task{r, func(ctx context.Context) error { return l.tableCase(ctx, r, d, n, draw, m) }})
				}
			}
		}
	}
	return tasks
}

func (l *lab) tableCase(ctx context.Context, r *Record, decay, n, draw int, m algorithm) error {
	k := int(math.Log(float64(n)))
	seed := l.Seed + uint64(1000*n+10*draw+decay)
	s := decays[decay].draw(rand.New(rand.NewPCG(seed, streamDraw)), k)
	p, err := l.hold(fmt.Sprint("table", decay, n, draw), func() (*problem, error) {
		f := newFactored(n, seed, s.sigma)
		a, err := f.dense()
		if err != nil {
			return nil, err
		}
		return &problem{a: a, triplets: f.triplets, closer: a.Close}, nil
	})
	if err != nil {
		return err
	}
	r.A, r.B, r.Rejected = s.a, s.b, s.rejected
	return r.solve(ctx, p, m, k, seed)
}
