package hostile

import (
	"os"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

var warm = Attack{
	Name: "init",
	About: "--init from the result of another, permuted, extended, scaled or cut matrix, or one with a dominant block besides, every method and tolerance: " +
		"the leading values are found all the same",
	Short: 24, Long: 5000,
	Run: func(t *Trial) {
		kind, old, now := t.pair()
		t.Kind = "init " + kind
		t.warm(old, now)
	},
}

// named is a matrix whose rows and columns have ids.
type named struct {
	*matrix
	row, col func(int) string
}

func number(i int) string { return strconv.Itoa(i + 1) }

func word(i int) string { return "id" + strconv.Itoa(7*i+10) }

// pair draws the matrix of the start vectors and the matrix to solve.
func (t *Trial) pair() (kind string, old, now named) {
	m, n := t.between(2, 30), t.between(2, 30)
	a := t.place(m, n, 0.3+0.6*t.Float64(), func() float64 { return float64(t.between(1, 9)) })
	a.Set(0, 0, 1)
	id := pick(t, number, word)
	name := func(kind string, a *mat.Dense) named { return named{fromDense(kind, a), id, id} }
	old = name("old", a)
	kind = pick(t, "block besides", "block besides", "other", "permuted", "extended", "scaled", "cut", "new ratings", "same")
	switch kind {
	case "block besides": // the old vectors span an invariant subspace that is not the leading one
		r, c := t.between(1, 10), t.between(1, 10)
		b := mat.NewDense(m+r, n+c, nil)
		b.Slice(0, m, 0, n).(*mat.Dense).Copy(a)
		height := pick(t, 0.5, 2.0, 100.0, 1e6)
		b.Slice(m, m+r, n, n+c).(*mat.Dense).Copy(t.place(r, c, 2, func() float64 { return height * (1 + t.Float64()) }))
		now = name(kind, b)
	case "other":
		now = name(kind, t.place(t.between(2, 40), t.between(2, 40), 0.5, t.NormFloat64))
	case "permuted":
		p, q := t.Perm(m), t.Perm(n)
		now = named{old.matrix, func(i int) string { return id(p[i]) }, func(j int) string { return id(q[j]) }}
	case "extended":
		r, c := t.between(0, 15), t.between(0, 15)
		b := t.place(m+r, n+c, 0.3, func() float64 { return float64(t.between(1, 30)) })
		b.Slice(0, m, 0, n).(*mat.Dense).Copy(a)
		now = name(kind, b)
	case "scaled":
		b := mat.NewDense(m, n, nil)
		b.Scale(pick(t, 1e-3, 0.5, 3, 1e4), a)
		now = name(kind, b)
	case "cut":
		now = name(kind, mat.DenseCopyOf(a.Slice(0, t.between(1, m), 0, t.between(1, n))))
	case "new ratings":
		b := mat.DenseCopyOf(a)
		for range 1 + m*n/50 {
			b.Set(t.IntN(m), t.IntN(n), float64(t.between(1, 9)))
		}
		now = name(kind, b)
	case "same":
		now = old
	}
	return kind, old, now
}

// ingestIDs writes a matrix as lines of ids and ingests it as NAME.csr.
func (t *Trial) ingestIDs(m named, name string, more ...string) {
	check(m.writeIDs(t, t.path(name+".csv"), m.row, m.col))
	t.must(gdsvd(append([]string{"ingest", "-q", t.path(name + ".csv"), "-o", t.path(name + ".csr"),
		"--format", "delimited", "--sep", ",", "--columns", "1,2,3", "--header", "no"}, more...)...))
}

func (t *Trial) warm(old, now named) {
	t.ingestIDs(old, "old")
	t.ingestIDs(now, "now")
	a, b := need(readIDs(t.path("old.csv"))), need(readIDs(t.path("now.csv")))
	k := t.between(1, min(a.rows, a.cols, 6))
	short := t.solved(gdsvd("svd", "-q", t.path("old.csr"), "-o", t.path("old.svd"), "-k", strconv.Itoa(k), "--tol", pick(t, "1e-2", "1e-8", "1e-12"), "--max-passes", most))
	if !short && t.IntN(4) == 0 { // the ids of the start vectors are then unknown
		check(os.RemoveAll(t.path("old.csr")))
	}
	flags := t.method(now.matrix)
	k = t.between(1, min(b.rows, b.cols, 8))
	args := []string{"svd", "-q", t.path("now.csr"), "-o", t.path("out"), "-k", strconv.Itoa(k), "--init", t.path("old.svd"),
		"--tol", pick(t, "1e-2", "1e-4", "1e-6", "1e-8", "1e-8", "1e-10", "1e-12"), "--max-passes", most, "--seed", strconv.Itoa(t.IntN(1000))}
	t.solved(gdsvd(append(args, flags...)...), 1, 2)
	check(b.judge(need(readResult(t.path("out"), b.rows, b.cols))))
}
