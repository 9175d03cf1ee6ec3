package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// faulty in the environment makes the test binary a worker: a sound one if it is empty, else one
// with the named fault, which occurs once among all workers that share a mark.
const (
	faulty = "GDSVD_TEST_WORKER"
	mark   = "GDSVD_TEST_MARK"
)

func TestMain(m *testing.M) {
	if how, ok := os.LookupEnv(faulty); ok {
		worker(how)
		return
	}
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

func worker(how string) {
	w, in := &Worker{Workers: 1}, bufio.NewReader(os.Stdin)
	if how != "" {
		f, err := os.OpenFile(os.Getenv(mark), os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			how = ""
		} else {
			f.Close()
		}
	}
	switch how {
	case "hang":
		time.Sleep(time.Hour)
	case "lie":
		var r request
		line, _ := in.ReadBytes('\n')
		_ = json.Unmarshal(line, &r)
		_ = json.NewEncoder(os.Stdout).Encode(Answer{ID: r.ID})
	case "die": // in the middle of a task, by SIGKILL
		w.FS = deadly{vfs.OS()}
	}
	if err := w.Serve(context.Background(), in, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// deadly kills the process when a piece is published.
type deadly struct{ vfs.FS }

func (d deadly) Rename(string, string) error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err == nil {
		select {}
	}
	return err
}

const rows, columns = 1500, 500

// manyBlocks returns a store of several blocks and its matrix.
func manyBlocks(t *testing.T) (*csr.Store, *mat.Dense) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	a := mat.NewDense(rows, columns, nil)
	for i := range rows {
		for j := range columns {
			if rng.Float64() < 0.9 || i%100 == 0 {
				a.Set(i, j, (float64(rng.IntN(5))+rng.NormFloat64())*(1+100/float64(j+1)))
			}
		}
	}
	store := csrtest.FromDense(t, a, csr.CreateOptions{ShardSize: 2 << 20})
	if store.NumBlocks() < 5 || len(store.Manifest().Shards) < 2 {
		t.Fatalf("%d blocks in %d shards", store.NumBlocks(), len(store.Manifest().Shards))
	}
	return store, a
}

// single returns the matrix on one machine.
func single(t *testing.T, src stream.Source) *stream.Matrix {
	t.Helper()
	return must.Get(stream.NewFrom(src, stream.Options{Workers: 1}))(t)
}

// begin returns a run over a store that is closed at the end of the test.
func begin(t *testing.T, store *csr.Store, o Options) *Matrix {
	t.Helper()
	if o.Shared == "" {
		o.Shared = t.TempDir()
	}
	if o.Engine == nil {
		o.Engine = &Local{Worker: &Worker{Workers: 1}}
	}
	o.Groups, o.Wait = max(o.Groups, 4), time.Millisecond
	m := must.Get(New(Subject{Store: store, Info: single(t, store).Info()}, o))(t)
	t.Cleanup(func() {
		if err := errors.Join(m.Close(), o.Engine.Close()); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(o.Shared); !inBucket(o.Shared) && (err != nil || len(left) > 0) {
			t.Errorf("a run leaves %v (%v)", left, err)
		}
	})
	return m
}

// outcome returns the results of passes of all kinds, as bytes.
func outcome(m solver.Matrix) ([]byte, error) {
	i, l := m.Info(), 3
	x, y := solvertest.Random(i.Cols, l, 1), solvertest.Random(int(i.Rows), l, 2)
	var all []float64
	for _, kind := range []string{"gram", "finish", "transposed", "both"} {
		sum, out, r := mat.NewDense(i.Cols, l, nil), mat.NewDense(int(i.Rows), l, nil), mat.NewDense(l, l, nil)
		p := solver.Pass{X: x, Sum: sum}
		switch kind {
		case "finish":
			p.RowsOut.Block, p.R = out, r
		case "transposed":
			p.X, p.RowsIn.Block = nil, y
		case "both":
			p.RowsIn.Block, p.RowsOut.Block = y, out
		}
		if _, err := m.Run(context.Background(), p); err != nil {
			return nil, err
		}
		r.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, r) // R is unique up to signs
		all = slices.Concat(all, sum.RawMatrix().Data, out.RawMatrix().Data, r.RawMatrix().Data)
	}
	return binary.Append(nil, binary.LittleEndian, all)
}

// want returns the outcome with an engine without faults.
func want(t *testing.T, store *csr.Store) []byte {
	t.Helper()
	return must.Get(outcome(begin(t, store, Options{})))(t)
}

func numbersOf(b []byte) *mat.VecDense {
	x := make([]float64, len(b)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return mat.NewVecDense(len(x), x)
}

// processes returns an engine whose workers are processes of the test binary, with the given fault.
func processes(t *testing.T, how string) *Command {
	t.Helper()
	self := must.Get(os.Executable())(t)
	t.Setenv(faulty, how)
	t.Setenv(mark, filepath.Join(t.TempDir(), "mark"))
	return &Command{Args: []string{self}, Label: "command", Processes: 2, Window: 1, Timeout: 20 * time.Second}
}

// TestConforms runs CheckMatrix on a matrix whose passes are tasks.
func TestConforms(t *testing.T) {
	store, a := manyBlocks(t)
	for _, piece := range longtest.Pick([]int64{0, 8000}, []int64{8000}) { // sums in one piece, and in many pieces that tasks add up
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			solvertest.CheckMatrix(t, begin(t, store, Options{PieceSize: piece}), a)
		})
	}
}

// TestSameBits checks that all engines have the same bits, with every fault, and those of one machine up to rounding.
func TestSameBits(t *testing.T) {
	store, _ := manyBlocks(t)
	ref := want(t, store)
	one := must.Get(outcome(single(t, store)))(t)
	var d mat.VecDense
	d.SubVec(numbersOf(ref), numbersOf(one))
	if e, size := mat.Norm(&d, 2), mat.Norm(numbersOf(one), 2); e > 1e-12*size {
		t.Errorf("off by %g of %g", e, size)
	}
	spoil := &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, spoil: true}
	for name, o := range map[string]Options{
		"spoilt inputs": {Engine: spoil},
		"parallel":      {Engine: &Local{Worker: &Worker{Workers: 2}, Parallel: 3}},
		"many pieces":   {PieceSize: 4000},
		"processes":     {Engine: processes(t, "")},
		"a lie":         {Engine: &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, lie: true}},
		"twice":         {Engine: &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, twice: true}, PieceSize: 4000},
		"damage":        {Engine: &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, damage: true}},
		"damaged parts": {Engine: &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, damage: true}, PieceSize: 4000},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(outcome(begin(t, store, o)))(t)
			if !bytes.Equal(got, ref) {
				t.Error("other bits")
			}
		})
	}
	if spoil.spoilt < 5 {
		t.Errorf("%d pieces were damaged: the test misses what it is for", spoil.spoilt)
	}
}

// TestView checks that workers that compile a view from the driver's statistics have the results of one machine up to rounding.
func TestView(t *testing.T) {
	store, _ := manyBlocks(t)
	const text = "bm25 | center=columns"
	p := must.Get(view.Parse(text))(t)
	v := must.Get(view.New(t.Context(), store, p, false, stream.Options{}))(t)
	one := single(t, v)
	ref := must.Get(outcome(one))(t)
	for _, e := range []Engine{&Local{Worker: &Worker{Workers: 1}}, processes(t, ""), &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, spoil: true}} {
		m := must.Get(New(Subject{Store: store, View: v, Pipeline: text, Info: one.Info()}, Options{Engine: e, Shared: t.TempDir(), Groups: 3}))(t)
		got, err := outcome(m)
		if err = errors.Join(err, m.Close(), e.Close()); err != nil {
			t.Fatal(err)
		}
		var d mat.VecDense
		d.SubVec(numbersOf(got), numbersOf(ref))
		if e, size := mat.Norm(&d, 2), mat.Norm(numbersOf(ref), 2); e > 1e-12*size {
			t.Errorf("off by %g of %g", e, size)
		}
	}
}

// TestSplit checks that groups are consecutive blocks with about equal numbers of entries, as far as blocks allow.
func TestSplit(t *testing.T) {
	store, _ := manyBlocks(t)
	for n := 1; n < store.NumBlocks()+3; n++ {
		all := split(store, n)
		if len(all) != min(n, store.NumBlocks()) {
			t.Fatalf("%d groups, want %d", len(all), n)
		}
		block, row := 0, int64(0)
		for _, g := range all {
			if g.from != block || g.first != row || g.to <= g.from || g.rows <= 0 || g.to-g.from > 2*(store.NumBlocks()/len(all)+1) {
				t.Errorf("%d groups: %+v", n, all)
			}
			block, row = g.to, g.first+g.rows
		}
		if block != store.NumBlocks() || row != store.Rows() {
			t.Errorf("%d groups end with block %d and row %d", n, block, row)
		}
	}
}

// TestMeasure checks that statistics measured by tasks are those of one machine up to rounding, for
// several pipelines and numbers of groups, and have the same bits on all engines.
func TestMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	a := mat.NewDense(12000, 60, nil)
	for i := range 12000 {
		for j := range 60 {
			if rng.Float64() < 0.6/(1+float64(j)/20) {
				a.Set(i, j, float64(1+rng.IntN(9)))
			}
		}
	}
	stores := map[bool]*csr.Store{}
	for _, transposed := range []bool{false, true} {
		stores[transposed] = csrtest.FromDense(t, a, csr.CreateOptions{Transposed: transposed})
		if n := stores[transposed].NumBlocks(); n < 2 {
			t.Fatalf("%d blocks", n)
		}
	}
	measured := func(text string, transposed bool, e Engine) *mat.VecDense {
		p, err := view.Parse(text)
		must.Do(t, err)
		store := stores[transposed]
		v := view.Plan(store, p, transposed)
		if e == nil {
			err = v.Measure(t.Context(), stream.Options{})
		} else {
			var m *Matrix
			if m, err = New(Subject{Store: store, View: v, Pipeline: text}, Options{Engine: e, Shared: t.TempDir(), Groups: 2, Wait: time.Millisecond}); err == nil {
				read := int64(0)
				err = errors.Join(m.Measure(t.Context(), stream.Options{}, func(n int64) { read += n }), m.Close(), e.Close())
				if read == 0 {
					t.Error("nothing is said to be read")
				}
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var all []float64
		for _, part := range v.Measured() {
			all = append(all, part...)
		}
		return mat.NewVecDense(len(all), all)
	}
	for i, text := range []string{
		"normalize=rows,total:median | log1p | keep=columns,hvg:20 | center=columns", "center=columns", "center=columns | scale=columns", "center=both", "bm25", "ppmi", "tfidf", "laplacian", "laplacian=2", "correspondence",
		"bias=both,damping:5", "normalize=columns,total:median",
		"weight=rows,norm:-0.5 | weight=columns,count:-0.3", "drop=columns,count<5 | log1p | normalize=columns,l2", "normalize=rows,max | center=columns | scale=columns,ddof:1",
	} {
		for _, transposed := range []bool{false, true} {
			if !longtest.On() && transposed != (i%2 == 1) {
				continue
			}
			one, local := measured(text, transposed, nil), measured(text, transposed, &Local{Worker: &Worker{Workers: 2}})
			var d mat.VecDense
			if d.SubVec(one, local); mat.Norm(&d, math.Inf(1)) > 1e-12*mat.Norm(one, math.Inf(1)) {
				t.Errorf("%s: off by %g of %g", text, mat.Norm(&d, math.Inf(1)), mat.Norm(one, math.Inf(1)))
			}
			engines := []Engine{&unreliable{Local: Local{Worker: &Worker{Workers: 1}}, damage: true}}
			if i == 0 || longtest.On() { // starting processes takes most of the time
				engines = append(engines, processes(t, ""), processes(t, "die"))
			}
			for _, e := range engines {
				if !mat.Equal(measured(text, transposed, e), local) {
					t.Errorf("%s: %s has other bits", text, e.Name())
				}
			}
		}
	}
}

// TestMeasureValue checks that a step that gives a non-number ends the run at once.
func TestMeasureValue(t *testing.T) {
	store, _ := manyBlocks(t)
	p := must.Get(view.Parse("log1p"))(t)
	v := view.Plan(store, p, false)
	m, err := New(Subject{Store: store, View: v, Pipeline: "log1p"}, Options{Engine: processes(t, ""), Shared: t.TempDir(), Groups: 2})
	must.Do(t, err)
	err = errors.Join(m.Measure(t.Context(), stream.Options{}, func(int64) {}), m.Close(), m.opt.Engine.Close())
	if err == nil || !strings.Contains(err.Error(), "log1p makes -") || m.Stats().Retries > 0 {
		t.Errorf("%v after %+v", err, m.Stats())
	}
}
