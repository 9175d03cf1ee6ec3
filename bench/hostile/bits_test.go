package hostile

import (
	"os"
	"path/filepath"
	"strconv"
)

var bits = Attack{
	Name: "bits",
	About: "the same command with other --workers, GOMAXPROCS, shard sizes and beside busy processes, and with other --memory where the method is given: " +
		"the same bytes of σ, U and V; ingest the same store",
	Short: 7, Long: 120,
	Run: func(t *Trial) {
		switch t.IntN(6) {
		case 0:
			method := pick(t, "auto", "krylov")
			t.Kind = "bits " + method + ", vectors in files"
			t.bitsInFiles(method)
			return
		case 1:
			if t.Long && t.IntN(2) == 0 { // seconds of work: the machine is calibrated before the choice
				t.Kind = "bits auto, large"
				t.bitsLarge()
				return
			}
		}
		method := pick(t, methods...)
		t.Kind = "bits " + method
		t.bitsInMemory(method)
	},
}

func (t *Trial) bitsInMemory(method string) {
	dir := t.fixture("bits", func(t *Trial) {
		for _, args := range [][]string{
			{"generate", "ratings", "-q", "-o", t.path("r.dat"), "--users", "7000", "--items", "1500", "--ratings", "1000000", "--seed", "3"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("large.csr")},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("small.csr"), "--shard-size", "64KiB", "--workers", "1", "--memory", "64MiB"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("cols.csr"), "--orient", "cols"},
		} {
			t.must(gdsvd(args...))
		}
	})
	stores := []string{filepath.Join(dir, "large.csr"), filepath.Join(dir, "small.csr")}
	if t.IntN(3) == 0 {
		stores = []string{filepath.Join(dir, "cols.csr")}
	}
	flags := []string{"--method", method, "-k", strconv.Itoa(t.between(1, 12)), "--tol", pick(t, "1e-4", "1e-8"), "--max-passes", strconv.Itoa(t.between(3, 40)),
		"--seed", strconv.Itoa(t.IntN(100))}
	budgets := []string{"auto"}
	if method != "auto" { // the choice of auto may depend on the budget
		bytes := t.budget(gdsvd(append([]string{"svd", stores[0], "-o", t.path("none")}, flags...)...))
		budgets = append(budgets, kib(bytes), "1GiB")
	}
	t.sameBits(stores, flags, budgets)
}

// bitsInFiles runs on long vectors with little memory.
func (t *Trial) bitsInFiles(method string) {
	dir := t.fixture("bits-files", func(t *Trial) {
		t.must(gdsvd("generate", "spectrum", "-q", "--rows", "120000", "--cols", "100000", "--layers", "1", "--rank", "20", "-o", t.path("m.csr")))
	})
	flags := []string{"--method", method, "-k", strconv.Itoa(t.between(1, 5)), "--max-passes", "20", "--tol", pick(t, "1e-4", "1e-8")}
	stores := []string{filepath.Join(dir, "m.csr")}
	bytes := t.budget(gdsvd(append([]string{"svd", stores[0], "-o", t.path("none"), "--workers", "7"}, flags...)...))
	budgets := []string{kib(bytes)}
	if method != "auto" {
		budgets = append(budgets, "1GiB")
	}
	t.sameBits(stores, flags, budgets)
}

func (t *Trial) bitsLarge() {
	in := t.inputs()
	dir := t.fixture("bits-large", func(t *Trial) {
		t.must(gdsvd("generate", "kron", "-q", "--base", filepath.Join(in, "m.csr"), "--rows", "12", "--cols", "12", "--nnz", "130", "-o", t.path("m.csr")))
	})
	t.sameBits([]string{filepath.Join(dir, "m.csr")}, []string{"-k", "20"}, []string{"1GiB"})
}

// sameBits runs the same factorisation four times, the first with default workers, environment and load; the others
// must have the same bits.
func (t *Trial) sameBits(stores, flags, budgets []string) {
	first := ""
	for run := range 4 {
		out := t.path("out" + strconv.Itoa(run))
		j := gdsvd(append([]string{"svd", "-q", pick(t, stores...), "-o", out, "--memory", budgets[0]}, flags...)...)
		busy := 0
		if run > 0 {
			j.args = append(j.args, "--workers", strconv.Itoa(t.between(0, 7)), "--memory", pick(t, budgets...))
			if t.IntN(2) == 0 {
				j.env = []string{"GOMAXPROCS=" + strconv.Itoa(t.between(1, 4))}
			}
			if t.IntN(4) == 0 {
				busy = 4
			}
		}
		err := t.beside(busy, j)
		switch {
		case err != nil && least.MatchString(err.Error()):
			continue // more workers need more memory
		case err != nil && !isStopped(err):
			check(err)
		case first == "":
			first = out
		default:
			check(vectorsSame(first, out, j))
		}
		check(os.RemoveAll(filepath.Join(out, "checkpoint"))) // a checkpoint is as large as all vectors
	}
}

// beside runs an svd while busy other processes run, and returns its refusal.
func (t *Trial) beside(busy int, j job) error {
	defer load(busy)()
	_, err := t.expect(j, 1, 4)
	return err
}

// kib formats a size for a flag.
func kib(bytes int64) string { return strconv.FormatInt(bytes>>10, 10) + "KiB" }

// vectorsSame compares the vectors of two results; job j has written the second.
func vectorsSame(want, got string, j job) error {
	for _, name := range vectors {
		if err := sameFile(filepath.Join(want, name), filepath.Join(got, name)); err != nil {
			return wrongf("%s: %v", j, err)
		}
	}
	return nil
}
