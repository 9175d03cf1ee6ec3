package complete

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// sample returns an N×n matrix of rank r plus biases, and the entries, with noise, of a share seen of its places.
func sample(seed uint64, rows, n, r int, noise, seen float64) (full *mat.Dense, entries [][]csrtest.Entry) {
	random := rand.New(rand.NewPCG(seed, 7))
	normal := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		for i := range m.RawMatrix().Data {
			m.RawMatrix().Data[i] = random.NormFloat64()
		}
		return m
	}
	full = mat.NewDense(rows, n, nil)
	full.Mul(normal(rows, r), normal(r, n))
	entries = make([][]csrtest.Entry, rows)
	for i := range rows {
		level := random.NormFloat64()
		for j := range n {
			full.Set(i, j, full.At(i, j)+3+level+float64(j%5))
			if random.Float64() < seen {
				entries[i] = append(entries[i], csrtest.Entry{Col: uint32(j), Val: full.At(i, j) + noise*random.NormFloat64()})
			}
		}
	}
	return full, entries
}

// dense returns the matrix that F approximates, the entries less μ and the biases of the state, and its known places.
func dense(s *State, o Options, n int, entries [][]csrtest.Entry) (a *mat.Dense, known [][]bool) {
	a = mat.NewDense(len(entries), n, nil)
	known = make([][]bool, len(entries))
	for i, row := range entries {
		known[i] = make([]bool, n)
		bias := 0.0
		if o.Biases {
			for _, e := range row {
				bias += e.Val - s.Mean - s.Columns[e.Col]
			}
			bias /= max(1, float64(len(row))+o.Damping)
		}
		for _, e := range row {
			v := e.Val - s.Mean - bias
			if o.Biases {
				v -= s.Columns[e.Col]
			}
			a.Set(i, int(e.Col), v)
			known[i][e.Col] = true
		}
	}
	return a, known
}

// naive minimises F by soft-impute as published, with dense SVDs and no limit on the rank. It returns Z and F.
func naive(a *mat.Dense, known [][]bool, lambda float64, rounds int) (z *mat.Dense, f float64) {
	rows, n := a.Dims()
	z = mat.NewDense(rows, n, nil)
	b := mat.NewDense(rows, n, nil)
	for range rounds {
		for i := range rows {
			for j := range n {
				if known[i][j] {
					b.Set(i, j, a.At(i, j))
				} else {
					b.Set(i, j, z.At(i, j))
				}
			}
		}
		var svd mat.SVD
		svd.Factorize(b, mat.SVDThin)
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		f = 0
		d := svd.Values(nil)
		for i, s := range d {
			d[i] = max(0, s-lambda)
			f += lambda * d[i]
		}
		z.Product(&u, mat.NewDiagDense(len(d), d), v.T())
	}
	for i := range rows {
		for j := range n {
			if known[i][j] {
				e := a.At(i, j) - z.At(i, j)
				f += e * e / 2
			}
		}
	}
	return z, f
}

// factorised runs Fit and Factors and returns Z = U·diag(Sigma)·Vᵀ and the biases of the rows.
func factorised(t *testing.T, src stream.Source, o Options) (*State, *Factors, *mat.Dense, []float64) {
	t.Helper()
	s := must.Get(Fit(t.Context(), src, o))(t)
	var u []float64
	var biases []float64
	f, err := s.Factors(t.Context(), src, o, func(first int64, rows *mat.Dense, bias []float64) error {
		if int(first) != len(biases) {
			t.Fatalf("rows from %d after %d", first, len(biases))
		}
		biases = append(biases, bias...)
		if r, _ := rows.Dims(); r > 0 {
			for i := range r {
				u = append(u, rows.RawRowView(i)...)
			}
		}
		return nil
	})
	must.Do(t, err)
	z := mat.NewDense(int(src.Rows()), int(src.Cols()), nil)
	if k := len(f.Sigma); k > 0 {
		left := mat.NewDense(int(src.Rows()), k, u)
		if e := Orthogonality(left); math.Abs(e-f.Orthogonality) > 1e-13 || e > 1e-10 {
			t.Errorf("UᵀU − I is %v, not %v", e, f.Orthogonality)
		}
		if e := Orthogonality(f.V); e > 1e-10 {
			t.Errorf("VᵀV − I is %v", e)
		}
		z.Product(left, mat.NewDiagDense(k, f.Sigma), f.V.T())
	}
	return s, f, z, biases
}

// TestMinimum: with full rank the problem is convex; Fit finds the minimum that naive finds, and Dual bounds it.
func TestMinimum(t *testing.T) {
	for _, c := range []struct {
		rows, n int
		biases  bool
		lambda  float64
		seen    float64
	}{{40, 12, false, 3, .6}, {60, 10, true, 4, .3}, {40, 12, true, 2, .5}, {30, 30, true, 1, .7}, {25, 8, false, 10, .9}}[:longtest.Pick(5, 2)] {
		_, entries := sample(1, c.rows, c.n, 3, .3, c.seen)
		src := csrtest.Build(t, int64(c.n), entries, csr.CreateOptions{})
		o := Options{Rank: c.n, Lambda: c.lambda, Biases: c.biases, Damping: 2, Tol: 1e-13, Rounds: 4000}
		s, f, z, _ := factorised(t, src, o)
		a, known := dense(s, o, c.n, entries)
		want, least := naive(a, known, c.lambda, 4000)
		if !(math.Abs(f.F-least) <= 1e-7*least) {
			t.Errorf("%+v: F is %v, the least %v", c, f.F, least)
		}
		want.Sub(want, z)
		if e := mat.Norm(want, 2); e > 1e-3*(1+mat.Norm(z, 2)) {
			t.Errorf("%+v: Z is off by %v of %v", c, e, mat.Norm(z, 2))
		}
		if !(f.Gap >= -1e-9 && f.Gap < .08) { // the bound of σ₁ is within a few per cent
			t.Errorf("%+v: the gap is %v, F %v, bound %v", c, f.Gap, f.F, f.Dual)
		}
		if f.Dual > least*(1+1e-9) {
			t.Errorf("%+v: the bound %v is above the least F, %v", c, f.Dual, least)
		}
		if f.Stationarity > 1e-4 {
			t.Errorf("%+v: stationary within %v only", c, f.Stationarity)
		}
		if f.Residual > c.lambda*(1+1e-4) || f.ResidualBound < f.Residual {
			t.Errorf("%+v: σ₁ of the residual is %v to %v, λ %v", c, f.Residual, f.ResidualBound, c.lambda)
		}
	}
}

// TestDescent: no round of the last phase raises F, for any rank.
func TestDescent(t *testing.T) {
	for seed := range uint64(12) {
		rows, n := 20+int(seed)*7, 6+int(seed)
		_, entries := sample(seed, rows, n, 1+int(seed)%4, .5, .2+.06*float64(seed))
		src := csrtest.Build(t, int64(n), entries, csr.CreateOptions{})
		last := math.Inf(1)
		_, err := Fit(t.Context(), src, Options{Rank: 1 + int(seed)%5, Lambda: .2 + float64(seed%4), Biases: seed%2 == 0, Seed: seed, Tol: 1e-9, Rounds: 60, Round: func(s *State) error {
			if s.Phase == Final || s.Phase == Done {
				if s.At > 0 && s.F > last*(1+1e-12) {
					t.Errorf("seed %d, round %d: F rises from %v to %v", seed, s.At, last, s.F)
				}
				last = s.F
			}
			return nil
		}})
		must.Do(t, err)
	}
}

// TestRecovery: Fit predicts the unseen entries of a matrix of low rank, with the λ that the held-out entries choose.
func TestRecovery(t *testing.T) {
	full, entries := sample(3, 400, 60, 3, .1, .5)
	src := csrtest.Build(t, 60, entries, csr.CreateOptions{})
	o := Options{Rank: 5, Biases: true}
	s, f, z, biases := factorised(t, src, o)
	if s.Phase != Done || s.Lambda <= 0 || math.IsInf(s.Best.Held, 0) || s.Best.V != nil {
		t.Fatalf("ended %v with λ %v, held out %v", s.Phase, s.Lambda, s.Best.Held)
	}
	sum, plain := 0.0, 0.0
	for i := range 400 {
		for j := range 60 {
			p := s.Mean + biases[i] + s.Columns[j]
			e, b := full.At(i, j)-p-z.At(i, j), full.At(i, j)-p
			sum += e * e
			plain += b * b
		}
	}
	rmse := math.Sqrt(sum / 24000)
	if biased := math.Sqrt(plain / 24000); rmse > .15*biased {
		t.Errorf("error %v, of the biases alone %v", rmse, biased)
	}
	if math.Abs(rmse-s.Best.Held) > .1 {
		t.Errorf("error %v, held out %v", rmse, s.Best.Held)
	}
	if len(f.Sigma) < 3 {
		t.Errorf("Z has rank %d", len(f.Sigma))
	}
}

// TestBiases compares the biases with the solution of their ridge regression.
func TestBiases(t *testing.T) {
	testBiases(t, 3, 4, .4, .02)
	testBiases(t, .1, 176, .15, .05) // residuals may grow in a round that lowers the objective
}

func testBiases(t *testing.T, damping float64, seed uint64, density, most float64) {
	const rows, n = 30, 8
	_, entries := sample(seed, rows, n, 2, .5, density)
	src := csrtest.Build(t, n, entries, csr.CreateOptions{})
	s := must.Get(Fit(t.Context(), src, Options{Rank: 1, Lambda: 1e6, Biases: true, Damping: damping, Rounds: 1}))(t)
	g, y, mean, count := mat.NewSymDense(rows+n, nil), mat.NewVecDense(rows+n, nil), 0.0, 0.0
	for _, row := range entries {
		for _, e := range row {
			mean += e.Val
			count++
		}
	}
	mean /= count
	for i := range rows + n {
		g.SetSym(i, i, damping)
	}
	for i, row := range entries {
		for _, e := range row {
			j := rows + int(e.Col)
			g.SetSym(i, i, g.At(i, i)+1)
			g.SetSym(j, j, g.At(j, j)+1)
			g.SetSym(i, j, g.At(i, j)+1)
			y.SetVec(i, y.AtVec(i)+e.Val-mean)
			y.SetVec(j, y.AtVec(j)+e.Val-mean)
		}
	}
	var want mat.VecDense
	must.Do(t, want.SolveVec(g, y))
	if math.Abs(s.Mean-mean) > 1e-12 {
		t.Errorf("μ is %v, want %v", s.Mean, mean)
	}
	for j, c := range s.Columns {
		if math.Abs(c-want.AtVec(rows+j)) > most {
			t.Errorf("damping %v: c_%d is %v, want %v", damping, j, c, want.AtVec(rows+j))
		}
	}
}

// bits returns s as Save writes it.
func bits(t *testing.T, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, s.Save(&b, "test"))
	return b.Bytes()
}

// TestSameBits: the state has the same bits for any number of workers, any budget, and after an interruption.
func TestSameBits(t *testing.T) {
	_, entries := sample(5, 900, 24, 4, .4, .3)
	src := csrtest.Build(t, 24, entries, csr.CreateOptions{})
	var saved [][]byte
	o := Options{Rank: 6, Biases: true, Stream: stream.Options{Workers: 1}, Round: func(s *State) error {
		saved = append(saved, bits(t, s))
		return nil
	}}
	s := must.Get(Fit(t.Context(), src, o))(t)
	want := bits(t, s)
	o.Round = nil
	for _, with := range []stream.Options{{Workers: 2, Memory: 64 << 20}, {Workers: 3}}[:longtest.Pick(2, 1)] {
		o.Stream = with
		s := must.Get(Fit(t.Context(), src, o))(t)
		if !bytes.Equal(bits(t, s), want) {
			t.Errorf("%+v: other bits", with)
		}
	}
	resumed := map[Phase]int{}
	for i, state := range saved {
		from, of, err := Load(bytes.NewReader(state), int64(len(state)))
		if err != nil || of != "test" {
			t.Fatal(of, err)
		}
		if resumed[from.Phase]++; resumed[from.Phase] != 2 && from.Phase != Done {
			continue // only the second state of each phase and the last state are resumed
		}
		o.Start = from
		other := o
		other.Biases = !o.Biases
		if _, err := Fit(t.Context(), src, other); err == nil || !strings.Contains(err.Error(), "the state has biases") {
			t.Errorf("from a state of other biases: %v", err)
		}
		s := must.Get(Fit(t.Context(), src, o))(t)
		if !bytes.Equal(bits(t, s), want) {
			t.Errorf("from round %d: other bits", i)
		}
	}
	if len(resumed) != 5 {
		t.Errorf("states of %d phases only", len(resumed))
	}
}

// TestNorm: norm returns a lower and an upper bound of σ₁, within 5 % of each other.
func TestNorm(t *testing.T) {
	for seed := range uint64(6) {
		_, entries := sample(seed, 300, 20+int(seed)*30, 5, 1, .5)
		n := 20 + int(seed)*30
		src := csrtest.Build(t, int64(n), entries, csr.CreateOptions{})
		a := must.Get(stream.NewFrom(src, stream.Options{Width: n}))(t)
		least, most, err := norm(t.Context(), a, seed, func(int) {})
		must.Do(t, errors.Join(err, a.Close()))
		d := mat.NewDense(300, n, nil)
		for i, row := range entries {
			for _, e := range row {
				d.Set(i, int(e.Col), e.Val)
			}
		}
		var svd mat.SVD
		svd.Factorize(d, mat.SVDNone)
		top := svd.Values(nil)[0]
		if !(least <= top*(1+1e-12) && top <= most*(1+1e-12) && most <= 1.05*least) {
			t.Errorf("σ₁ = %v is bounded by %v and %v", top, least, most)
		}
	}
}

// TestNormOfClusters: the bounds hold if singular values nearly coincide, as those of the residual of a
// converged fit do.
func TestNormOfClusters(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 3))
		n := 2 + random.IntN(45)
		const rows = 60
		var q, r mat.QR
		fill := func(m, n int) *mat.Dense {
			x := mat.NewDense(m, n, nil)
			x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
			return x
		}
		q.Factorize(fill(rows, rows))
		r.Factorize(fill(n, n))
		var u, v, d mat.Dense
		q.QTo(&u)
		r.QTo(&v)
		sigma := make([]float64, n)
		top := 0.0
		for i := range sigma {
			sigma[i] = 2 + 4e-5*random.Float64()
			top = max(top, sigma[i])
		}
		d.Product(u.Slice(0, rows, 0, n), mat.NewDiagDense(n, sigma), v.T())
		entries := make([][]csrtest.Entry, rows)
		for i := range rows {
			for j := range n {
				entries[i] = append(entries[i], csrtest.Entry{Col: uint32(j), Val: d.At(i, j)})
			}
		}
		a := must.Get(stream.NewFrom(csrtest.Build(t, int64(n), entries, csr.CreateOptions{}), stream.Options{Width: n}))(t)
		least, most, err := norm(t.Context(), a, seed, func(int) {})
		must.Do(t, errors.Join(err, a.Close()))
		if !(least <= top*(1+1e-14) && top <= most*(1+1e-14)) {
			t.Errorf("%d columns: σ₁ = %v is bounded by %v and %v", n, top, least, most)
		}
	}
}

// TestProof: Factors reports each of its reads to Options.Proof in order.
func TestProof(t *testing.T) {
	_, entries := sample(6, 500, 20, 2, .4, .3)
	src := csrtest.Build(t, 20, entries, csr.CreateOptions{})
	var told []int
	factorised(t, src, Options{Rank: 2, Lambda: 5, Proof: func(done, of int) {
		if told = append(told, done); of != 3 {
			t.Errorf("%d of %d", done, of)
		}
	}})
	for i, done := range told {
		if i != done {
			t.Fatal(told)
		}
	}
	if len(told) != 3 {
		t.Error(told)
	}
}

func TestCancelled(t *testing.T) {
	_, entries := sample(6, 500, 20, 2, .4, .3)
	src := csrtest.Build(t, 20, entries, csr.CreateOptions{})
	stop := errors.New("stop")
	_, err := Fit(t.Context(), src, Options{Rank: 2, Round: func(*State) error { return stop }})
	if !errors.Is(err, stop) {
		t.Errorf("the error of Round is %v", err)
	}
}

func TestRefusals(t *testing.T) {
	_, entries := sample(7, 20, 6, 2, .4, .5)
	src := csrtest.Build(t, 6, entries, csr.CreateOptions{})
	state := must.Get(Fit(t.Context(), src, Options{Rank: 2, Lambda: 1}))(t)
	for want, o := range map[string]Options{
		"complete: rank 0 of a 20 × 6 matrix: give one from 1 to 6":                 {},
		"complete: rank 7 of a 20 × 6 matrix: give one from 1 to 6":                 {Rank: 7},
		"complete: λ is -1: give one from 0 to 1.7976931348623157e+308":             {Rank: 1, Lambda: -1},
		"complete: the share held out is 0.95: give one from 0 to 0.9":              {Rank: 1, Holdout: .95},
		"complete: the tolerance is NaN: give one from 0 to 1":                      {Rank: 1, Tol: math.NaN()},
		"complete: the state is of a rank 2 fit of 6 columns, not 3 of 6":           {Rank: 3, Start: state},
		"complete: the damping is +Inf: give one from 0 to 1.7976931348623157e+308": {Rank: 3, Damping: math.Inf(1)},
	} {
		if _, err := Fit(t.Context(), src, o); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	if _, err := Fit(t.Context(), src, Options{Rank: 1, Stream: stream.Options{Memory: 1 << 10}}); !errors.As(err, new(*stream.BudgetError)) {
		t.Errorf("a budget of a kilobyte: %v", err)
	}
}

// TestUnfit: Fit refuses entries from which λ cannot be chosen, and values whose fourth powers overflow or underflow.
func TestUnfit(t *testing.T) {
	of := func(values ...float64) *csr.Store {
		rows := make([][]csrtest.Entry, len(values))
		for i, v := range values {
			rows[i] = []csrtest.Entry{{Col: uint32(i % 2), Val: v}}
		}
		return csrtest.Build(t, 2, rows, csr.CreateOptions{})
	}
	for _, c := range []struct {
		src  *csr.Store
		o    Options
		want string
	}{
		{of(3), Options{Rank: 1}, "complete: the hold-out has 0 of 1 entries, from which λ cannot be chosen"},
		{of(3), Options{Rank: 1, Biases: true}, "complete: the hold-out has 0 of 1 entries, from which λ cannot be chosen"},
		{of(1, 1, 1, 1, 2), Options{Rank: 1, Seed: 14, Holdout: .25}, "complete: mean and biases predict all 4 entries"},
		{csrtest.Build(t, 2, [][]csrtest.Entry{nil}, csr.CreateOptions{}), Options{Rank: 1}, "complete: the hold-out has 0 of 0 entries"},
		{of(1e150, 2e150, 5e150), Options{Rank: 1, Lambda: 1}, "complete: the norm of the entries is 5.48e+150"},
		{of(1e-150, 2e-150), Options{Rank: 1, Lambda: 1}, "complete: the norm of the entries is 2.24e-150"},
	} {
		if _, err := Fit(t.Context(), c.src, c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
	for _, scale := range []float64{leastNorm * 4, mostNorm / 16} { // within the limits: the same result scaled by the power of two
		o := Options{Rank: 1, Lambda: scale / 8}
		s, f, _, _ := factorised(t, of(1*scale, 2*scale, 4*scale), o)
		o.Lambda = 1. / 8
		s1, f1, _, _ := factorised(t, of(1, 2, 4), o)
		if s.Mean != scale*s1.Mean || math.Abs(f.Sigma[0]/scale-f1.Sigma[0]) > 1e-12 || math.Abs(f.Gap-f1.Gap) > 1e-12 {
			t.Errorf("scale %v: mean %v, %+v; want %v, %+v", scale, s.Mean, f, s1.Mean, f1)
		}
	}
}

// TestLargeLambda: a λ just below σ₁ gives Z ≠ 0, although the rounds from a random V do not find it at first.
func TestLargeLambda(t *testing.T) {
	_, entries := sample(9, 400, 300, 1, .1, .3)
	src := csrtest.Build(t, 300, entries, csr.CreateOptions{})
	_, f, _, _ := factorised(t, src, Options{Rank: 1, Lambda: 1e6})
	if len(f.Sigma) != 0 {
		t.Fatal(f.Sigma)
	}
	if _, f, _, _ = factorised(t, src, Options{Rank: 1, Lambda: .9 * f.Residual}); len(f.Sigma) != 1 || f.F < f.Dual {
		t.Errorf("Z of rank %d, F %v, bound %v", len(f.Sigma), f.F, f.Dual)
	}
}

// TestRoomFirst: a budget without room for V is refused before V is allocated, and one without room for the residuals of the bound
// before the rounds.
func TestRoomFirst(t *testing.T) {
	const n = 1 << 30 // V would have 2³⁴ bytes
	src := csrtest.Build(t, n, [][]csrtest.Entry{{{Col: 1, Val: 2}}, {{Col: 5, Val: 2}}}, csr.CreateOptions{})
	var small *stream.BudgetError
	if _, err := Fit(t.Context(), src, Options{Rank: 2, Lambda: 1, Stream: stream.Options{Memory: 256 << 20}}); !errors.As(err, &small) {
		t.Errorf("got %v", err)
	}
	src = csrtest.FromDense(t, mat.NewDense(500, 200, slices.Repeat([]float64{1, 2, 1, 3, 1}, 20000)), csr.CreateOptions{})
	o := Options{Rank: 1, Lambda: 100, Stream: stream.Options{Memory: 1, Workers: 8}}
	var bound *stream.BudgetError
	room := stream.Options{Memory: 1, Workers: 8, Reserve: o.held(src) + 8*8*3*src.MaxBlock().NNZ}
	if _, err := stream.PlanFor(&residual{Source: src}, room); !errors.As(err, &bound) {
		t.Fatal(err)
	}
	if _, err := Fit(t.Context(), src, o); !errors.As(err, &small) || small.Need < bound.Need {
		t.Errorf("%v, and the bound needs %d bytes", err, bound.Need)
	}
	o.Stream.Memory = small.Need
	factorised(t, src, o)
}

// TestEmpty: rows and columns without entries have no biases and no part of Z; for a matrix without entries Z is 0.
func TestEmpty(t *testing.T) {
	src := csrtest.Build(t, 3, [][]csrtest.Entry{{{Col: 1, Val: 2}}, nil, {{Col: 1, Val: 4}}, nil}, csr.CreateOptions{})
	s, f, z, biases := factorised(t, src, Options{Rank: 2, Lambda: .1, Biases: true, Damping: 1})
	if s.Mean != 3 || biases[1] != 0 || s.Columns[0] != 0 || mat.Norm(z.Slice(1, 2, 0, 3), 2) != 0 {
		t.Errorf("mean %v, biases %v and %v, Z %v", s.Mean, biases, s.Columns, mat.Formatted(z))
	}
	if f.F < f.Dual {
		t.Errorf("F %v, bound %v", f.F, f.Dual)
	}
	src = csrtest.Build(t, 3, [][]csrtest.Entry{nil, nil, nil}, csr.CreateOptions{})
	if _, f, _, _ := factorised(t, src, Options{Rank: 2, Lambda: .1}); len(f.Sigma) != 0 || f.F != 0 || f.Gap != 0 {
		t.Errorf("of nothing: %+v", f)
	}
}

// TestNothingToFit: a fit ends with the first round that finds F = 0, as with equal entries or none.
func TestNothingToFit(t *testing.T) {
	same := csrtest.FromDense(t, mat.NewDense(6, 4, slices.Repeat([]float64{3}, 24)), csr.CreateOptions{})
	for _, src := range []*csr.Store{same, csrtest.Build(t, 3, [][]csrtest.Entry{nil, nil, nil}, csr.CreateOptions{})} {
		for _, biases := range []bool{false, true} {
			s := must.Get(Fit(t.Context(), src, Options{Rank: 2, Lambda: .1, Biases: biases}))(t)
			if s.Phase != Done || s.F != 0 || s.Rounds > 4 {
				t.Errorf("biases %t: phase %v after %d rounds, F %v", biases, s.Phase, s.Rounds, s.F)
			}
		}
	}
}

// TestDamagedState: Load refuses a saved state with any byte changed or cut off.
func TestDamagedState(t *testing.T) {
	_, entries := sample(8, 40, 6, 2, .4, .5)
	src := csrtest.Build(t, 6, entries, csr.CreateOptions{})
	var saved []byte
	if _, err := Fit(t.Context(), src, Options{Rank: 2, Biases: true, Round: func(s *State) error {
		if s.Best.V != nil {
			saved = bits(t, s)
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	for i := range saved {
		b := bytes.Clone(saved)
		b[i] ^= 1
		if _, _, err := Load(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrState) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, _, err := Load(bytes.NewReader(b[:i]), int64(i)); !errors.Is(err, ErrState) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

// TestEndlessState: Load refuses rounds or phases that do not exist, with which Fit would not end.
func TestEndlessState(t *testing.T) {
	save := func(s State) (b bytes.Buffer) {
		s.V, s.D = mat.NewDense(3, 1, nil), make([]float64, 1)
		must.Do(t, s.Save(&b, "x"))
		return b
	}
	for s, sound := range map[[3]int]bool{
		{int(Means), 0, 1}: true, {int(Means), 1, 0}: false, {int(Means), meansRounds, 0}: false, {int(Top), topRounds - 1, 0}: true, {int(Top), topRounds, 0}: false, {int(Top), 0, 1}: false,
		{int(Path), pathRounds - 1, 0}: true, {int(Path), pathRounds, 0}: false, {int(Path), 0, 1}: false, {int(Final), 400, 1}: true,
	} {
		b := save(State{Phase: Phase(s[0]), At: s[1], Rounds: 1000, Full: s[2] == 1})
		if _, _, err := Load(bytes.NewReader(b.Bytes()), int64(b.Len())); errors.Is(err, ErrState) == sound {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// FuzzLoad: Load does not panic, and a state that it accepts can be saved and loaded again.
func FuzzLoad(f *testing.F) {
	var b bytes.Buffer
	s := &State{V: mat.NewDense(3, 2, nil), D: []float64{2, 1}, Columns: make([]float64, 3)}
	must.Do(f, s.Save(&b, "x"))
	f.Add(b.Bytes())
	f.Add([]byte(stateMagic + "{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, of, err := Load(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		var again bytes.Buffer
		must.Do(t, s.Save(&again, of))
		if _, _, err := Load(bytes.NewReader(again.Bytes()), int64(again.Len())); err != nil {
			t.Fatal(err)
		}
	})
}
