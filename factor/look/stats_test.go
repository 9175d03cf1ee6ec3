package look_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// vector reads a one-dimensional NumPy array.
func vector(t *testing.T, name string) (x []float64) {
	t.Helper()
	b := must.Get(os.ReadFile(name))(t)
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	for at := head; at < len(b); at += 8 {
		x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(b[at:])))
	}
	if shape := fmt.Sprintf("'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", len(x)); !strings.Contains(string(b[:head]), shape) {
		t.Fatalf("%s: header %q, want %s", name, b[:head], shape)
	}
	return x
}

// TestSummarise compares the files of a small matrix with their expected bytes, in both orientations.
func TestSummarise(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		store := cinema(t, transposed)
		dir := filepath.Join(t.TempDir(), "stats")
		s := must.Get(look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir}))(t)
		if s.Entries != 7 || s.Sum != 23 || s.Mean != factor.Number(23./12) || s.Rows.Number != 4 || s.Rows.Empty != 1 || s.Cols.Number != 3 || s.Cols.Empty != 0 {
			t.Errorf("%+v", s)
		}
		dee := look.LineStats{Name: factor.Name{Index: 3, ID: "dee"}, Count: 3, Sum: 12, Mean: 4}
		if top := s.Rows.Largest; len(top) != 3 || top[0] != dee || top[1].ID != "ann" || top[2].ID != "cy" {
			t.Errorf("largest rows %+v", top)
		}
		if top := s.Cols.Largest; len(top) != 3 || top[0].Name != (factor.Name{Index: 0, ID: int64(7), Title: "Alien"}) {
			t.Errorf("largest columns %+v", top)
		}
		// numpy.quantile([0, 2, 2, 3], q, method="inverted_cdf")
		want := []look.Quantile{{0, 0}, {0.01, 0}, {0.05, 0}, {0.25, 0}, {0.5, 2}, {0.75, 2}, {0.95, 3}, {0.99, 3}, {1, 3}}
		if !slices.Equal(s.Rows.Quantiles, want) {
			t.Errorf("quantiles %v", s.Rows.Quantiles)
		}
		files := vfstest.Contents(t, dir)
		if got := "id,title,count,sum,mean,variance\n7,Alien,3,10,2.5,4.25\n40,,2,6,1.5,2.75\n41,Brazil,2,7,1.75,3.1875\n"; files["cols.csv"] != got {
			t.Errorf("cols.csv is\n%s", files["cols.csv"])
		}
		if got := "id,count,sum,mean,variance\nann,2,8,2.6666666666666665,4.222222222222222\nbob,0,0,0,0\n"; !strings.HasPrefix(files["rows.csv"], got) || !strings.HasSuffix(files["rows.csv"], "dee,3,12,4,0\n") {
			t.Errorf("rows.csv is\n%s", files["rows.csv"])
		}
		for name, want := range map[string][]float64{"rows-count": {2, 0, 2, 3}, "rows-sum": {8, 0, 3, 12}, "cols-mean": {2.5, 1.5, 1.75}, "cols-variance": {4.25, 2.75, 3.1875}} {
			if got := vector(t, filepath.Join(dir, name+".npy")); !slices.Equal(got, want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		var again look.Stats
		if err := json.Unmarshal([]byte(files[look.StatsFile]), &again); err != nil || len(again.Files) != len(files) || again.Entries != 7 {
			t.Errorf("%+v, %v", again, err)
		}
	}
}

// TestSummariseSame compares statistics with their formulas; files have the same bytes for any number of
// workers and any budget, and with a view the statistics are those of the view.
func TestSummariseSame(t *testing.T) {
	store := random(t, 20000, 60, 3)
	rows, dirs := csrtest.Rows(t, store), t.TempDir()
	var first map[string]string
	for i, o := range []look.Options{{Workers: 1}, {Workers: 3, Memory: 48 << 20}, {Workers: 8}} {
		dir := filepath.Join(dirs, fmt.Sprint(i))
		s := must.Get(look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir, Options: o}))(t)
		s.Dir = ""
		files := vfstest.Contents(t, dir)
		delete(files, look.StatsFile) // it holds the name of the directory
		if i == 0 {
			first = files
		}
		for name, text := range files {
			if text != first[name] {
				t.Errorf("%+v: %s is another file", o, name)
			}
		}
	}
	counts, sums := vector(t, filepath.Join(dirs, "0/rows-count.npy")), vector(t, filepath.Join(dirs, "0/rows-sum.npy"))
	variances := vector(t, filepath.Join(dirs, "0/rows-variance.npy"))
	lengths := make([]float64, 60)
	for i, row := range rows {
		sum, squares := 0.0, 0.0
		for _, e := range row {
			sum, squares = sum+e.Val, squares+e.Val*e.Val
			lengths[e.Col]++
		}
		mean := sum / 60
		if counts[i] != float64(len(row)) || math.Abs(sums[i]-sum) > 1e-12*(1+math.Abs(sum)) || math.Abs(variances[i]-(squares/60-mean*mean)) > 1e-12*(1+squares) {
			t.Fatalf("row %d: %v, %v, %v; want %d, %v, %v", i, counts[i], sums[i], variances[i], len(row), sum, squares/60-mean*mean)
		}
	}
	if got := vector(t, filepath.Join(dirs, "0/cols-count.npy")); !slices.Equal(got, lengths) {
		t.Errorf("counts of columns %v, want %v", got, lengths)
	}
	s, err := look.Summarise(t.Context(), store, look.StatsOptions{Dir: filepath.Join(dirs, "pca"), Options: look.Options{View: pipeline(t, "pca-scaled")}})
	if err != nil || s.View != "center=columns · scale=columns,ddof:0" || math.Abs(float64(s.Norm*s.Norm)-60*20000) > 1e-6 {
		t.Fatalf("%+v, %v", s, err)
	}
	for j, v := range vector(t, filepath.Join(dirs, "pca/cols-variance.npy")) {
		if math.Abs(v-1) > 1e-12 {
			t.Errorf("column %d has the variance %v", j, v)
		}
	}
}

// TestSummariseReplaces: with Replace a directory of statistics is replaced, but no other; a failed run leaves no files.
func TestSummariseReplaces(t *testing.T) {
	store := cinema(t, false)
	work := t.TempDir()
	dir := filepath.Join(work, "stats")
	summarise := func(dir string, replace bool) error {
		_, err := look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir, Replace: replace})
		return err
	}
	must.Do(t, summarise(dir, false))
	if err := summarise(dir, false); err == nil || !os.IsExist(err) && !strings.Contains(err.Error(), "exists") {
		t.Errorf("%v", err)
	}
	if err := summarise(dir, true); err != nil {
		t.Error(err)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("x"), 0o666))
	if err := summarise(dir, true); err == nil || !strings.Contains(err.Error(), "holds mine.txt, which is not of a set of statistics") {
		t.Errorf("%v", err)
	}
	if err := summarise(store.Path(), true); err == nil || !strings.Contains(err.Error(), "it is not a set of statistics and is left alone") {
		t.Errorf("%v", err)
	}
	_, err := look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir + "2", Options: look.Options{View: pipeline(t, "multiply=-1 · log1p · sqrt")}})
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `row "`) {
		t.Errorf("%v", err)
	}
	entries, err := os.ReadDir(work)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

// TestSummariseFaults fails operations in turn: there is no directory or a complete one, and the error is returned.
func TestSummariseFaults(t *testing.T) {
	store := cinema(t, false)
	vfstest.EachFault(t, 40, longtest.Pick(1, 5), func(at int, fsys *vfstest.FaultFS) error {
		dir := filepath.Join(t.TempDir(), "stats")
		_, err := look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir, Options: look.Options{FS: fsys, Workers: 1}})
		if _, missing := os.Stat(dir); missing == nil {
			if files := vfstest.Contents(t, dir); len(files) != 11 || !strings.HasSuffix(files["rows.csv"], "dee,3,12,4,0\n") || !strings.HasSuffix(files[look.StatsFile], "}\n") {
				t.Errorf("operation %d fails: %d files", at, len(files))
			}
		} else if err == nil {
			t.Errorf("operation %d fails: nothing is written, and nothing said", at)
		}
		return err
	})
}

// TestSummariseEmpty: a matrix without rows, columns or entries has no quantiles and no NaN.
func TestSummariseEmpty(t *testing.T) {
	for _, rows := range [][][]csrtest.Entry{{}, {{}, {}}} {
		for _, cols := range []int64{0, 2} {
			store := csrtest.Build(t, cols, rows, csr.CreateOptions{})
			dir := filepath.Join(t.TempDir(), "stats")
			s := must.Get(look.Summarise(t.Context(), store, look.StatsOptions{Dir: dir}))(t)
			text, err := json.Marshal(s)
			if err != nil || bytes.Contains(text, []byte("null")) || s.Rows.Empty != int64(len(rows)) || s.Cols.Empty != cols || len(s.Rows.Largest) > 0 {
				t.Errorf("%s, %v", text, err)
			}
			p, err := look.Peek(t.Context(), store, look.PeekOptions{Head: 5, Entries: 5})
			if err != nil || len(p.Lines) > 0 {
				t.Errorf("%+v, %v", p, err)
			}
		}
	}
}
