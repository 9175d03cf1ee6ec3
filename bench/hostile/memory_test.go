package hostile

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/internal/cgroup"
)

var memory = Attack{
	Name: "memory",
	About: "svd and ingest in a memory cgroup of --memory + 5 %, page cache included, from the least budget that is accepted on; tall, wide, square and hypersparse " +
		"matrices, k up to near the shorter side, every method, the machine quiet and loaded: not killed, no more resident than the budget, the values right",
	Short: 4, Long: 60,
	Run: func(t *Trial) {
		t.Kind = "memory"
		if disk := t.env.Disk(); disk != t.env.Dir { // the trial gets a directory on the disk
			t.Dir = filepath.Join(disk, filepath.Base(t.Dir))
			check(os.Mkdir(t.Dir, 0o777))
			if !t.env.Keep {
				defer os.RemoveAll(t.Dir)
			}
		}
		if t.IntN(6) == 0 {
			t.Kind = "memory ingest"
			t.ingestTightly()
			return
		}
		s := shapes[t.IntN(len(shapes))]
		if s.long && !t.Long {
			s = shapes[t.IntN(4)]
		}
		t.Kind = "memory " + s.name
		busy := 0
		if t.Long && t.IntN(3) == 0 {
			busy, t.Kind = 8, t.Kind+", loaded"
		}
		t.factoriseTightly(s, busy)
	},
}

// spectrum is a matrix of which only a small part fits into a small budget.
type spectrum struct {
	name string
	args string // of generate spectrum
	most int    // largest k
	long bool   // too large for a test
}

var shapes = []spectrum{
	{"tall", "--rows 60000 --cols 80 --layers 3 --decay 0.9", 80, false},
	{"wide", "--rows 60 --cols 50000 --layers 3 --decay 0.9", 60, false},
	{"square", "--rows 20000 --cols 20000 --layers 3 --rank 60 --decay 0.9", 60, false},
	{"hypersparse", "--rows 60000 --cols 60000 --layers 1 --rank 50 --decay 0.9", 50, false},
	{"very tall", "--rows 1000000 --cols 50 --layers 2 --rank 40 --decay 0.8", 50, true},
	{"large square", "--rows 150000 --cols 120000 --layers 4 --rank 100 --decay 0.9", 40, true},
	{"large hypersparse", "--rows 800000 --cols 500000 --layers 1 --rank 40 --decay 0.8", 6, true},
}

// least matches the budget that a refusal asks for, in MiB.
var least = regexp.MustCompile(`(?:at least|about) ([\d.]+) MiB are needed`)

// headroom is the ratio of the kernel's limit to the budget.
const headroom = 1.05

// budget returns the least budget that the refusal of a command names, or up to three times as much, in bytes.
func (t *Trial) budget(j job) int64 {
	j.args = append(j.args[:len(j.args):len(j.args)], "--memory", "1MiB")
	said := t.run(j).stderr.String()
	m := least.FindStringSubmatch(said)
	if m == nil {
		check(wrongf("%s: it does not say what it needs: %s", j, head(said)))
	}
	mib := need(strconv.ParseFloat(m[1], 64))
	if t.IntN(2) == 0 {
		mib *= 1 + 2*t.Float64()
	}
	return int64(mib*1024+1) << 10
}

// within prepares a command to run in a cgroup that allows headroom times the budget.
func (t *Trial) within(budget int64, j job) (_ job, remove func()) {
	g, err := cgroup.New(fmt.Sprintf("gdsvd-hostile-%s", filepath.Base(t.Dir)), int64(headroom*float64(budget)))
	if errors.Is(err, cgroup.ErrUnavailable) {
		check(skipf("%s", head(err.Error())))
	}
	check(err)
	j.group = g
	j.args = append(j.args[:len(j.args):len(j.args)], "--memory", kib(budget))
	return j, func() { check(g.Remove()) }
}

func (t *Trial) factoriseTightly(s spectrum, busy int) {
	dir := t.fixtureIn(t.env.Disk(), "memory-"+strings.ReplaceAll(s.name, " ", "-"), func(t *Trial) {
		t.must(gdsvd(append([]string{"generate", "spectrum", "-q", "-o", t.path("m.csr")}, strings.Fields(s.args)...)...))
	})
	store := filepath.Join(dir, "m.csr")
	k := t.between(1, s.most)
	if t.IntN(3) == 0 {
		k = s.most - t.IntN(3)
	}
	method := pick(t, methods...)
	j := gdsvd("svd", "-q", store, "-o", t.path("out"), "-k", strconv.Itoa(k), "--method", method, "--max-passes", "15", "--tol", pick(t, "1e-4", "1e-8"))
	if t.IntN(4) == 0 {
		j.args = append(j.args, "--vectors", pick(t, "left", "right", "none"))
	}
	budget := t.budget(j)
	if busy > 0 {
		t.limit *= 5
		defer load(busy)()
	}
	// The process that reads the store is charged for its pages.
	err := cgroup.Forget(need(filepath.Glob(filepath.Join(store, "*.csr")))...)
	if !errors.Is(err, cgroup.ErrUnavailable) {
		check(err)
	}
	j, remove := t.within(budget, j)
	defer remove()
	t.solved(j)
	check(judgeKnown(t.path("out"), store, budget))
}

// judgeKnown compares a result with the known values of its store.
func judgeKnown(out, store string, budget int64) error {
	var truth struct{ Sigma []float64 }
	if err := readJSON(filepath.Join(store, "truth.json"), &truth); err != nil {
		return err
	}
	var r result
	if err := readJSON(filepath.Join(out, "result.json"), &r); err != nil {
		return wrongf("%v", err)
	}
	if r.PeakRSS > budget {
		return wrongf("%d bytes were resident, %.1f %% of the budget", r.PeakRSS, 100*float64(r.PeakRSS)/float64(budget))
	}
	for i, sigma := range r.Sigma {
		exact := 0.0
		if i < len(truth.Sigma) {
			exact = truth.Sigma[i]
		}
		near := math.Inf(1)
		for _, x := range append(truth.Sigma, 0) {
			near = min(near, math.Abs(sigma-x))
		}
		// The values of the store are rounded: the truth is known to about 1e-10.
		bound := (2*r.Residual[i] + 1e-10) * truth.Sigma[0]
		switch {
		case r.Certified && near > bound:
			return wrongf("σ[%d] = %.10g is %.3g away from every known value, its residual is %.3g", i, sigma, near, r.Residual[i])
		case r.Status == "converged" && math.Abs(sigma-exact) > bound:
			return wrongf("σ[%d] = %.10g, known to be %.10g, its residual is %.3g", i, sigma, exact, r.Residual[i])
		}
	}
	return nil
}

func (t *Trial) ingestTightly() {
	w := t.refer(t.works(false)[2]) // sorts on the disk
	w.args = w.args[:slices.Index(w.args, "--memory")]
	j := w.command(t.path("out"))
	budget := t.budget(j)
	j, remove := t.within(budget, j)
	defer remove()
	_, err := t.expect(j, 1)
	check(err)
	sameFiles(w.want, t.path("out"))
}
