package solver_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// TestResume cancels random runs and checks that they continue from their checkpoints to the same bits.
func TestResume(t *testing.T) {
	for seed := range uint64(longtest.Pick(300, 15)) {
		c := drawRun(rand.New(rand.NewPCG(seed, 2)))
		c.set.MaxPasses = min(c.set.MaxPasses, 200)
		if liars := []method.Method{
			optimist{power.Iteration{}}, optimist{subspace{}}, optimist{block.Descent{Columns: 2}}, hopeless{power.Iteration{}},
		}; seed%3 == 0 && c.set.Operator == solver.Gram && c.set.Stop == solver.StopResidual {
			c.set.Method = liars[seed/3%4]
		}
		if c.set.Method.Traits(c.set.Rank).Check() == nil {
			t.Run(fmt.Sprint(seed, ": ", c), func(t *testing.T) {
				checkResume(t, c.a, c.set, 2)
				checkInterrupted(t, c.a, c.set, 2)
			})
		}
	}
}

// TestResumeRounds cancels and resumes runs that continue after a finishing pass.
func TestResumeRounds(t *testing.T) {
	for seed := range longtest.Pick(uint64(5), 1) {
		a := solvertest.WithValues(30, 12, seed, 5, 4, 3, 2, 1.5, 1)
		for _, m := range []method.Method{optimist{power.Iteration{}}, hopeless{power.Iteration{}}, optimist{subspace{guard: 1}}} {
			set := solver.Settings{Rank: 4, Seed: seed, Method: m, Tol: 1e-5}
			checkResume(t, a, set, 40)
			set.Init = solvertest.Random(12, 3, seed)
			checkResume(t, a, set, 10)
		}
		// Residuals that end at roundoff, or are meaningless.
		stuck := solver.Settings{Rank: 3, Seed: seed, Method: power.Iteration{}, Tol: 1e-18}
		checkResume(t, solvertest.WithValues(20, 9, 15, 5, 4, 3, 2, 1), stuck, 10)
		stuck.Stop = solver.StopPaper
		checkResume(t, solvertest.WithValues(20, 9, 15, 5, 4, 3, 2, 1), stuck, 20)
		decades := solvertest.WithValues(30, 8, 13, 1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-9, 1e-10, 1e-11)
		checkResume(t, decades, solver.Settings{Rank: 8, Seed: seed, Method: gd.Descent{}}, 40)
		// A scout that ends without evidence is not run again after a resume.
		one := solver.Settings{Rank: 1, Seed: seed, Method: momentum.Polyak{}, Operator: solver.Dilation, Tol: 1e-7, MaxPasses: 8}
		checkResume(t, solvertest.WithValues(1, 1, seed, 1), one, 8)
		// Start vectors in the null space.
		set := solver.Settings{Rank: 4, Seed: seed, Method: power.Iteration{}, Tol: 1e-3, Stop: solver.StopPaper}
		set.Init = mat.NewDense(12, 4, nil)
		for i := range 4 {
			set.Init.Set(11-i, i, 1)
		}
		checkResume(t, solvertest.Diagonal(14, 12, 3, 2, 1), set, 40)
	}
}

// ratings returns a as a matrix with the ID "ratings 7".
func ratings(a *mat.Dense) *denseMatrix {
	d := newDense(a)
	d.ID = "ratings 7"
	return d
}

// example returns a run of many passes, its result, and a checkpoint from its middle.
func example(t testing.TB) (a *mat.Dense, set solver.Settings, full *solver.Result, saved []byte) {
	t.Helper()
	a = solvertest.WithValues(30, 12, 6, 9, 7, 5, 3, 1, 0.5)
	set = solver.Settings{Rank: 4, Seed: 3, Tol: 1e-6, Method: gd.Descent{Eta: 0.9}}
	all := new(checkpoints)
	watched := set
	watched.Checkpointer = all
	full = must.Get(solver.SVD(t.Context(), ratings(a), watched))(t)
	return a, set, full, all.Saved[len(all.Saved)/2]
}

// TestResumeElsewhere resumes runs with changed limits, which is allowed, and runs that a fault has
// ended.
func TestResumeElsewhere(t *testing.T) {
	a, set, full, _ := example(t)
	run := func(t *testing.T, d *denseMatrix, set solver.Settings) *solver.Result {
		t.Helper()
		return must.Get(solver.SVD(t.Context(), d, set))(t)
	}
	last := func(c *checkpoints) []byte { return c.Saved[len(c.Saved)-1] }
	same := func(t *testing.T, got *solver.Result) {
		t.Helper()
		if !slices.Equal(got.Sigma, full.Sigma) || !mat.Equal(got.Right, full.Right) || got.Stats.Passes != full.Stats.Passes {
			t.Errorf("%d passes, σ %v; want %d, %v", got.Stats.Passes, got.Sigma, full.Stats.Passes, full.Sigma)
		}
	}
	t.Run("more passes", func(t *testing.T) {
		all := new(checkpoints)
		limited := set
		limited.Checkpointer, limited.MaxPasses = all, full.Stats.Passes/2
		if res := run(t, ratings(a), limited); res.Status != solver.PassLimit || !res.Certified {
			t.Fatalf("%v", res.Status)
		}
		same(t, run(t, ratings(a), resumedFrom(t, set, last(all))))
	})
	t.Run("fault", func(t *testing.T) {
		for at := 2; at <= full.Stats.Passes; at += 5 {
			saved := new(never)
			faulty := set
			faulty.Checkpointer = saved
			d := ratings(a)
			fault := errors.New("disk on fire")
			d.Hook = failAt(at, fault)
			if _, err := solver.SVD(t.Context(), d, faulty); !errors.Is(err, fault) {
				t.Fatal(err)
			}
			same(t, run(t, ratings(a), resumedFrom(t, set, last(&saved.checkpoints))))
		}
	})
	t.Run("costs", func(t *testing.T) {
		all := new(checkpoints)
		watched := set
		watched.Checkpointer = all
		m := metered{ratings(a)}
		must.Get(solver.SVD(t.Context(), m, watched))(t)
		m = metered{ratings(a)}
		m.Passes = 3 // by an earlier run
		res := must.Get(solver.SVD(t.Context(), m, resumedFrom(t, set, all.Saved[9])))(t)
		if s := res.Stats; s.BytesRead != int64(10*s.Passes) || s.Wait != time.Duration(s.Passes)*time.Minute {
			t.Errorf("costs do not include those of the run before: %+v", s)
		}
	})
}

// TestResumeEigen resumes Eigen from every checkpoint and compares the bits.
func TestResumeEigen(t *testing.T) {
	a := solvertest.WithValues(20, 9, 5, 5, 4, 3, 1)
	set := solver.Settings{Rank: 3, Tol: 1e-6, Method: power.Iteration{}}
	all := new(checkpoints)
	set.Checkpointer = all
	want, err := solver.Eigen(t.Context(), solver.GramOf(ratings(a)), set)
	must.Do(t, err)
	set.Checkpointer = nil
	for i, saved := range all.Saved {
		got := must.Get(solver.Eigen(t.Context(), solver.GramOf(ratings(a)), resumedFrom(t, set, saved)))(t)
		if !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Residuals, want.Residuals) ||
			!mat.Equal(got.Vectors, want.Vectors) || got.Stats.Passes != want.Stats.Passes {
			t.Fatalf("saved after pass %d: eigenpairs differ", all.Passes[i])
		}
	}
	_, err = solver.SVD(t.Context(), ratings(a), resumedFrom(t, set, all.Saved[0]))
	if !errors.As(err, new(*solver.MismatchError)) {
		t.Errorf("SVD goes on from eigenpairs: %v", err)
	}
}

// TestMismatch checks that the checkpoint of another run is refused with the name of the differing setting.
func TestMismatch(t *testing.T) {
	a, set, _, saved := example(t)
	for _, c := range []struct {
		name, was, is string
		change        func(*solver.Settings, *denseMatrix)
	}{
		{"seed", "3", "4", func(s *solver.Settings, _ *denseMatrix) { s.Seed = 4 }},
		{"rank", "4", "5", func(s *solver.Settings, _ *denseMatrix) { s.Rank = 5 }},
		{"method", "gd", "power", func(s *solver.Settings, _ *denseMatrix) { s.Method = power.Iteration{} }},
		{"eta", "0.9", "0.8", func(s *solver.Settings, _ *denseMatrix) { s.Method = gd.Descent{Eta: 0.8} }},
		{"tolerance", "1e-06", "1e-08", func(s *solver.Settings, _ *denseMatrix) { s.Tol = 0 }},
		{"deflation", "projected", "plain", func(s *solver.Settings, _ *denseMatrix) { s.Deflation = solver.Plain }},
		{"stop rule", "residual", "paper", func(s *solver.Settings, _ *denseMatrix) { s.Stop = solver.StopPaper }},
		{"matrix", "ratings 7", "ratings 8", func(_ *solver.Settings, d *denseMatrix) { d.ID = "ratings 8" }},
	} {
		other, d := set, ratings(a)
		c.change(&other, d)
		_, err := solver.SVD(t.Context(), d, resumedFrom(t, other, saved))
		var mismatch *solver.MismatchError
		if !errors.As(err, &mismatch) || *mismatch != (solver.MismatchError{Setting: c.name, Checkpoint: c.was, Run: c.is}) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	_, err := solver.SVD(t.Context(), ratings(solvertest.Random(31, 12, 1)), resumedFrom(t, set, saved))
	if want := "checkpoint was made with shape 30×12 matrix, this run has shape 31×12 matrix"; err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestCheckpointInfo(t *testing.T) {
	_, _, full, saved := example(t)
	c := must.Get(solver.ReadCheckpoint(bytes.NewReader(saved), int64(len(saved))))(t)
	if c.Passes() < 1 || c.Passes() >= full.Stats.Passes || c.Locked() < 1 || c.Locked() > 3 ||
		c.Setting("method") != "gd" || c.Setting("matrix") != "ratings 7" || c.Setting("colour") != "" {
		t.Errorf("%d passes, %d locked, method %q", c.Passes(), c.Locked(), c.Setting("method"))
	}
}

// continueFrom runs SVD from the bytes of a checkpoint.
func continueFrom(t testing.TB, a *mat.Dense, set solver.Settings, data []byte) error {
	t.Helper()
	c, err := solver.ReadCheckpoint(bytes.NewReader(data), int64(len(data)))
	if err == nil {
		set.Resume = c
		_, err = solver.SVD(t.Context(), ratings(a), set)
	}
	return err
}

// TestCorruptCheckpoint changes each byte, truncates to each length and appends a byte: each gives ErrCheckpoint.
func TestCorruptCheckpoint(t *testing.T) {
	a, set, _, saved := example(t)
	for i := range saved {
		bad := slices.Clone(saved)
		bad[i] ^= 0x10
		if err := continueFrom(t, a, set, bad); !errors.Is(err, solver.ErrCheckpoint) {
			t.Fatalf("byte %d changed: got %v", i, err)
		}
		if err := continueFrom(t, a, set, saved[:i]); !errors.Is(err, solver.ErrCheckpoint) {
			t.Fatalf("cut to %d bytes: got %v", i, err)
		}
	}
	if err := continueFrom(t, a, set, append(slices.Clone(saved), 0)); !errors.Is(err, solver.ErrCheckpoint) {
		t.Errorf("a byte too many: got %v", err)
	}
	// A file that shrinks after its size was taken.
	c := must.Get(solver.ReadCheckpoint(bytes.NewReader(saved[:len(saved)-9]), int64(len(saved))))(t)
	set.Resume = c
	if _, err := solver.SVD(t.Context(), ratings(a), set); !errors.Is(err, solver.ErrCheckpoint) {
		t.Errorf("shrunk: got %v", err)
	}
	bad := slices.Clone(saved)
	bad[8] = 9
	if err := continueFrom(t, a, set, bad); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("version 9: got %v", err)
	}
	for _, other := range [][2]string{{`"noise"`, `"noisy"`}, {`"rows":12,"cols":1`, `"rows":03,"cols":4`}, {`"rows":12,"cols":1`, `"rows": 3,"cols":4`}, {`"values","rows":1`, `"values","rows":0`}} {
		bad := bytes.Replace(saved, []byte(other[0]), []byte(other[1]), 1)
		sign(bad)
		if err := continueFrom(t, a, set, bad); bytes.Equal(bad, saved) || !errors.Is(err, solver.ErrCheckpoint) {
			t.Errorf("%s for %s: got %v", other[1], other[0], err)
		}
	}
	fault := errors.New("bad sector")
	broken := io.MultiReader(bytes.NewReader(saved[:100]), &failingReader{fault})
	if _, err := solver.ReadCheckpoint(broken, int64(len(saved))); !errors.Is(err, fault) || errors.Is(err, solver.ErrCheckpoint) {
		t.Errorf("a reader's error is taken for a bad checkpoint: %v", err)
	}
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }

// headerEnd returns the offset at which the numbers of a checkpoint begin.
func headerEnd(data []byte) int { return 16 + int(binary.LittleEndian.Uint32(data[12:])) + 4 }

// sign sets the checksums of a checkpoint whose header is complete.
func sign(data []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	if len(data) < 16 {
		return
	}
	if end := headerEnd(data); end > 20 && end <= len(data)-4 {
		binary.LittleEndian.PutUint32(data[end-4:], crc32.Checksum(data[:end-4], table))
		binary.LittleEndian.PutUint32(data[len(data)-4:], crc32.Checksum(data[:len(data)-4], table))
	}
}

// FuzzCheckpoint resumes from patched checkpoints with corrected checksums: none may make the
// solver panic, hang, or allocate without bound.
func FuzzCheckpoint(f *testing.F) {
	a, set, _, _ := example(f)
	set.MaxPasses = 200
	methods := []method.Method{set.Method, power.Iteration{}, optimist{power.Iteration{}}}
	saved := make([][][]byte, len(methods))
	for i, m := range methods {
		set.Method = m
		watched, all := set, new(checkpoints)
		watched.Checkpointer = all
		must.Get(solver.SVD(f.Context(), ratings(a), watched))(f)
		saved[i] = all.Saved
		numbers := headerEnd(all.Saved[0])
		f.Add(uint8(i), uint8(0), uint16(0), []byte{})
		f.Add(uint8(i), uint8(20), uint16(numbers), make([]byte, 8))
		f.Add(uint8(i), uint8(30), uint16(numbers+60), []byte{1, 2, 3, 4, 5, 6, 0xf0, 0x7f})
		f.Add(uint8(i), uint8(255), uint16(16), []byte(`{"settings":[],"n":99999999999,"locked":-1}`))
	}
	f.Fuzz(func(t *testing.T, method, which uint8, at uint16, patch []byte) {
		m := int(method) % len(methods)
		data := slices.Clone(saved[m][int(which)%len(saved[m])])
		copy(data[min(int(at), len(data)):], patch)
		sign(data)
		run := set
		run.Method = methods[m]
		_ = continueFrom(t, a, run, data)
	})
}

// TestCheckpointStreams checks that saving a large run allocates at most 512 KiB.
func TestCheckpointStreams(t *testing.T) {
	const n = 100_000
	a := solvertest.WithValues(4, 4, 1, 4, 3, 2, 1)
	big := mat.NewDense(4, n, nil)
	big.Slice(0, 4, 0, 4).(*mat.Dense).Copy(a)
	var before, after runtime.MemStats
	probe := &probe{save: func(write func(io.Writer) error) error {
		runtime.ReadMemStats(&before)
		err := write(io.Discard)
		runtime.ReadMemStats(&after)
		return err
	}}
	must.Get(solver.SVD(t.Context(), newDense(big), solver.Settings{Rank: 2, Method: power.Iteration{}, Checkpointer: probe, MaxPasses: 20}))(t)
	if probe.saved == 0 {
		t.Fatal("never saved")
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 512<<10 {
		t.Errorf("%d bytes allocated to save vectors of length %d", bytes, n)
	}
}

// probe is a Checkpointer that is always due.
type probe struct {
	save  func(write func(io.Writer) error) error
	saved int
}

func (p *probe) Due(solver.Stats) bool { return true }

func (p *probe) Save(write func(io.Writer) error) error {
	p.saved++
	return p.save(write)
}

// fullDisk is a Writer with room for left bytes.
type fullDisk struct {
	left int
	err  error
}

func (w *fullDisk) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

// TestSaveFails checks that the Checkpointer decides whether a failed write ends the run.
func TestSaveFails(t *testing.T) {
	a, set, full, _ := example(t)
	noSpace := errors.New("no space left")
	for room := 0; room < 600; room += 50 {
		var seen error
		tolerant := &probe{save: func(write func(io.Writer) error) error {
			seen = write(&fullDisk{room, noSpace})
			return nil
		}}
		set.Checkpointer = tolerant
		res, err := solver.SVD(t.Context(), ratings(a), set)
		if err != nil || !errors.Is(seen, noSpace) || !slices.Equal(res.Sigma, full.Sigma) {
			t.Fatalf("room %d: %v, saw %v", room, err, seen)
		}
		strict := &probe{save: func(write func(io.Writer) error) error { return write(&fullDisk{room, noSpace}) }}
		set.Checkpointer = strict
		if res, err := solver.SVD(t.Context(), ratings(a), set); !errors.Is(err, noSpace) || res != nil || strict.saved != 1 {
			t.Fatalf("room %d: %v, %d attempts", room, err, strict.saved)
		}
	}
}

// TestDeadline ends runs at every reading of the clock: the pairs found until then are finished and
// certified.
func TestDeadline(t *testing.T) {
	a := solvertest.WithValues(20, 10, 8, 4, 2, 1)
	start := time.Unix(1000, 0)
	converged := false
	for limit := 0; !converged; limit++ {
		now := start
		left, saved := solver.NewDenseRows(20, 5), new(never)
		set := solver.Settings{
			Rank: 5, Method: power.Iteration{}, Left: left, Checkpointer: saved,
			Deadline: start.Add(time.Duration(limit) * time.Second),
			Clock:    func() time.Time { defer func() { now = now.Add(time.Second) }(); return now },
		}
		res := must.Get(solver.SVD(t.Context(), ratings(a), set))(t)
		checkResult(t, a, set, res, left.Dense)
		converged = res.Status == solver.Converged
		if !converged && (res.Status != solver.TimeLimit || !res.Certified || res.Stats.Passes > limit+2) {
			t.Errorf("limit %d: %v after %d passes, certified %t", limit, res.Status, res.Stats.Passes, res.Certified)
		}
		if !converged && limit > 0 && len(saved.Saved) != 1 {
			t.Errorf("limit %d: %d checkpoints", limit, len(saved.Saved))
		}
		eigen := must.Get(solver.Eigen(t.Context(), solver.GramOf(ratings(a)), set))(t)
		if eigen.Status == solver.TimeLimit && math.IsNaN(eigen.Residuals[0]) {
			t.Errorf("limit %d: eigenpairs not measured", limit)
		}
		if limit > 1000 {
			t.Fatal("no end")
		}
	}
}

var update = flag.Bool("update", false, "write the fixtures of the current checkpoint version")

// TestCheckpointVersion8 resumes from a stored checkpoint of version 8, so that a change of the format fails
// the test. A checkpoint of version 7, which does not describe the start block, is refused.
func TestCheckpointVersion8(t *testing.T) {
	old := must.Get(os.ReadFile(filepath.Join("testdata", "checkpoint-v7")))(t)
	if _, err := solver.ReadCheckpoint(bytes.NewReader(old), int64(len(old))); !errors.Is(err, solver.ErrCheckpoint) || !strings.Contains(err.Error(), "version 7 cannot be read, only 8: finish the run with the program that began it, or begin anew") {
		t.Errorf("version 7: %v", err)
	}
	name := filepath.Join("testdata", "checkpoint-v8")
	a, set, full, saved := example(t)
	if *update {
		must.Do(t, os.WriteFile(name, saved, 0o666))
	}
	data := must.Get(os.ReadFile(name))(t)
	res := must.Get(solver.SVD(t.Context(), ratings(a), resumedFrom(t, set, data)))(t)
	checkValues(t, res, []float64{9, 7, 5, 3}, set.Tol)
	if d := res.Stats.Passes - full.Stats.Passes; res.Status != solver.Converged || d*d > 1 {
		t.Errorf("%v after %d passes, want %d", res.Status, res.Stats.Passes, full.Stats.Passes)
	}
}

// ExampleCheckpointer saves a run after every pass and resumes from the last checkpoint.
func ExampleCheckpointer() {
	m := sparse.NewCSR(5, 4, []int{0, 1, 2, 3, 4, 4}, []int{0, 1, 2, 3}, []float64{9, 7, 5, 3})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	set := solver.Settings{Rank: 2, Method: power.Iteration{}}
	file := new(toFile)
	set.Checkpointer = file

	ctx, interrupt := context.WithCancel(context.Background())
	set.Observer = func(e solver.Event) error {
		if e.Pass == 19 {
			interrupt()
		}
		return nil
	}
	res, err := solver.SVD(ctx, a, set)
	fmt.Println(res.Status, err)

	set.Observer = nil
	set.Resume, err = solver.ReadCheckpoint(&file.content, int64(file.content.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("going on after pass", set.Resume.Passes())
	res, err = solver.SVD(context.Background(), a, set)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: %.6f\n", res.Status, res.Sigma)
	// Output:
	// cancelled <nil>
	// going on after pass 19
	// converged: [9.000000 7.000000]
}

// toFile keeps the last checkpoint, in memory to keep the example short.
type toFile struct{ content bytes.Buffer }

func (f *toFile) Due(solver.Stats) bool { return true }

func (f *toFile) Save(write func(io.Writer) error) error {
	f.content.Reset()
	return write(&f.content)
}

// TestCheckpointTooLarge checks that a checkpoint with more numbers than a run ever holds is refused before they are in memory.
func TestCheckpointTooLarge(t *testing.T) {
	a, set, _, saved := example(t)
	const more = 4 << 20 // numbers
	size := binary.LittleEndian.Uint32(saved[12:])
	text := bytes.Replace(saved[16:16+size], []byte(`"parts":[`), []byte(fmt.Sprintf(`"parts":[{"name":"more","rows":1,"cols":%d},`, more)), 1)
	large := append(slices.Clone(saved[:12]), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(large[12:], uint32(len(text)))
	large = append(large, text...)
	large = append(large, 0, 0, 0, 0)
	large = append(append(large, make([]byte, 8*more)...), saved[16+size+4:len(saved)-4]...)
	large = append(large, 0, 0, 0, 0)
	sign(large)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := continueFrom(t, a, set, large); !errors.Is(err, solver.ErrCheckpoint) || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*more {
		t.Errorf("%d bytes were allocated", took)
	}
}
