package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// TestFaultyProcesses checks that workers that are killed within a task, hang, or answer "done" without output change no bit.
func TestFaultyProcesses(t *testing.T) {
	store, _ := manyBlocks(t)
	ref := want(t, store)
	for _, how := range longtest.Pick([]string{"die", "hang", "lie"}, []string{"die"}) {
		t.Run(how, func(t *testing.T) {
			e := processes(t, how)
			if how == "hang" {
				e.Timeout = time.Second
			}
			m := begin(t, store, Options{Engine: e})
			got := must.Get(outcome(m))(t)
			if !bytes.Equal(got, ref) {
				t.Error("other bits")
			}
			if m.Stats().Retries == 0 {
				t.Error("nothing was tried again: the test misses what it is for")
			}
		})
	}
}

// unreliable is an engine with one fault per stage.
type unreliable struct {
	Local
	lie    bool // a task is reported as done but not run
	twice  bool // all tasks are run twice
	damage bool // a written piece is damaged
	spoil  bool // a piece that tasks read is damaged
	seen   map[string]bool
	spoilt int // number of damaged pieces
}

// flip damages a piece if it exists.
func flip(name string) {
	if b, err := os.ReadFile(name); err == nil {
		b[3] ^= 1
		if err := os.WriteFile(name, b, 0o666); err != nil {
			panic(err)
		}
	}
}

func (u *unreliable) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	key := fmt.Sprint(tasks[0].Dir, tasks[0].made())
	first := !u.seen[key]
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[key] = true
	if t := tasks[0]; u.spoil {
		given := []string{t.X, t.In}
		if t.View != nil {
			given = append(given, t.View.Measured)
		}
		if t.Turn != nil {
			given = append(given, t.Turn.By)
		}
		if t.Job != nil {
			given = append(given, t.Job.In)
		}
		for _, name := range given {
			if at := filepath.Join(t.Dir, name); name != "" && !u.seen[at] {
				flip(at)
				u.spoilt, u.seen[at] = u.spoilt+1, true
			}
		}
	}
	if u.lie && first {
		answer(Answer{})
		tasks = tasks[1:]
	}
	err := u.Local.Run(ctx, tasks, func(a Answer) {
		if u.lie && first {
			a.ID++
		}
		answer(a)
	})
	if u.twice && err == nil {
		err = u.Local.Run(ctx, tasks, answer)
	}
	if u.damage && first && err == nil {
		flip(filepath.Join(tasks[0].Dir, tasks[0].made()[0]))
	}
	return err
}

// TestRetries checks that tasks of a stage after one with a retry do not count as tried again.
func TestRetries(t *testing.T) {
	store, _ := manyBlocks(t)
	once := &unreliable{Local: Local{Worker: &Worker{Workers: 1}}, lie: true, seen: map[string]bool{}}
	m := begin(t, store, Options{Engine: once, PieceSize: 400})
	i := m.Info()
	r := &pass{Matrix: m, want: solver.Pass{X: mat.NewDense(i.Cols, 1, nil), Sum: mat.NewDense(i.Cols, 1, nil)}, l: 1}
	m.pass++
	r.plan()
	once.seen[fmt.Sprint(m.run.dir, r.second[0].made())] = true // nothing goes wrong with the second stage
	must.Do(t, r.putInputs(t.Context()))
	must.Do(t, r.complete(t.Context(), [][]Task{r.first, r.second}, r.collect))
	if s := m.Stats(); s.Retries != 1 || s.Tasks != len(r.first)+len(r.second)+1 {
		t.Errorf("%+v of %d and %d tasks, want 1 again", s, len(r.first), len(r.second))
	}
	must.Do(t, r.clear())
}

// TestDamagedShard checks that a damaged shard ends the run at once, with an error that names file and block.
func TestDamagedShard(t *testing.T) {
	store, _ := manyBlocks(t)
	shard := filepath.Join(store.Path(), store.Manifest().Shards[1].Name)
	b := must.Get(os.ReadFile(shard))(t)
	b[len(b)/2] ^= 1
	must.Do(t, os.WriteFile(shard, b, 0o666))
	for _, e := range []Engine{&Local{Worker: &Worker{Workers: 1}}, processes(t, "")} {
		m := begin(t, store, Options{Engine: e})
		_, err := outcome(m)
		if !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(shard)+": block ") || m.Stats().Retries > 0 {
			t.Errorf("%s: %v after %+v", e.Name(), err, m.Stats())
		}
	}
}

// TestFullDisk checks that a full disk ends the run with its error and leaves no files; once there is room, the next pass works.
func TestFullDisk(t *testing.T) {
	store, _ := manyBlocks(t)
	ref := want(t, store)
	full := vfstest.DiskFull(1 << 16)
	for _, worker := range []bool{true, false} {
		broken := true
		fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
			if broken {
				return full(o)
			}
			return nil
		}}
		o := Options{Engine: &Local{Worker: &Worker{FS: fsys, Workers: 1}}, Tries: 2}
		if !worker {
			o = Options{FS: fsys, Tries: 2}
		}
		m := begin(t, store, o)
		_, err := outcome(m)
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("of a worker %t: %v", worker, err)
		}
		broken = false
		got, err := outcome(m)
		if err != nil || !bytes.Equal(got, ref) {
			t.Errorf("afterwards: %v, the same %t", err, bytes.Equal(got, ref))
		}
	}
}

// TestEarlierRun checks that the files of an earlier run are removed, and not read under the same name. A live run
// keeps its folder.
func TestEarlierRun(t *testing.T) {
	store, _ := manyBlocks(t)
	shared := t.TempDir()
	left := folder{disk{vfs.OS()}, filepath.Join(shared, runPrefix+"dead")}
	must.Do(t, os.Mkdir(left.dir, 0o777))
	x := mat.NewDense(1, 2, []float64{1, 2})
	must.Do(t, left.put("000001-x", x, 0, 1))
	stale := must.Get(os.ReadFile(left.path("000001-x")))(t)
	m := begin(t, store, Options{Shared: shared})
	if _, err := os.Stat(left.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is there")
	}
	must.Do(t, os.WriteFile(m.run.path("000001-x"), stale, 0o666))
	if err := m.run.get("000001-x", make([]float64, 2)); !errors.As(err, new(*badPiece)) {
		t.Errorf("a piece of another run: %v", err)
	}
	if _, err := New(m.subject, Options{Engine: m.opt.Engine, Shared: shared, Groups: 2}); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("a second run in the same folder: %v", err)
	}
}

// TestRefused checks that a task refused by a worker is not tried again.
func TestRefused(t *testing.T) {
	store, _ := manyBlocks(t)
	w := &Worker{Memory: 1 << 20, Workers: 1}
	m := begin(t, store, Options{Engine: &Local{Worker: w}})
	_, err := outcome(m)
	if err == nil || m.Stats().Retries > 0 || !strings.Contains(err.Error(), "budget") {
		t.Errorf("%v after %+v", err, m.Stats())
	}
	task := Task{Version: version, Columns: 1, Store: store.Path(), Fingerprint: "another"}
	for what, change := range map[string]func(*Task){
		"another one":     func(*Task) {},
		"version 9":       func(t *Task) { t.Version = 9 },
		"0 columns":       func(t *Task) { t.Columns = 0 },
		"blocks 0 to 999": func(t *Task) { t.To, t.Fingerprint = 999, store.Fingerprint() },
	} {
		some := task
		change(&some)
		if a := (&Worker{}).Do(t.Context(), some); a.Kind != Refused || !strings.Contains(a.Error, what) {
			t.Errorf("%s: %+v", what, a)
		}
	}
	mixed := &pass{Matrix: &Matrix{kernel: "amd64 avx2"}}
	if err := mixed.check(Answer{Kernel: "arm64 portable"}); !errors.As(err, new(*final)) {
		t.Errorf("workers of two kinds: %v", err)
	}
}

// simulated is an engine with latencies: one task in a hundred is lost, with or without an error, run twice or late.
type simulated struct {
	*Worker
	lost int
}

func (s *simulated) Name() string { return "simulated" }

func (s *simulated) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	rng := rand.New(rand.NewPCG(uint64(len(tasks)), 1))
	answers := make(chan Answer, len(tasks))
	for i, t := range tasks {
		fate, latency := rng.IntN(300), time.Duration(rng.IntN(1000))*time.Microsecond
		if rng.IntN(100) == 0 {
			latency *= 10
		}
		time.AfterFunc(latency, func() {
			a := Answer{ID: i}
			switch fate {
			case 0, 1: // lost without an error
			case 2:
				a.Error = "worker lost"
			case 3, 4, 5:
				s.Do(ctx, t)
				fallthrough
			default:
				a = s.Do(ctx, t)
				a.ID = i
			}
			answers <- a
		})
		if fate < 3 {
			s.lost++
		}
	}
	for range tasks {
		answer(<-answers)
	}
	return nil
}

// TestManyTasks checks that many tasks, some of them lost, late or run twice, have the same bits.
func TestManyTasks(t *testing.T) {
	tasks, rows := 150, 1000
	if longtest.On() {
		tasks, rows = 10000, 20
	}
	store := csrtest.FromDense(t, solvertest.Random(rows, tasks, 3), csr.CreateOptions{})
	run := func(o Options) (*mat.Dense, Stats) {
		o.PieceSize = 8
		sum := mat.NewDense(tasks, 1, nil)
		m := begin(t, store, o)
		must.Get(m.Run(t.Context(), solver.Pass{X: solvertest.Random(tasks, 1, 1), Sum: sum}))(t)
		return sum, m.Stats()
	}
	ref, _ := run(Options{})
	e := &simulated{Worker: &Worker{Workers: 1}}
	got, stats := run(Options{Engine: e})
	if !mat.Equal(got, ref) || e.lost == 0 || stats.Tasks < tasks {
		t.Errorf("equal %t, with %d of %d tasks lost", mat.Equal(got, ref), e.lost, stats.Tasks)
	}
}

// TestBudgetOfTask checks that tasks of several widths work with the bytes that a refusal names, X and the sum included,
// and hold no more.
func TestBudgetOfTask(t *testing.T) {
	const n, block = 100000, 8 * 100000
	store := csrtest.FromDense(t, solvertest.Random(1, n, 1), csr.CreateOptions{})
	pieces := folder{disk{vfs.OS()}, t.TempDir()}
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var most int64
	before := held()
	w := &Worker{Workers: 1, FS: &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if o.Kind == vfstest.OpCreate {
			most = held() - before
		}
		return nil
	}}}
	for i, l := range []int{16, 16, 8, 1, 1} {
		x := fmt.Sprintf("%06d-x", i)
		must.Do(t, pieces.put(x, solvertest.Random(n, l, 2), 0, n))
		var least *stream.BudgetError
		if _, err := stream.PlanFor(store, stream.Options{Memory: 1, Workers: 1, Width: l, Rank: l, Once: true}); !errors.As(err, &least) {
			t.Fatal(err)
		}
		task := Task{Version: version, Columns: l, Store: store.Path(), Fingerprint: store.Fingerprint(), To: store.NumBlocks(), Dir: pieces.dir, X: x, Sum: []string{x + "-sum"}, R: x + "-r"}
		small := &Worker{Workers: 1, Memory: least.Need - 1}
		if a := small.Do(t.Context(), task); a.Kind != Memory || !strings.Contains(a.Error, least.Error()[strings.Index(least.Error(), "at least"):]) {
			t.Errorf("%d columns within %d bytes: %+v", l, small.Memory, a)
		}
		w.Memory = least.Need
		planned := 100000 - int64(l)*block // the store and the pieces take a few bytes, and X is mapped
		for _, p := range least.Parts {
			if p.Heap && p.Name != "garbage" {
				planned += p.Bytes
			}
		}
		if a := w.Do(t.Context(), task); a.Error != "" || most > planned {
			t.Errorf("%d columns: %d bytes are held, planned are %d; %s", l, most, planned, a.Error)
		}
	}
}

// TestRows checks that Rows delivers each row once and in order with an engine that lies, runs tasks twice and
// damages pieces; a worker whose program fails or makes too few rows ends it with its error.
func TestRows(t *testing.T) {
	const rows, columns = 1001, 3
	make := func(_ context.Context, _ *Worker, j Job, in []float64, n int, write func([]float64) error) error {
		for i := range n {
			if err := write([]float64{float64(j.First) + float64(i), in[0], float64(len(j.Spec))}); err != nil {
				return err
			}
		}
		return nil
	}
	few := func(_ context.Context, _ *Worker, _ Job, _ []float64, n int, write func([]float64) error) error {
		return write([]float64{0, 0, 0}[:n%4])
	}
	run := func(e Engine, groups int) error {
		next := 0
		err := Rows(t.Context(), Options{Engine: e, Shared: t.TempDir(), Groups: groups, Wait: 1}, "kind", "spec", []float64{7}, rows, columns, func(first int64, x *mat.Dense) error {
			n, _ := x.Dims()
			for i := range n {
				if want := []float64{float64(next), 7, 6}; first+int64(i) != int64(next) || !slices.Equal(x.RawRowView(i), want) {
					t.Fatalf("row %d is %v, want %v", first+int64(i), x.RawRowView(i), want)
				}
				next++
			}
			return nil
		})
		if err == nil && next != rows {
			t.Errorf("%d rows", next)
		}
		return err
	}
	local := Local{Worker: &Worker{Make: map[string]Make{"kind": make}}, Parallel: 2}
	for _, e := range []Engine{&local, &unreliable{Local: local, lie: true}, &unreliable{Local: local, twice: true}, &unreliable{Local: local, damage: true}, &unreliable{Local: local, spoil: true}} {
		for _, groups := range []int{1, 7, 5000} {
			if err := run(e, groups); err != nil {
				t.Errorf("%d groups: %v", groups, err)
			}
		}
	}
	if err := run(&Local{Worker: &Worker{Make: map[string]Make{"other": make}}}, 3); err == nil || !strings.Contains(err.Error(), "which this worker does not make") {
		t.Error(err)
	}
	if err := run(&Local{Worker: &Worker{Make: map[string]Make{"kind": few}}}, rows/3); err == nil || !strings.Contains(err.Error(), "rows too few") {
		t.Error(err)
	}
}

// delayed is a file system that remembers which names were missing until this process changes a folder, as clients of NFS do
// (nfs(5), lookupcache).
type delayed struct {
	vfs.FS
	missing map[string]bool
}

func (d *delayed) Stat(name string) (fs.FileInfo, error) {
	if d.missing[name] {
		return nil, fs.ErrNotExist
	}
	info, err := d.FS.Stat(name)
	d.missing[name] = errors.Is(err, fs.ErrNotExist)
	return info, err
}

func (d *delayed) Create(name string) (vfs.File, error) {
	clear(d.missing)
	return d.FS.Create(name)
}

// TestDelayed checks that pieces of workers elsewhere are found in a folder whose missing names the driver's system remembers.
func TestDelayed(t *testing.T) {
	store, _ := manyBlocks(t)
	m := begin(t, store, Options{FS: &delayed{vfs.OS(), map[string]bool{}}, PieceSize: 4000})
	if got, err := outcome(m); err != nil || !bytes.Equal(got, want(t, store)) || m.Stats().Retries > 0 {
		t.Errorf("%v, %+v", err, m.Stats())
	}
}

// TestPieceElsewhere checks that no answer makes the driver remove a file outside the folder of the run.
func TestPieceElsewhere(t *testing.T) {
	store, _ := manyBlocks(t)
	shared := t.TempDir()
	m := begin(t, store, Options{Shared: shared, Engine: &naming{Local: Local{Worker: &Worker{Workers: 1}}, piece: "../other"}})
	other := filepath.Join(shared, "other")
	must.Do(t, os.WriteFile(other, nil, 0o666))
	if got, err := outcome(m); err != nil || !bytes.Equal(got, want(t, store)) {
		t.Errorf("%v", err)
	}
	must.Do(t, os.Remove(other))
}

// naming is an engine that also says that a piece is damaged.
type naming struct {
	Local
	piece string
}

func (n *naming) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	answer(Answer{Error: "damaged", Piece: n.piece})
	return n.Local.Run(ctx, tasks, answer)
}

// TestServeEnds checks that a worker that waits for a task ends with its context.
func TestServeEnds(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	ended := make(chan error, 1)
	go func() { ended <- (&Worker{}).Serve(ctx, in, io.Discard) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it does not end")
	}
}

// TestCloseLeavesChildren checks that Close does not wait for children of a program that keep its output open.
func TestCloseLeavesChildren(t *testing.T) {
	longtest.Only(t) // a program has five seconds to end
	if runtime.GOOS == "windows" {
		t.Skip("it has no sh")
	}
	over := filepath.Join(t.TempDir(), "over")
	c := &Command{Args: []string{"sh", "-c", "(sleep 20; : >" + over + ") & exec sleep 60"}, Label: "command"}
	c.procs = []*process{must.Get(c.start())(t)}
	must.Do(t, c.Close())
	if _, err := os.Stat(over); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the child has ended before: %v", err)
	}
}
