package view

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// readSource counts the blocks read from a Source.
type readSource struct {
	stream.Source
	blocks int
}

func (s *readSource) DecodeBlock(i int, dst *csr.Block) error {
	s.blocks++
	return s.Source.DecodeBlock(i, dst)
}

// TestRecall checks that a view that recalls the statistics of another has the same bits without reading blocks.
func TestRecall(t *testing.T) {
	recalled := 0
	for seed := range 150 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		text, a, transposed := randomPipeline(r), randomMatrix(r), r.IntN(2) == 0
		t.Run(fmt.Sprintf("%d %s", seed, text), func(t *testing.T) {
			p := must.Get(Parse(text))(t)
			v, err := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 1})
			if err != nil {
				return // the pipeline makes an entry a non-number
			}
			recalled++
			src := &readSource{Source: inMemory(a, transposed)}
			w := Plan(src, p, transposed)
			parts := v.Measured()
			for i, n := range w.Lengths() {
				if int64(len(parts[i])) != n {
					t.Fatalf("part %d has %d numbers, the plan %d", i, len(parts[i]), n)
				}
				parts[i] = slices.Clone(parts[i])
			}
			if err := w.Recall(parts); err != nil || src.blocks > 0 {
				t.Fatalf("%v, %d blocks read", err, src.blocks)
			}
			var of [2]*mat.Dense
			for i, v := range []*View{v, w} {
				m := must.Get(stream.NewFrom(v, stream.Options{Workers: 1, Width: 50}))(t)
				of[i] = dense(t, m, transposed)
			}
			x, y := v.Statistics(), w.Statistics()
			for i := range x {
				if !slices.Equal(x[i].Values, y[i].Values) || x[i].Name != y[i].Name || x[i].Step != y[i].Step {
					t.Errorf("statistic %s is %v, measured as %v", x[i].Name, y[i].Values, x[i].Values)
				}
			}
			n, _ := v.Norm()
			if k, _ := w.Norm(); k != n || len(x) != len(y) || !reflect.DeepEqual(of[0].RawMatrix().Data, of[1].RawMatrix().Data) {
				t.Errorf("norm %v, measured as %v, or other values", k, n)
			}
		})
	}
	if recalled < 100 {
		t.Errorf("%d of 150 pipelines are recalled", recalled)
	}
}

// TestRecallRefuses checks that statistics of another shape are refused.
func TestRecallRefuses(t *testing.T) {
	a := mat.NewDense(3, 2, []float64{1, 2, 0, 3, 4, 0})
	p := must.Get(Parse("tfidf · center=columns"))(t)
	v := must.Get(New(t.Context(), inMemory(a, false), p, false, stream.Options{Workers: 1}))(t)
	parts := v.Measured()
	if err := Plan(inMemory(a, false), p, false).Recall(parts[1:]); err == nil {
		t.Error("a part is missing, and nothing is said")
	}
	for i := range parts {
		other := slices.Clone(parts)
		other[i] = append(slices.Clone(parts[i]), 1)
		if err := Plan(inMemory(a, false), p, false).Recall(other); err == nil {
			t.Errorf("part %d has a number more, and nothing is said", i)
		}
	}
}

// TestSumsAsPlanned checks that sums allocate at most the planned bytes.
func TestSumsAsPlanned(t *testing.T) {
	const cols, rows = 1 << 16, 50
	for name, n := range map[string]need{
		"squares": {squares: true}, "total": ofStat(total), "lengths": ofStat(length1, length2), "count": ofStat(count, largest), "moments": {moments: itself}, "known": {known: true},
	} {
		for rank := range 3 {
			q := make([][]float64, rank)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := newSums(n, cols, rows, q, nil)
			runtime.ReadMemStats(&after)
			if made, planned := after.TotalAlloc-before.TotalAlloc, n.bytes(cols, rows, rank); made > uint64(planned)+1<<16 {
				t.Errorf("%s, rank %d: %d bytes are made, %d planned", name, rank, made, planned)
			}
			runtime.KeepAlive(s)
		}
	}
}
