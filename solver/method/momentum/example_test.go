package momentum_test

import (
	"context"
	"fmt"
	"log"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/stream"
)

// ten has the values 10, 9.9, … a small gap for each of them.
func ten() solver.Matrix {
	m := sparse.NewDOK(60, 30)
	for i := range 30 {
		m.Set(i, i, 10-0.1*float64(i))
	}
	a, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// Momentum found automatically, against none.
func ExampleNesterov() {
	passes := func(m method.Method) int {
		res, err := solver.SVD(context.Background(), ten(), solver.Settings{Rank: 3, Method: m})
		if err != nil {
			log.Fatal(err)
		}
		return res.Stats.Passes
	}
	with, without := passes(momentum.Nesterov{}), passes(gd.Descent{})
	fmt.Printf("a fifth of the passes or less: %t\n", 5*with <= without)
	// Output:
	// a fifth of the passes or less: true
}

// The heavy ball with the momentum and the stop rule of the paper.
func ExamplePolyak() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:      2,
		Method:    momentum.Polyak{Beta: 0.4},
		Stop:      solver.StopPaper,
		Deflation: solver.Plain,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [3.000000 2.000000]
}

// The scheme of the paper's theorem, with μ a quarter of the relative gap 1 − 4/9
// of the first pair; that of the second is larger.
func ExampleNesterovGeneral() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: momentum.NesterovGeneral{Mu: 0.13},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [3.000000 2.000000]
}
