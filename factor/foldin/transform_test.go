package foldin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// formula returns the entries of a matrix as testdata/transform.py makes them; the row empty has one explicit 0.
func formula(rows, cols, shift, empty int) (all []rating) {
	for i := range rows {
		for j := range cols {
			if x := (i*i*7 + j*j*3 + i*j*5 + shift) % 11; x > 0 && x < 6 && i != empty {
				all = append(all, rating{fmt.Sprintf("u%02d", i), fmt.Sprintf("i%02d", j), float64(x)})
			} else if i == empty && j == 0 {
				all = append(all, rating{fmt.Sprintf("u%02d", i), "i00", 0})
			}
		}
	}
	return all
}

// TestScikitLearn: new rows are projected as scikit-learn transforms them, up to the signs of the components.
func TestScikitLearn(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "transform.json"))
	var want map[string][][]float64
	if err := errors.Join(err, json.Unmarshal(text, &want)); err != nil || len(want) != 4 {
		t.Fatal(len(want), err)
	}
	store, fresh := ingested(t, formula(24, 14, 1, -1), ingest.OrientAuto), ingested(t, formula(6, 14, 4, 3), ingest.OrientRows)
	for name, rows := range want {
		text, _, whiten := strings.Cut(name, " ")
		var p view.Pipeline
		if text != "none" {
			p = pipeline(t, text)
		}
		_, x := projected(t, factorised(t, store, p, 4), fresh, foldin.Options{Whiten: whiten})
		largest, most := 0.0, 0.0
		for c := range 4 {
			sign := 1.0
			if x.At(0, c)*rows[0][c] < 0 {
				sign = -1
			}
			for i := range rows {
				largest, most = max(largest, math.Abs(rows[i][c])), max(most, math.Abs(sign*x.At(i, c)-rows[i][c]))
			}
		}
		if !(most <= 1e-12*largest) {
			t.Errorf("%s: off by %g of %g", name, most, largest)
		}
	}
}

// TestWindows: if V does not fit in memory, it is read in windows, and the projection has the same bits.
func TestWindows(t *testing.T) {
	const n, k = 300_000, 4
	dir := t.TempDir()
	v, mean := mat.NewDense(n, k, nil), make([]float64, n)
	for i := range n {
		for c := range k {
			v.Set(i, c, math.Sin(float64(i*k+c)))
		}
		mean[i] = math.Cos(float64(i))
	}
	r := &factor.Result{
		Format: "gdsvd-result/3", Rows: n, Cols: n, K: k, Sigma: []factor.Number{4, 3, 2, 1}, IDs: factor.IDs{Cols: &factor.SideIDs{Kind: "range"}},
		View: &factor.View{Pipeline: "center=columns", Statistics: []factor.ViewStatistic{{Step: "center=columns", Name: "mean", File: "view-1-center-mean.npy"}}},
	}
	of, err := npy.WriteMatrix(vfs.OS(), filepath.Join(dir, "V.npy"), v, nil)
	means, err2 := npy.WriteVector(vfs.OS(), filepath.Join(dir, "view-1-center-mean.npy"), mean)
	r.Files = []factor.File{
		{Name: "V.npy", Size: of.Size, CRC: of.CRC, Pieces: of.Pieces},
		{Name: "view-1-center-mean.npy", Size: means.Size, CRC: means.CRC, Pieces: means.Pieces},
	}
	sealed, err3 := durable.Seal(r, &r.CRC)
	must.Do(t, errors.Join(err, err2, err3, os.WriteFile(filepath.Join(dir, "result.json"), sealed, 0o666)))
	r = must.Get(factor.Open(dir))(t)
	var all []rating
	base, want := make([]float64, k), mat.NewDense(40, k, nil)
	for j, m := range mean {
		for c := range k {
			base[c] -= m * v.At(j, c)
		}
	}
	for i := range 40 {
		want.SetRow(i, base)
		for e := range 200 {
			j := (i*7919 + e*1499) % n
			all = append(all, rating{fmt.Sprintf("u%02d", i), fmt.Sprint(j), float64(e + 1)})
			for c := range k {
				want.Set(i, c, want.At(i, c)+float64(e+1)*v.At(j, c))
			}
		}
	}
	for _, orient := range []ingest.Orientation{ingest.OrientRows, ingest.OrientCols} {
		fresh := ingested(t, all, orient)
		_, x := projected(t, r, fresh, foldin.Options{Memory: 1 << 30, Workers: 1})
		if e := off(x, want); e > 1e-12 {
			t.Errorf("off by %g", e)
		}
		var least *stream.BudgetError
		if _, err := foldin.Project(t.Context(), r, fresh, foldin.Options{Memory: 1 << 20, Workers: 2, Dir: filepath.Join(dir, "x")}); !errors.As(err, &least) {
			t.Fatal(err)
		}
		const window = 8 << 20 // half of the memory planned for vectors and rows
		if 8*n*k < window {
			t.Fatal("the vectors have room")
		}
		if _, y := projected(t, r, fresh, foldin.Options{Memory: least.Need, Workers: 2}); !mat.Equal(x, y) {
			t.Error("other bits")
		}
	}
}
