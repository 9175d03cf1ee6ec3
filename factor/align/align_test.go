package align_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/align"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// result returns a factor.Result with V = v, whose columns have the given ids.
func result(t *testing.T, v *mat.Dense, ids []string) *factor.Result {
	t.Helper()
	dir := t.TempDir()
	n, k := v.Dims()
	text := strings.Join(ids, "\n") + "\n"
	order := csr.Ascending
	if !slices.IsSorted(ids) {
		order = csr.Given
	}
	r := &factor.Result{
		Format: "gdsvd-result/3", Rows: 1, Cols: int64(n), K: k, IDs: factor.IDs{Cols: &factor.SideIDs{Kind: "string", Order: order, Text: factor.Text{File: "cols.ids"}}},
		Files: []factor.File{{Name: "cols.ids", Size: int64(len(text)), CRC: crc.Sum(crc.Of([]byte(text)))}},
	}
	for j := range k {
		r.Sigma, r.Residual = append(r.Sigma, factor.Number(k-j)), append(r.Residual, 1e-9)
	}
	sum, err := npy.WriteMatrix(vfs.OS(), filepath.Join(dir, "V.npy"), v, nil)
	r.Files = append(r.Files, factor.File{Name: "V.npy", Size: sum.Size, CRC: sum.CRC, Pieces: sum.Pieces})
	sealed, err2 := durable.Seal(r, &r.CRC)
	must.Do(t, errors.Join(err, err2, os.WriteFile(filepath.Join(dir, "cols.ids"), []byte(text), 0o666), os.WriteFile(filepath.Join(dir, "result.json"), sealed, 0o666)))
	r = must.Get(factor.Open(dir))(t)
	return r
}

func random(seed uint64, rows, cols int) *mat.Dense {
	r := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(rows, cols, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = r.NormFloat64()
	}
	return x
}

func orthogonal(seed uint64, k int) *mat.Dense {
	var qr mat.QR
	qr.Factorize(random(seed, k, k))
	var q mat.Dense
	qr.QTo(&q)
	return &q
}

func ids(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("item %06d", i))
	}
	return all
}

func arrayOf(t *testing.T, path string) *mat.Dense {
	t.Helper()
	m := must.Get(npy.Open(vfs.OS(), path))(t)
	defer m.Close()
	x := mat.NewDense(int(m.Rows), int(m.Cols), nil)
	must.Do(t, m.ReadRows(0, 0, x))
	return x
}

func off(x, y mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(x, y)
	return mat.Norm(&d, 2) / mat.Norm(y, 2)
}

// TestTurned: Align finds the rotation of rotated vectors, matching rows by id, if some ids are new and some are gone.
func TestTurned(t *testing.T) {
	const n, k = 30_000, 20 // several windows of rows
	v, q, names := random(1, n, k), orthogonal(2, k), ids(n)
	old := result(t, v.Slice(0, n-100, 0, k).(*mat.Dense), names[:n-100])
	var turned mat.Dense
	turned.Mul(v, q)
	fresh := result(t, turned.Slice(50, n, 0, k).(*mat.Dense), names[50:])
	dir := filepath.Join(t.TempDir(), "x")
	a := must.Get(align.Align(t.Context(), fresh, old, align.Options{What: "V", Dir: dir}))(t)
	if a.Common != n-150 || a.Fresh != 100 || a.Gone != 50 || a.Rows != n-50 || a.After > 1e-12 || a.Before < 0.5 || a.Changed != 0 || a.Sample != 200 {
		t.Errorf("%+v", a)
	}
	for _, angle := range a.Angles {
		if angle > 1e-5 {
			t.Errorf("an angle of %g degrees", angle)
		}
	}
	if e := off(arrayOf(t, filepath.Join(dir, "X.npy")), v.Slice(50, n, 0, k)); e > 1e-12 {
		t.Errorf("X is off by %g", e)
	}
	if e := off(arrayOf(t, filepath.Join(dir, "R.npy")), q.T()); e > 1e-12 {
		t.Errorf("R is off by %g", e)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cols.ids"))
	if err != nil || string(text) != strings.Join(names[50:], "\n")+"\n" {
		t.Errorf("%d bytes of ids, %v", len(text), err)
	}
	for k := range 9 { // vectors that are aligned with themselves are not rotated
		r := result(t, random(uint64(k), 100, k+1), ids(100))
		a := must.Get(align.Align(t.Context(), r, r, align.Options{What: "VS", Dir: filepath.Join(t.TempDir(), "x")}))(t)
		if a.Before != 0 || a.After > 1e-14 {
			t.Errorf("k = %d: %g after, %g before", k+1, a.After, a.Before)
		}
	}
}

// TestAngles compares principal angles with those the planes were made with, and Changed with a search of all pairs.
func TestAngles(t *testing.T) {
	const n = 40
	basis := orthogonal(5, n)
	plane := func(degrees float64) *mat.Dense {
		c, s := math.Cos(degrees*math.Pi/180), math.Sin(degrees*math.Pi/180)
		x := mat.NewDense(n, 2, nil)
		for i := range n {
			x.SetRow(i, []float64{3 * basis.At(i, 0), c*basis.At(i, 1) + s*basis.At(i, 2)})
		}
		return x
	}
	x, y := plane(0), plane(30)
	old, fresh := result(t, x, ids(n)), result(t, y, ids(n))
	a, err := align.Align(t.Context(), fresh, old, align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x"), Neighbours: 5, Sample: n})
	if err != nil || len(a.Angles) != 2 || a.Angles[0] > 1e-5 || math.Abs(float64(a.Angles[1])-30) > 1e-10 {
		t.Fatalf("%+v, %v", a, err)
	}
	kept := 0
	near := func(v *mat.Dense, i int) map[int]bool {
		found := map[int]bool{}
		for range 5 {
			best, score := -1, -2.0
			for j := range n {
				if c := mat.Dot(v.RowView(i), v.RowView(j)) / mat.Norm(v.RowView(i), 2) / mat.Norm(v.RowView(j), 2); i != j && !found[j] && c > score {
					best, score = j, c
				}
			}
			found[best] = true
		}
		return found
	}
	for i := range n {
		for j := range near(y, i) {
			if near(x, i)[j] {
				kept++
			}
		}
	}
	if want := 1 - float64(kept)/(5*n); math.Abs(float64(a.Changed)-want) > 1e-12 || want == 0 {
		t.Errorf("%g of the neighbours have changed, want %g", a.Changed, want)
	}
	scaled, err := align.Align(t.Context(), fresh, old, align.Options{What: "VS", Dir: filepath.Join(t.TempDir(), "x")})
	if err != nil || math.Abs(float64(scaled.Angles[1])-30) > 1e-10 || scaled.After == a.After {
		t.Errorf("%+v, %v", scaled, err)
	}
	for _, f := range []float64{0.1, 0.3, 0.7, 1.1, 1.3} { // rank 1: the second vector is rounding error
		for i := range n {
			y.Set(i, 1, f*y.At(i, 0))
		}
		flat, err := align.Align(t.Context(), result(t, y, ids(n)), old, align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x")})
		if text, bad := json.Marshal(flat); err != nil || bad != nil || flat.Angles != nil || bytes.Contains(text, []byte("angles")) {
			t.Errorf("%s, %v", text, errors.Join(err, bad))
		}
	}
}

// TestNeighbours: rows at equal distance, and rows that are 0 up to rounding or the tolerance, do not count as changed.
func TestNeighbours(t *testing.T) {
	const n, k, near, groups = 60, 4, 3, 12
	directions, lengths, q := random(1, groups, k), random(2, n, 1), orthogonal(3, k)
	v := mat.NewDense(n, k, nil)
	for i := range n {
		floats.AddScaled(v.RawRowView(i), .1+math.Abs(lengths.At(i, 0)), directions.RawRowView(i%groups)) // the rows of a group have cosine 1
	}
	changed := func(x, y *mat.Dense) float64 {
		t.Helper()
		for i, noise := range []*mat.Dense{random(4, n, k), random(5, n, k)} {
			for j := 2; j < n; j += groups { // the rows of group 2 are 0 up to errors of 1e-9
				floats.ScaleTo([]*mat.Dense{x, y}[i].RawRowView(j), 1e-9, noise.RawRowView(j))
			}
		}
		o := align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x"), Neighbours: near, Sample: n}
		return float64(must.Get(align.Align(t.Context(), result(t, x, ids(n)), result(t, y, ids(n)), o))(t).Changed)
	}
	var turned mat.Dense
	turned.Mul(v, q)
	if got := changed(&turned, v); got != 0 {
		t.Errorf("%g of the neighbours have changed by a rotation", got)
	}
	floats.AddScaledTo(v.RawRowView(0), directions.RawRowView(1), 1e-3, directions.RawRowView(0)) // row 0 is now the farthest of group 1
	if got, want := changed(v, &turned), float64(near)/(n*near); math.Abs(got-want) > 1e-12 {
		t.Errorf("%g of the neighbours have changed, want %g", got, want)
	}
}

// TestOtherOrder: the old vectors are read by a few KiB for each row where their ids are in another order than the new ones, as ids that
// were integers and are texts now.
func TestOtherOrder(t *testing.T) {
	const n, k, walks = 6_000, 100, 5 // several MiB of vectors
	v, names := random(1, n, k), ids(n)
	left := int64(walks * n * 8 << 10)
	few := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpReadAt && strings.HasSuffix(o.Name, "V.npy") {
			if left -= int64(o.Bytes); left < 0 {
				return errors.New("too many bytes are read")
			}
		}
		return nil
	}}
	old := must.Get(factor.OpenFS(few, result(t, v, names).Dir()))(t)
	mixed, of := mat.NewDense(n, k, nil), make([]string, n)
	for i := range n {
		j := i * 7919 % n
		of[i] = names[j]
		mixed.SetRow(i, v.RawRowView(j))
	}
	a := must.Get(align.Align(t.Context(), result(t, mixed, of), old, align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x"), Neighbours: 2, Sample: 9}))(t)
	if a.Common != n || a.Before != 0 || a.After > 1e-14 || a.Changed != 0 {
		t.Errorf("%+v", a)
	}
}

// TestFewRows: an alignment of few common rows states how many neighbours of each row it has compared.
func TestFewRows(t *testing.T) {
	for _, n := range []int{1, 2, 5, 12} {
		r := result(t, random(4, n, 1), ids(n))
		a := must.Get(align.Align(t.Context(), r, r, align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x")}))(t)
		if a.Neighbours != min(10, n-1) || a.Sample != n || a.Changed != 0 {
			t.Errorf("%d rows: %d neighbours of %d rows compared, %g changed", n, a.Neighbours, a.Sample, a.Changed)
		}
	}
}

// TestRefuses: Align returns an error for inputs that cannot be aligned, and leaves no files.
func TestRefuses(t *testing.T) {
	old := result(t, random(1, 20, 3), ids(20))
	dir := t.TempDir()
	o := align.Options{What: "V", Dir: filepath.Join(dir, "x")}
	for want, c := range map[string]struct {
		fresh *factor.Result
		o     align.Options
	}{
		"has 2 components, ": {result(t, random(2, 20, 2), ids(20)), o},
		"have 2 ids in common, fewer than their 3 components: is this the same catalogue?": {result(t, random(2, 18, 3), ids(38)[18:36]), o},
		`"W" is nothing to align`:                  {old, align.Options{What: "W", Dir: o.Dir}},
		"holds no U.npy":                           {old, align.Options{What: "U", Dir: o.Dir}},
		"an alignment needs a directory":           {old, align.Options{What: "V"}},
		"it is not an alignment and is left alone": {old, align.Options{What: "V", Dir: old.Dir(), Replace: true}},
	} {
		if _, err := align.Align(t.Context(), c.fresh, old, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := align.Align(cancelled, old, old, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if _, err := align.Align(t.Context(), old, old, o); err != nil {
		t.Error(err)
	}
	if _, err := align.Align(t.Context(), old, old, o); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	vfstest.EachFault(t, 10, 1, func(_ int, fsys *vfstest.FaultFS) error {
		o.Dir, o.FS = filepath.Join(t.TempDir(), "y"), fsys
		_, err := align.Align(t.Context(), old, old, o)
		return err
	})
}

// Vectors whose products underflow determine no rotation: the result is an error, not vectors that are not turned.
func TestTooSmall(t *testing.T) {
	const n = 20
	good, small := random(3, n, 3), random(4, n, 3)
	small.Scale(1e-170, good)
	for _, pair := range [][2]*factor.Result{{result(t, good, ids(n)), result(t, small, ids(n))}, {result(t, small, ids(n)), result(t, good, ids(n))}} {
		_, err := align.Align(t.Context(), pair[0], pair[1], align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x"), Neighbours: 2, Sample: n})
		if err == nil || !strings.Contains(err.Error(), "so small") {
			t.Error(err)
		}
	}
}

// TestTooLarge: vectors whose products overflow are an error: a singular value decomposition of NaNs does not end.
func TestTooLarge(t *testing.T) {
	const n = 20
	good, large := random(3, n, 3), random(4, n, 3)
	large.Scale(1e307, good)
	for _, pair := range [][2]*factor.Result{{result(t, good, ids(n)), result(t, large, ids(n))}, {result(t, large, ids(n)), result(t, good, ids(n))}} {
		_, err := align.Align(t.Context(), pair[0], pair[1], align.Options{What: "V", Dir: filepath.Join(t.TempDir(), "x"), Neighbours: 2, Sample: n})
		if err == nil || !strings.Contains(err.Error(), "so large") {
			t.Error(err)
		}
	}
}
