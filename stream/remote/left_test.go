package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

// oneLess returns a store of several blocks, its matrix, and a number of triplets above the rank of the matrix.
func oneLess(t *testing.T) (*csr.Store, *mat.Dense, int) {
	t.Helper()
	const rank = 3
	var a mat.Dense
	a.Mul(solvertest.Random(9000, rank, 1), solvertest.Random(rank, 90, 2))
	store := csrtest.FromDense(t, &a, csr.CreateOptions{ShardSize: 2 << 20})
	if store.NumBlocks() < 3 {
		t.Fatalf("%d blocks", store.NumBlocks())
	}
	return store, &a, rank + 2
}

// factors returns the factors of a run whose tasks make the left vectors, as bytes.
func factors(t *testing.T, store *csr.Store, k int, signLeft bool, o Options) ([]byte, *solver.Result, *mat.Dense) {
	t.Helper()
	o.Groups = 3
	m := begin(t, store, o)
	left := m.Left()
	res := must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: k, Left: left, SignLeft: signLeft, Seed: 1, Workers: 1}))(t)
	name := filepath.Join(t.TempDir(), "U.npy")
	a := must.Get(npy.Create(vfs.OS(), name, store.Rows(), int64(k)))(t)
	must.Do(t, left.WriteTo(t.Context(), a))
	sum, whole := must.Get(a.Finish())(t), new(crc.Summer)
	_, _ = whole.Write(must.Get(os.ReadFile(name))(t))
	if !reflect.DeepEqual(sum, *whole) {
		t.Errorf("sums %+v, those of the file are %+v", sum, *whole)
	}
	in := must.Get(npy.Open(vfs.OS(), name))(t)
	u := solver.NewDenseRows(int(store.Rows()), k)
	must.Do(t, errors.Join(in.ReadRows(0, 0, u.Dense), in.Close()))
	b := must.Get(binary.Append(nil, binary.LittleEndian, append(append(res.Sigma, u.Dense.RawMatrix().Data...), res.Right.RawMatrix().Data...)))(t)
	return b, res, u.Dense
}

// spoiling is an engine that damages each piece with rows once, after it is first made.
type spoiling struct {
	Local
	done map[string]bool
}

func (s *spoiling) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	err := s.Local.Run(ctx, tasks, answer)
	name := filepath.Join(tasks[0].Dir, tasks[0].Out)
	if tasks[0].Out == "" || s.done[name] {
		return err
	}
	s.done[name] = true
	b, e := os.ReadFile(name)
	if e != nil {
		return errors.Join(err, e)
	}
	b[len(b)/2] ^= 1
	return errors.Join(err, os.WriteFile(name, b, 0o666))
}

// afar is an engine with one worker on a machine that has another file, or none, under the path of the result.
type afar struct {
	Local
	path string
}

func (a *afar) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	tasks = slices.Clone(tasks)
	if last := &tasks[len(tasks)-1]; last.Turn != nil && last.Turn.Into != nil {
		turn, into := *last.Turn, *last.Turn.Into
		into.Path, turn.Into = a.path, &into
		last.Turn = &turn
	}
	return a.Local.Run(ctx, tasks, answer)
}

// TestLeft checks the left vectors that tasks make and rotate, random ones for zero values included, against
// the matrix; the bits are the same on all engines, and if a piece of each generation is damaged once.
func TestLeft(t *testing.T) {
	store, a, k := oneLess(t)
	for _, signLeft := range longtest.Pick([]bool{false, true}, []bool{true}) {
		ref, res, u := factors(t, store, k, signLeft, Options{})
		if res.Status != solver.Converged || res.Rank != k-2 || !(res.OrthLeft < 1e-12) {
			t.Errorf("%v, rank %d, off by %g", res.Status, res.Rank, res.OrthLeft)
		}
		var av, us mat.Dense
		av.Mul(a, res.Right)
		us.Mul(u, mat.NewDiagDense(k, res.Sigma))
		if av.Sub(&av, &us); mat.Norm(&av, 2) > 1e-8*res.Sigma[0] {
			t.Errorf("A·V and U·Σ are %g apart", mat.Norm(&av, 2))
		}
		spoil := &spoiling{Local{Worker: &Worker{Workers: 2}}, map[string]bool{}}
		inputs := &unreliable{Local: Local{Worker: &Worker{Workers: 2}}, spoil: true}
		other := filepath.Join(t.TempDir(), "U.npy")
		before := bytes.Repeat([]byte("another result "), 1<<16)
		must.Do(t, os.WriteFile(other, before, 0o666))
		engines := []Engine{processes(t, ""), processes(t, "die"), spoil, inputs}
		for _, path := range []string{other, other + ".none", other + "/U.npy"} {
			engines = append(engines, &afar{Local{Worker: &Worker{Workers: 2}}, path})
		}
		for _, e := range engines {
			if got, _, _ := factors(t, store, k, signLeft, Options{Engine: e}); !bytes.Equal(got, ref) {
				t.Errorf("%s: other bits", e.Name())
			}
		}
		if after := must.Get(os.ReadFile(other))(t); !bytes.Equal(after, before) {
			t.Error("a file of another result has been written into")
		}
		if len(spoil.done) < 3 {
			t.Errorf("%d pieces were damaged: the test misses what it is for", len(spoil.done))
		}
	}
}

// looking is a file system that records the names of opened files.
type looking struct {
	vfs.FS
	opened []string
}

func (l *looking) Open(name string) (vfs.File, error) {
	l.opened = append(l.opened, name)
	return l.FS.Open(name)
}

// TestLeftStaysAway checks that the driver opens no piece with rows of left vectors if workers see the result.
func TestLeftStaysAway(t *testing.T) {
	store, _, k := oneLess(t)
	fsys := &looking{FS: vfs.OS()}
	m := begin(t, store, Options{FS: fsys})
	left := m.Left()
	must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: k, Left: left, Seed: rand.Uint64(), Workers: 1}))(t)
	a := must.Get(npy.Create(vfs.OS(), filepath.Join(t.TempDir(), "U.npy"), store.Rows(), int64(k)))(t)
	must.Do(t, left.WriteTo(t.Context(), a))
	must.Get(a.Finish())(t)
	for _, name := range fsys.opened {
		if strings.Contains(name, "-out-") {
			t.Fatalf("%s is read by the driver", name)
		}
	}
	if len(fsys.opened) == 0 {
		t.Error("nothing is: the test misses what it is for")
	}
}
