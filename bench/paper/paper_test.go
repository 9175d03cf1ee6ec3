package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
)

// tiny returns the quick tasks: those whose keys contain one of the listed parts.
func tiny(l *lab) []task {
	return slices.DeleteFunc(l.tasks(), func(t task) bool {
		return !slices.ContainsFunc([]string{"/50/0", "size/implicit/gd/100", "size/store/power/300", "gap/rank 2/gd η=½/50/", "momentum/rank 2/polyak, best β/50/1"}, func(part string) bool {
			return strings.Contains(t.Key, part)
		})
	})
}

// runTiny runs the tasks of tiny in dir as Run does, cancelling at the given number of progress
// calls unless it is 0.
func runTiny(t *testing.T, dir string, cancelAfter int) (*lab, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := &lab{Config: Config{Dir: dir, Commit: "c0ffee", Machine: "a machine"}, records: map[string]*Record{}}
	tasks := tiny(l)
	must.Do(t, os.MkdirAll(l.storeDir(), 0o777))
	done := 0
	l.Progress = func(int, int, string) {
		if done++; done == cancelAfter {
			cancel()
		}
	}
	err := l.runAll(ctx, tasks)
	for _, e := range []error{l.release(), l.report(tasks)} {
		if e != nil {
			t.Fatal(e)
		}
	}
	return l, err
}

// TestInterrupted interrupts a run, checks the report of the finished tasks, and compares the
// counts with those of the completed run.
func TestInterrupted(t *testing.T) {
	longtest.Only(t)
	dir := t.TempDir()
	l, err := runTiny(t, dir, 12)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted run: %v", err)
	}
	if n := len(l.records); n != 11 {
		t.Errorf("%d records, want 11", n)
	}
	if text := read(t, dir, "report.md"); !strings.Contains(text, "This report is incomplete") {
		t.Error("the report does not say that it is incomplete")
	}
	whole := must.Get(runTiny(t, dir, 0))(t)
	for key, want := range l.records {
		got := whole.records[key]
		if got == nil || got.Passes != want.Passes || got.ErrSigma != want.ErrSigma || got.ErrVectors != want.ErrVectors {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
	}
	checkOutputs(t, dir)
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
	return string(data)
}

// checkOutputs checks the files of a complete run.
func checkOutputs(t *testing.T, dir string) {
	t.Helper()
	report := read(t, dir, "report.md")
	for _, unwanted := range []string{"incomplete", "<no value>", "NaN", "%!"} {
		if strings.Contains(report, unwanted) {
			t.Errorf("the report contains %q", unwanted)
		}
	}
	for _, wanted := range []string{"c0ffee", "a machine", "MNIST", "![Iterations against the gap](gap-iterations.png)"} {
		if !strings.Contains(report, wanted) {
			t.Errorf("the report does not contain %q", wanted)
		}
	}
	for _, name := range regexp.MustCompile(`[a-z0-9-]+\.(png|svg|json)`).FindAllString(report, -1) {
		read(t, dir, name) // every file named in the report exists
	}
	var s Summary
	must.Do(t, json.Unmarshal([]byte(read(t, dir, "paper.json")), &s))
	if len(s.Table) != len(decays)*len(tableMethods) {
		t.Errorf("paper.json has %d lines of the table", len(s.Table))
	}
	for _, figure := range s.Figures {
		if svg := read(t, dir, figure+".svg"); !strings.Contains(svg, "</svg>") {
			t.Errorf("%s.svg is no whole figure", figure)
		}
		if png := read(t, dir, figure+".png"); !strings.HasPrefix(png, "\x89PNG") {
			t.Errorf("%s.png is no figure", figure)
		}
	}
	var records []*Record
	must.Do(t, json.Unmarshal([]byte(read(t, dir, "records.json")), &records))
	if n := len(in(records, "table", "", "")); n != len(decays)*len(tableMethods) {
		t.Errorf("records.json has %d runs of the table", n)
	}
}

// TestGapSlopes checks how iterations grow with the gap on the cases of the figures: iterations are
// the same on every machine, times are not.
func TestGapSlopes(t *testing.T) {
	l := &lab{}
	for _, family := range gapFamilies {
		for _, m := range family.methods {
			var records []*Record
			for _, n := range []int{50, 100} {
				for j := 1; j <= 10; j++ {
					r := record(family.name, "rank 2", m.name, n, j)
					must.Do(t, l.gapCase(t.Context(), r, m, family.rule, n, j))
					if r.Status != "converged" || r.missed() {
						t.Errorf("%s: %s, off by %.3g", r.Key, r.Status, r.ErrVectors)
					}
					records = append(records, r)
				}
			}
			want := -0.5
			switch {
			case strings.HasPrefix(m.name, "gd"), m.name == "power":
				want = -1
			case m.name == "polyak, best β":
				continue // it waits for 100β iterations at any gap
			}
			if slope := gapSlope(records); math.Abs(slope-want) > 0.1 {
				t.Errorf("%s, %s: slope %.3f, want %g", family.name, m.name, slope, want)
			}
		}
	}
}

// TestProjectorError compares projectorError with the formula on explicit projectors, also for
// vectors that are not orthonormal.
func TestProjectorError(t *testing.T) {
	u := haar(20, 3, 1, 1)
	for _, scale := range []float64{0, 1e-3, 1} {
		hat := haar(20, 3, 2, 2)
		hat.Scale(scale, hat)
		hat.Add(hat, u)
		var p, q, d mat.Dense
		p.Mul(u, u.T())
		q.Mul(hat, hat.T())
		d.Sub(&p, &q)
		if got, want := projectorError(u, hat), mat.Norm(&d, 2); math.Abs(got-want) > 1e-14 {
			t.Errorf("scale %g: %.17g, want %.17g", scale, got, want)
		}
	}
	// A difference far below the roundoff of two explicit projectors.
	w := haar(20, 4, 1, 1)
	hat := mat.DenseCopyOf(leading(w, 3))
	for i := range 20 {
		hat.Set(i, 0, hat.At(i, 0)+1e-20*w.At(i, 3))
	}
	if got := projectorError(leading(w, 3), hat); got > 1e-14 {
		t.Errorf("equal spaces: %.3g", got)
	}
}

// TestFactored compares the products through the factors, and through the entries, with those of
// the dense matrix.
func TestFactored(t *testing.T) {
	f := newFactored(30, 7, []float64{3, 2, 0.5})
	var us, m, g, want mat.Dense
	us.Mul(f.u, mat.NewDiagDense(3, f.sigma))
	m.Mul(&us, f.v.T())
	g.Mul(m.T(), &m)
	a := must.Get(f.dense())(t)
	defer a.Close()
	for _, l := range []int{1, 4} {
		x := haar(30, l, 3, 3)
		want.Reset()
		want.Mul(&g, x)
		for name, op := range map[string]solver.Operator{"factors": f, "entries": solver.GramOf(a)} {
			got := mat.NewDense(30, l, nil)
			must.Do(t, op.Apply(t.Context(), got, x))
			if !mat.EqualApprox(got, &want, 1e-13) {
				t.Errorf("%s, %d columns: wrong product", name, l)
			}
		}
	}
	if u := f.left(f.v, f.sigma); !mat.EqualApprox(u, f.u, 1e-14) {
		t.Error("wrong left vectors")
	}
	for _, q := range []*mat.Dense{f.u, f.v} {
		var qtq mat.Dense
		qtq.Mul(q.T(), q)
		if !mat.EqualApprox(&qtq, mat.NewDiagDense(3, []float64{1, 1, 1}), 1e-15) {
			t.Error("columns are not orthonormal")
		}
	}
}
