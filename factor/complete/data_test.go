package complete

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

func TestTry(t *testing.T) {
	train, err := csr.Open(os.Getenv("TRAIN"), csr.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	test, err := csr.Open(os.Getenv("TRAIN")+".test", csr.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_ = test
	began := time.Now()
	var lam float64
	fmt.Sscan(os.Getenv("LAMBDA"), &lam)
	k := 20
	fmt.Sscan(os.Getenv("K"), &k)
	damp := 5.0
	fmt.Sscan(os.Getenv("DAMP"), &damp)
	s, err := Fit(t.Context(), train, Options{Rank: k, Lambda: lam, Biases: os.Getenv("NOBIAS") == "", Damping: damp, Stream: stream.Options{Workers: 2}, Round: func(s *State) error {
		fmt.Printf("%v %d λ=%.3f F=%.6g rmse %.4f held %.4f n=%d rank1 %.3g %.3g %v\n", s.Phase, s.At, s.Lambda, s.F, s.RMSE, s.Held, s.Count, s.D[0], s.D[k-1], time.Since(began))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	fa, err := s.Factors(t.Context(), train, Options{Rank: k, Lambda: s.Lambda, Biases: true, Damping: damp, Stream: stream.Options{Workers: 2}}, func(int64, *mat.Dense, []float64) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(fa.Sigma, fa.Orthogonality, fa.Stationarity, fa.F, fa.RMSE, fa.Residual, fa.ResidualBound, fa.Dual, fa.Gap)
	f := &fit{Options: Options{Rank: k, Damping: damp}, src: train, State: s}
	m := f.model()
	// predictions of test entries
	type row struct {
		z    []float64
		bias float64
	}
	rows := make([]row, train.Rows())
	var l lane
	b := train.Scratch()
	for i := range train.NumBlocks() {
		if err := train.DecodeBlock(i, b); err != nil {
			t.Fatal(err)
		}
		l.z, l.w = sized(l.z, b.Rows()*k), sized(l.w, b.Rows()*k)
		l.val = sized(l.val, b.NNZ())
		for r := range b.Rows() {
			bias := l.split(m, b, r)
			l.products(m)
			z := make([]float64, k)
			l.solve(m, z)
			rows[b.FirstRow+int64(r)] = row{z, bias}
		}
	}
	sum, sumb, n := 0.0, 0.0, 0
	for i := range test.NumBlocks() {
		if err := test.DecodeBlock(i, b); err != nil {
			t.Fatal(err)
		}
		for r := range b.Rows() {
			at := rows[b.FirstRow+int64(r)]
			for c, a := range b.Row(r) {
				p := m.mean + at.bias + m.column(c)
				sumb += (a - p) * (a - p)
				p += dot(at.z, m.v.Data[int(c)*m.v.Stride:][:k])
				sum += (a - p) * (a - p)
				n++
			}
		}
	}
	fmt.Println("test", n, "rmse", math.Sqrt(sum/float64(n)), "biases", math.Sqrt(sumb/float64(n)), "rounds", s.Rounds)
}
