package hostile

import (
	"fmt"
	"slices"
	"strconv"
)

var random = Attack{
	Name: "random",
	About: "random matrices of " + fmt.Sprint(len(structures)) + " structures, every method and operator: the values are those of gonum's dense decomposition, " +
		"and residuals and orthogonality, computed anew with compensated sums from the text and the npy files, are as stated",
	Short: 40, Long: 10000,
	Run: func(t *Trial) {
		m := t.matrix()
		t.Kind = m.kind
		check(m.write(t, t.path("m.mtx")))
		flags := t.method(m)
		t.Kind = "random " + flags[1] + " " + flags[3]
		t.solve(m, flags)
	},
}

// single lists the methods that find one triplet after the other.
var single = []string{"gd", "polyak", "nesterov", "nesterov-general", "power"}

var methods = append([]string{"auto", "block", "krylov"}, single...)

// method draws a method and an operator, which are the first four flags, and further settings.
func (t *Trial) method(m *matrix) []string {
	method, operator := pick(t, methods...), "gram"
	switch {
	case m.definite && t.IntN(2) == 0:
		operator = "symmetric"
	case (slices.Contains(single, method) || method == "auto") && t.IntN(4) == 0:
		operator = "dilation"
	}
	flags := []string{"--method", method, "--operator", operator}
	short := min(m.rows, m.cols)
	if method == "block" || method == "krylov" {
		if t.IntN(2) == 0 {
			flags = append(flags, "--block", strconv.Itoa(t.between(1, min(short, 20))))
		}
	}
	if method != "auto" && t.IntN(6) == 0 {
		flags = append(flags, "--deflation", "plain")
	}
	return flags
}

// most is the pass limit of a trial, so that the slow methods end.
const most = "3000"

// solve ingests m.mtx, factorises it with the given flags, and judges the result.
func (t *Trial) solve(m *matrix, flags []string) {
	_, err := t.expect(gdsvd("ingest", "-q", t.path("m.mtx"), "-o", t.path("m.csr")), 1)
	check(err)
	short := min(m.rows, m.cols)
	k := t.between(1, short)
	if t.IntN(3) > 0 {
		k = t.between(1, min(short, 8))
	}
	tol := pick(t, "1e-4", "1e-6", "1e-8", "1e-8", "1e-10", "1e-12")
	args := []string{"svd", "-q", t.path("m.csr"), "-o", t.path("out"), "-k", strconv.Itoa(k), "--tol", tol,
		"--seed", strconv.Itoa(t.IntN(1000)), "--max-passes", most}
	early := t.solved(gdsvd(append(args, flags...)...), 1, 2)
	// The result is judged against the text, not against the matrix that the text was made from.
	read := need(readMarket(t.path("m.mtx")))
	r := need(readResult(t.path("out"), read.rows, read.cols))
	if !early && r.Status != "converged" {
		check(wrongf("exit 0, but the status is %s", r.Status))
	}
	check(read.judge(r))
}
