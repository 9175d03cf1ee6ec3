package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestEvalResults: eval judges a result of svd as its view is judged, and a completion by the scores of recommend.
func TestEvalResults(t *testing.T) {
	at := t.TempDir()
	file := func(name string) string { return filepath.Join(at, name) }
	succeeds(t, "generate", "ratings", "-q", "-o", file("r.dat"), "--users", "80", "--items", "30", "--ratings", "1700")
	succeeds(t, "ingest", "-q", file("r.dat"), "-o", file("m.csr"), "--holdout", "random:0.2")
	succeeds(t, "svd", "-q", file("m.csr"), "-k", "3", "--view", "recsys", "-o", file("svd"))
	succeeds(t, "complete", "-q", file("m.csr"), "-k", "3", "--biases", "-o", file("completion"))
	judged := func(args ...string) map[string][]evaluate.Score {
		var r evaluate.Report
		decode(t, succeeds(t, append([]string{"eval", "-q", "--json", "--train", file("m.csr"), "--metrics", "ndcg@5,rmse,mae"}, args...)...), &r)
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

	succeeds(t, "recommend", "-q", file("completion"), "--rows", "all", "-n", "30", "--scores", "model", "--exclude-seen=false", "-o", file("all.csv"))
	succeeds(t, "export", "-q", file("m.csr.test"), "-o", file("test.csv"))
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

	succeeds(t, "ingest", "-q", file("r.dat"), "-o", file("other.csr"))
	succeeds(t, "svd", "-q", file("other.csr"), "-k", "2", "-o", file("other"))
	fails(t, ui.ExitError, "is a result of another store", "eval", "--train", file("m.csr"), "--results", file("other"))
	fails(t, ui.ExitError, "trained with all users", "eval", "--train", file("m.csr"), "--results", file("svd"), "--folds", "users:0.2", "--views", "recsys", "-k", "2")
}

// TestStoreOfResult: the store that a result names is found from the folder where both were made and from another one.
func TestStoreOfResult(t *testing.T) {
	at := t.TempDir()
	t.Chdir(at)
	succeeds(t, "generate", "ratings", "-q", "-o", "r.dat", "--users", "80", "--items", "30", "--ratings", "1700")
	succeeds(t, "ingest", "-q", "r.dat", "-o", "m.csr", "--holdout", "random:0.2")
	succeeds(t, "svd", "-q", "m.csr", "-k", "3", "-o", "svd")
	for _, dir := range []string{"svd", filepath.Join(at, "svd")} {
		if filepath.IsAbs(dir) {
			t.Chdir(t.TempDir())
		}
		succeeds(t, "recommend", dir, "--rows", "all", "-o", "recs.csv", "-q")
		if text := succeeds(t, "eval", "-q", "--results", dir, "--metrics", "rmse"); !strings.Contains(text, "svd, k = 3 ") {
			t.Errorf("eval: %s", text)
		}
		if o := gdsvd(t, "report", dir, "-o", "page.html"); o.code != ui.ExitOK || strings.Contains(o.stderr, "not there") {
			t.Errorf("report: %+v", o)
		}
	}
	succeeds(t, "ingest", "-q", filepath.Join(at, "r.dat"), "-o", "m.csr") // another store with the same name
	fails(t, ui.ExitError, "is a result of another store", "eval", "--results", filepath.Join(at, "svd"), "--test", filepath.Join(at, "m.csr.test"))
}

// TestEvalLists: a list that recommend wrote has the metrics of its result, for any format, columns, order of lines,
// kind of ids and stored orientation.
func TestEvalLists(t *testing.T) {
	for _, shape := range [][]string{{"--users", "80", "--items", "30"}, {"--users", "30", "--items", "80"}} {
		at := t.TempDir()
		file := func(name string) string { return filepath.Join(at, name) }
		succeeds(t, append([]string{"generate", "ratings", "-q", "-o", file("r.dat"), "--ratings", "1700"}, shape...)...)
		entries := must.Get(os.ReadFile(file("r.dat")))(t)
		write(t, at, "r.dat", string(entries)+"only one entry::91::5::1\n") // makes the ids of users texts; this user is never judged
		succeeds(t, "ingest", "-q", file("r.dat"), "-o", file("m.csr"), "--holdout", "random:0.2")
		succeeds(t, "svd", "-q", file("m.csr"), "-k", "3", "--view", "recsys", "-o", file("svd"))
		for _, end := range []string{"csv", "jsonl", "parquet"} {
			succeeds(t, "recommend", "-q", file("svd"), "-n", "12", "-o", file("list."+end))
		}
		ranked, scored := []string{"user_id\titem_id\trank\n"}, []string{"Score,item,user\n"} // lists of the users with integer ids
		for _, l := range linesOf(t, file("list.csv"), "row", "column", "rank", "score") {
			if l[0] != "only one entry" {
				rank, _ := strconv.Atoi(l[2])
				ranked = append(ranked, fmt.Sprintf("%s\t%s\t%d\n", l[0], l[1], rank-1))
				scored = append(scored, fmt.Sprintf("%s,%s,%s\n", l[3], l[1], l[0]))
			}
		}
		slices.Reverse(ranked[1:])
		write(t, at, "ranked.tsv", strings.Join(ranked, ""))
		write(t, at, "scored.csv", strings.Join(scored, ""))
		var r evaluate.Report
		names := []string{file("list.csv"), file("list.jsonl"), file("list.parquet"), file("ranked.tsv"), file("scored.csv")}
		decode(t, succeeds(t, "eval", "-q", "--json", "--train", file("m.csr"), "--metrics", "recall@12,precision@5,ndcg@12,map@7,coverage@3,rmse",
			"--memory", "64MiB", "--results", file("svd"), "--lists", strings.Join(names, ",")), &r)
		if len(r.Models) != 4+len(names) {
			t.Fatalf("%+v", r)
		}
		for i, m := range r.Models[4:] {
			n := 6
			if i > 2 {
				n = 5 // the list of the omitted user counts for coverage
			}
			want := r.Models[3].Scores
			if m.Name != names[i] || fmt.Sprint(m.Scores[:n-1]) != fmt.Sprint(want[:n-1]) || !math.IsNaN(float64(m.Scores[5].Value)) || !(m.Scores[0].Value > 0) {
				t.Errorf("%s: got %v, want %v", m.Name, m.Scores, want)
			}
		}
	}
}

// TestEvalVectors: vectors that export wrote have the metrics of their result, for any kind of ids and stored orientation;
// errors in vectors are one line.
func TestEvalVectors(t *testing.T) {
	for _, shape := range [][]string{{"--users", "80", "--items", "30"}, {"--users", "30", "--items", "80"}} {
		at := t.TempDir()
		file := func(name string) string { return filepath.Join(at, name) }
		export := func(name string) {
			succeeds(t, "ingest", "-q", file("r.dat"), "-o", file(name+".csr"), "--holdout", "random:0.2")
			succeeds(t, "svd", "-q", file(name+".csr"), "-k", "3", "-o", file(name+".svd"))
			for end, what := range map[string][2]string{"u": {"US", "rows"}, "v": {"V", "cols"}} {
				succeeds(t, "export", "-q", file(name+".svd"), "--what", what[0], "-o", file(name+end+".npy"))
				succeeds(t, "export", "-q", file(name+".svd"), "--what", what[0], "-o", file(name+end+".parquet"))
				write(t, at, name+end+".ids", succeeds(t, "info", file(name+".csr"), "--ids", what[1]))
			}
		}
		succeeds(t, append([]string{"generate", "ratings", "-q", "-o", file("r.dat"), "--ratings", "1700"}, shape...)...)
		export("less")
		entries := must.Get(os.ReadFile(file("r.dat")))(t)
		write(t, at, "r.dat", string(entries)+"a word::91::5::1\n")
		export("m")
		judge := func(rows, cols string, more ...string) []string {
			return append([]string{"eval", "-q", "--train", file("m.csr"), "--memory", "64MiB", "--metrics", "recall@12,ndcg@12,coverage@3,rmse", "--vectors", file(rows) + "," + file(cols)}, more...)
		}
		var r evaluate.Report
		decode(t, succeeds(t, judge("mu.npy", "mv.npy", "--json", "--results", file("m.svd"))...), &r)
		got, want := r.Models[4], r.Models[3]
		if fmt.Sprint(got.Scores[:3]) != fmt.Sprint(want.Scores[:3]) || !(math.Abs(float64(got.Scores[3].Value-want.Scores[3].Value)) < 1e-8) || !(got.Scores[0].Value > 0) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		var table evaluate.Report
		decode(t, succeeds(t, judge("mu.parquet", "mv.parquet", "--json")...), &table)
		if last := table.Models[len(table.Models)-1]; fmt.Sprint(last.Scores) != fmt.Sprint(got.Scores) {
			t.Errorf("of tables %+v, want %+v", last, got)
		}
		write(t, at, "bad.parquet", "PAR1, or so")
		fails(t, ui.ExitError, `bad.parquet: damaged Parquet file`, judge("bad.parquet", "mv.parquet")...)
		lists := must.Get(os.ReadFile(filepath.Join("testdata", "vectors-list.parquet")))(t)
		write(t, at, "list.parquet", string(lists))
		fails(t, ui.ExitError, `column "vec": lists are not read: give their numbers as columns, such as c1, c2, or as NAME.npy beside NAME.ids`,
			judge("mu.npy", "list.parquet")...)
		succeeds(t, "export", "-q", file("m.svd"), "--what", "V", "--no-ids", "-o", file("bare.parquet"))
		fails(t, ui.ExitError, `bare.parquet: want a column called id, of integers or texts, and columns of floating-point numbers`, judge("mu.npy", "bare.parquet")...)
		fails(t, ui.ExitError, `"a word" of the rows of .*m.csr has no vector: want one for each`, judge("lessu.npy", "mv.npy")...)
		fails(t, ui.ExitError, `of \d+ rows, such as ".*", are not in .*m.csr`, judge("mv.npy", "mu.npy")...)
		fails(t, ui.ExitUsage, `u.csv ends neither in .npy nor in .parquet`, judge("u.csv", "mv.npy")...)
		fails(t, ui.ExitUsage, `--vectors: want ROWS.npy,COLS.npy`, judge("mu.npy", "mv.npy,x.npy")...)
		fails(t, ui.ExitError, "vectors are judged without users to fold in", judge("mu.npy", "mv.npy", "--folds", "users:0.5")...)
		succeeds(t, "export", "-q", file("m.svd"), "--what", "sigma", "-o", file("mv.npy"), "--force")
		fails(t, ui.ExitError, "mv.(npy|ids)", judge("mu.npy", "mv.npy")...)
	}
}

// TestEvalRefusesLists: errors in lists are one line.
func TestEvalRefusesLists(t *testing.T) {
	at := t.TempDir()
	succeeds(t, "ingest", "-q", write(t, at, "r.csv", "user,item,rating\n1,a,5\n1,b,3\n1,c,2\n2,a,4\n2,c,3\n2,d,1\n3,b,1\n3,d,2\n3,a,4\n"), "-o", filepath.Join(at, "m.csr"), "--holdout", "random:0.3")
	judge := func(metrics, list string, more ...string) []string {
		return append([]string{"eval", "-q", "--train", filepath.Join(at, "m.csr"), "--metrics", metrics, "--lists", write(t, at, "l.csv", list)}, more...)
	}
	for list, want := range map[string]string{
		"":                                "l.csv: the file is empty: no entries",
		"user,item,rank\n":                "l.csv: no entries in the input",
		"user,item\n1,a\n":                "l.csv: want columns that are named row, column, and rank or score",
		"x,y,rank\n1,a,1\n":               "l.csv: want columns that are named row, column, and rank or score",
		"1,a,1\n1,b,2\n":                  "l.csv: want columns that are named row, column, and rank or score",
		"user,item,rank\n1,a,1\n9,a,1\n":  `l.csv: 1 of 2 rows, such as "9", are not in .*m.csr: want ids as the file that was ingested has them`,
		"user,item,rank\n1,a,1\n1,z,2\n":  `l.csv: 1 of 2 columns, such as "z", are not in .*m.csr: want ids`,
		"user,item,rank\n1,a,1\n1,a,2\n":  `l.csv:3: row 1, column a: more than one entry \(the first is at .*l.csv:2\): want each column once for a row\n$`,
		"user,item,rank\n1,a,2\n1,b,2\n":  "l.csv: row 1 has two columns of rank 2: want each rank once",
		"user,item,rank\n1,a,best\n":      `l.csv:2:5: rank "best": not a number`,
		"user,item,score\n1,a,1\n2,b,2\n": "l.csv: its longest list has 1 columns, and the metrics look at 2: make longer lists, or take metrics of @1",
	} {
		fails(t, ui.ExitError, want, judge("ndcg@2", list)...)
	}
	const good = "user,item,rank\n1,d,1\n"
	if text := succeeds(t, judge("ndcg@1", good)...); !strings.Contains(text, "l.csv has fewer than the 1 columns that the metrics need for 2 users") {
		t.Error(text)
	}
	fails(t, ui.ExitError, "a list has no rmse and no mae", judge("rmse", good)...)
	fails(t, ui.ExitError, "l.csv is of all users: lists are judged without users to fold in", judge("ndcg@1", good, "--folds", "users:0.5")...)
	fails(t, ui.ExitError, "no such file", "eval", "--train", filepath.Join(at, "m.csr"), "--lists", filepath.Join(at, "none.csv"), "--metrics", "ndcg@1")
}

// linesOf returns the given columns of a CSV file.
func linesOf(t *testing.T, name string, columns ...string) (all [][]string) {
	t.Helper()
	f := must.Get(os.Open(name))(t)
	defer f.Close()
	lines := must.Get(csv.NewReader(f).ReadAll())(t)
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
