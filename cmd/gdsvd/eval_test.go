package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/evaluate"
)

// eval judges results that are there: one of svd as it judges the view it is of, and a completion by the values that recommend says of it.
func TestEvalResults(t *testing.T) {
	at := t.TempDir()
	file := func(name string) string { return filepath.Join(at, name) }
	must(t, "generate", "ratings", "-q", "-o", file("r.dat"), "--users", "80", "--items", "30", "--ratings", "1700")
	must(t, "ingest", "-q", file("r.dat"), "-o", file("m.csr"), "--holdout", "random:0.2")
	must(t, "svd", "-q", file("m.csr"), "-k", "3", "--view", "recsys", "-o", file("svd"))
	must(t, "complete", "-q", file("m.csr"), "-k", "3", "--biases", "-o", file("completion"))
	judged := func(args ...string) map[string][]evaluate.Score {
		var r evaluate.Report
		decode(t, must(t, append([]string{"eval", "-q", "--json", "--train", file("m.csr"), "--metrics", "ndcg@5,rmse,mae"}, args...)...), &r)
		scores := map[string][]evaluate.Score{}
		for _, m := range r.Models {
			scores[m.Name] = m.Scores
		}
		return scores
	}
	got, want := judged("--results", file("svd")+","+file("completion")), judged("--views", "recsys", "-k", "3")
	if len(got) != 5 || got[file("svd")+", k = 3"][0] != want["recsys, k = 3"][0] {
		t.Errorf("got %+v, want %+v", got, want)
	}

	must(t, "recommend", "-q", file("completion"), "--rows", "all", "-n", "30", "--scores", "model", "--exclude-seen=false", "-o", file("all.csv"))
	must(t, "export", "-q", file("m.csr.test"), "-o", file("test.csv"))
	said := map[[2]string]float64{}
	for _, l := range linesOf(t, file("all.csv"), "row", "column", "score") {
		said[[2]string{l[0], l[1]}], _ = strconv.ParseFloat(l[2], 64)
	}
	squares, n := 0., 0.
	for _, l := range linesOf(t, file("test.csv"), "row", "column", "value") {
		v, _ := strconv.ParseFloat(l[2], 64)
		score, ok := said[[2]string{l[0], l[1]}]
		if !ok {
			t.Fatalf("no score of %v", l)
		}
		squares, n = squares+(v-score)*(v-score), n+1
	}
	if rmse := float64(got[file("completion")+", k = 3"][1].Value); n < 300 || math.Abs(rmse-math.Sqrt(squares/n)) > 1e-9 {
		t.Errorf("the error of the completion is %v, want %v of %v entries", rmse, math.Sqrt(squares/n), n)
	}

	must(t, "ingest", "-q", file("r.dat"), "-o", file("other.csr"))
	must(t, "svd", "-q", file("other.csr"), "-k", "2", "-o", file("other"))
	fails(t, ui.ExitError, "is a result of another store", "eval", "--train", file("m.csr"), "--results", file("other"))
	fails(t, ui.ExitError, "trained with all users", "eval", "--train", file("m.csr"), "--results", file("svd"), "--folds", "users:0.2", "--views", "recsys", "-k", "2")
}

// linesOf are some columns of a CSV file.
func linesOf(t *testing.T, name string, columns ...string) (all [][]string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines[1:] {
		var some []string
		for _, c := range columns {
			for j, name := range lines[0] {
				if name == c {
					some = append(some, l[j])
				}
			}
		}
		all = append(all, some)
	}
	return all
}
