package hostile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/must"
)

// exactly returns a result of a matrix as computed by gonum.
func exactly(m *matrix, k int) *result {
	var svd mat.SVD
	svd.Factorize(m.dense(0), mat.SVDThin)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	r := &result{K: k, tol: 1e-8, sigma: svd.Values(nil)[:k]}
	r.u, r.v = mat.DenseCopyOf(u.Slice(0, m.rows, 0, k)), mat.DenseCopyOf(v.Slice(0, m.cols, 0, k))
	r.Result = harness.Result{Status: "converged", Certified: true, Converged: k, Sigma: append([]float64(nil), r.sigma...), Residual: make([]float64, k)}
	return r
}

// TestJudge checks that judge accepts a right result and rejects each of many changes to it.
func TestJudge(t *testing.T) {
	x := newTrial(t.Context(), &Env{}, "judge", 1, 1)
	m := fromDense("test", x.place(30, 20, 0.5, x.NormFloat64))
	must.Do(t, m.judge(exactly(m, 4)))
	for _, c := range []struct {
		name   string
		change func(r *result)
		want   string
	}{
		{"σ", func(r *result) { r.sigma[1] *= 1 + 1e-6; r.Sigma[1] = r.sigma[1] }, "really"},
		{"a value left out", func(r *result) {
			all := exactly(m, 5)
			for i := 1; i < 4; i++ {
				r.sigma[i] = all.sigma[i+1]
				r.u.SetCol(i, mat.Col(nil, i+1, all.u))
				r.v.SetCol(i, mat.Col(nil, i+1, all.v))
			}
			copy(r.Sigma, r.sigma)
		}, "σ₁ away with a tolerance"},
		{"σ.npy and result.json", func(r *result) { r.Sigma[2] = math.Nextafter(r.Sigma[2], 0) }, "in sigma.npy"},
		{"order", func(r *result) { r.sigma[0], r.sigma[1] = r.sigma[1], r.sigma[0]; copy(r.Sigma, r.sigma) }, "descend"},
		{"u", func(r *result) { r.u.Set(3, 2, r.u.At(3, 2)+1e-7) }, "residual[2] is 0, really"},
		{"v", func(r *result) { r.v.Set(5, 0, r.v.At(5, 0)-1e-7) }, "residual[0] is 0, really"},
		{"pessimism", func(r *result) { r.Residual[3] = 1e-9 }, "really no more than"},
		{"orthogonality", func(r *result) {
			r.Certified, r.Status = false, "cancelled"
			r.u.SetCol(1, mat.Col(nil, 0, r.u))
		}, "U is orthonormal to"},
		{"count", func(r *result) { r.Converged = 3 }, "it says 3"},
		{"status", func(r *result) { r.Certified = false }, "certified false"},
		{"k", func(r *result) { r.K = 3 }, "k 3, 4 values"},
	} {
		r := exactly(m, 4)
		c.change(r)
		if err := m.judge(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestJudgeScaled checks that judge works on matrices whose squares are beyond float64.
func TestJudgeScaled(t *testing.T) {
	x := newTrial(t.Context(), &Env{}, "judge", 1, 2)
	a := fromDense("test", x.place(12, 9, 0.7, x.NormFloat64))
	for _, e := range []int{-1070, -700, 0, 700, 1000} {
		m := &matrix{rows: a.rows, cols: a.cols}
		for _, y := range a.entries {
			m.entries = append(m.entries, entry{y.i, y.j, math.Ldexp(y.v, e)})
		}
		// Below 2^−1022 the entries are rounded: the oracle is the SVD of the rounded ones.
		unscaled := &matrix{rows: m.rows, cols: m.cols}
		for _, y := range m.entries {
			unscaled.entries = append(unscaled.entries, entry{y.i, y.j, math.Ldexp(y.v, -e)})
		}
		r := exactly(unscaled, 3)
		for i := range r.sigma {
			r.sigma[i] = math.Ldexp(r.sigma[i], e)
		}
		copy(r.Sigma, r.sigma)
		if e < -1000 { // σ is rounded, too
			for i := range r.Residual {
				r.Residual[i] = math.Ldexp(1, -1077-e)
			}
			r.tol = 1
			r.Converged = 3
		}
		if err := m.judge(r); err != nil {
			t.Errorf("2^%d: %v", e, err)
		}
		r.v.Set(1, 1, r.v.At(1, 1)+0.5)
		if m.judge(r) == nil {
			t.Errorf("2^%d: a wrong vector passes", e)
		}
	}
}

// TestResidualIsCompensated compares the residual, after cancellation, with one computed with 200 bits.
func TestResidualIsCompensated(t *testing.T) {
	x := newTrial(t.Context(), &Env{}, "judge", 1, 3)
	m := fromDense("test", x.place(40, 25, 0.8, x.NormFloat64))
	r := exactly(m, 1)
	u, v := mat.Col(nil, 0, r.u), mat.Col(nil, 0, r.v)
	got := m.residual(0, r.sigma[0], u, v)

	number := func(f float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(f) }
	product := func(a, b float64) *big.Float { return new(big.Float).SetPrec(200).Mul(number(a), number(b)) }
	norm := func(n int, pair func(entry) (int, float64), z []float64) float64 {
		y := make([]*big.Float, n)
		for i := range y {
			y[i] = product(-r.sigma[0], z[i])
		}
		for _, a := range m.entries {
			i, f := pair(a)
			y[i].Add(y[i], product(a.v, f))
		}
		s := number(0)
		for _, f := range y {
			s.Add(s, new(big.Float).SetPrec(200).Mul(f, f))
		}
		f, _ := s.Sqrt(s).Float64()
		return f
	}
	want := max(norm(m.rows, func(a entry) (int, float64) { return a.i, v[a.j] }, u),
		norm(m.cols, func(a entry) (int, float64) { return a.j, u[a.i] }, v))
	if want == 0 || math.Abs(got-want) > 1e-12*want {
		t.Errorf("residual %.17g, with 200 bits %.17g", got, want)
	}
}

// TestNPY checks that readNPY reads what writeNPY writes and rejects other shapes, NaN and other files.
func TestNPY(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.npy")
	a := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, -1e-310})
	must.Do(t, writeNPY(name, a))
	if b, err := readNPY(name, 3, 2); err != nil || !mat.Equal(a, b) {
		t.Errorf("%v, %v", b, err)
	}
	for want, shape := range map[string][2]int{"3 × 2 in 48 bytes, want 2 × 3": {2, 3}, "want 3 × 1": {3, 1}} {
		if _, err := readNPY(name, shape[0], shape[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	a.Set(2, 0, math.NaN())
	must.Do(t, writeNPY(name, a))
	if _, err := readNPY(name, 3, 2); err == nil || !strings.Contains(err.Error(), "value 4 is NaN") {
		t.Errorf("got %v", err)
	}
	must.Do(t, os.WriteFile(name, []byte("not an array"), 0o666))
	if _, err := readNPY(name, 3, 2); err == nil || !strings.Contains(err.Error(), "not an npy file") {
		t.Errorf("got %v", err)
	}
}

// TestNullIsNotZero checks that a null in the numbers of result.json is not read as 0.
func TestNullIsNotZero(t *testing.T) {
	dir := t.TempDir()
	b := must.Get(json.MarshalIndent(map[string]any{"k": 2, "sigma": []any{1.5, nil}, "residual": []float64{0, 0}}, "", "  "))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "result.json"), b, 0o666))
	if _, err := readResult(dir, 3, 3); err == nil || !strings.Contains(err.Error(), "sigma has an entry that is not a number") {
		t.Errorf("got %v", err)
	}
}

// TestTexts checks that matrices read back from their texts have the same bits at any scale.
func TestTexts(t *testing.T) {
	x := newTrial(t.Context(), &Env{}, "texts", 1, 1)
	dir := t.TempDir()
	for _, decade := range []int{-320, -300, 0, 300} {
		a := x.matrix()
		m := &matrix{rows: a.rows, cols: a.cols}
		for _, y := range a.entries {
			if v, err := scaled(y.v, decade); err != nil {
				t.Fatal(err)
			} else if v != 0 {
				m.entries = append(m.entries, entry{y.i, y.j, v})
			}
		}
		must.Do(t, m.write(x, filepath.Join(dir, "m.mtx")))
		b, err := readMarket(filepath.Join(dir, "m.mtx"))
		if err != nil || b.rows != m.rows || b.cols != m.cols || !mat.Equal(b.dense(0), m.dense(0)) {
			t.Fatalf("1e%d: %v", decade, err)
		}
	}
	// Ids without entries are not in the text; the order of rows and columns is that of the ids.
	m := &matrix{rows: 3, cols: 2, entries: []entry{{0, 0, 1}, {2, 1, 4}}}
	must.Do(t, m.writeIDs(x, filepath.Join(dir, "m.csv"), func(i int) string { return []string{"10", "7", "9"}[i] }, word))
	b, err := readIDs(filepath.Join(dir, "m.csv"))
	if err != nil || !mat.Equal(b.dense(0), mat.NewDense(2, 2, []float64{0, 4, 1, 0})) {
		t.Errorf("%+v, %v", b, err)
	}
}

// writeNPY writes a as an array of float64 values, row by row.
func writeNPY(name string, a *mat.Dense) error {
	rows, cols := a.Dims()
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	for i := range rows {
		_ = binary.Write(&b, binary.LittleEndian, mat.Row(nil, i, a))
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
