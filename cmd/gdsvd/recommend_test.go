package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/internal/must"
)

// library returns a store of books with titles, four readers in two groups and zoe, whose only entry is 0, and a result.
func library(t *testing.T) (dir, store, out string) {
	dir = t.TempDir()
	write(t, dir, "in.csv", "ann,10,5\nann,20,4\nbob,10,4\nbob,20,5\nbob,25,3\ncy,30,5\ncy,40,4\ndee,30,4\ndee,40,5\ndee,45,2\nzoe,10,0\n")
	write(t, dir, "titles.csv", "10,\"Emma, or not\"\n25,Persuasion\n45,Dune\n")
	store, out = filepath.Join(dir, "in.csr"), filepath.Join(dir, "out")
	succeeds(t, "ingest", filepath.Join(dir, "in.csv"), "-o", store, "--col-titles", filepath.Join(dir, "titles.csv"))
	succeeds(t, "svd", store, "-k", "2", "--view", "recsys", "-o", out)
	return dir, store, out
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// TestRecommend: readers are recommended books of their group, as a table, as JSON and in files.
func TestRecommend(t *testing.T) {
	dir, store, out := library(t)
	text := succeeds(t, "recommend", out, "--store", store, "--rows", "ann,cy", "-n", "1")
	if !strings.Contains(text, "row ann\nrank  score") || !strings.Contains(text, "25 (Persuasion)") || !strings.Contains(text, "45 (Dune)") {
		t.Errorf("table:\n%s", text)
	}
	var lists struct {
		Rankings []ranking `json:"rankings"`
	}
	decode(t, succeeds(t, "recommend", out, "--store", store, "--rows", "ann", "-n", "2", "--json"), &lists)
	if r := lists.Rankings; len(r) != 1 || r[0].ID != "ann" || len(r[0].Best) != 2 || r[0].Best[0].ID != 25. || r[0].Best[0].Title != "Persuasion" || !(r[0].Best[0].Score > r[0].Best[1].Score) {
		t.Errorf("%+v", lists)
	}
	file := filepath.Join(dir, "recs.csv")
	if text := succeeds(t, "recommend", out, "--store", store, "-n", "1", "-o", file); !strings.Contains(text, "4 recommendations for 4 rows; 1 rows have no entries, and none") {
		t.Errorf("%q", text)
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(b), "row,column,rank,score,column_title\nann,25,1,") || strings.Count(string(b), "\n") != 5 {
		t.Errorf("%v:\n%s", err, b)
	}
	fails(t, ui.ExitError, `recs.csv: file already exists \(--force replaces it\)`, "recommend", out, "--store", store, "-o", file)
	succeeds(t, "recommend", out, "--store", store, "-o", file, "--force", "--exclude-seen=false", "-n", "6", "--rows", write(t, dir, "rows.txt", "bob\nann\n"))
	if b, err = os.ReadFile(file); err != nil || strings.Count(string(b), "\n") != 13 || !strings.Contains(string(b), `ann,10,1,`) {
		t.Errorf("%v:\n%s", err, b)
	}
	if alone := succeeds(t, "recommend", out, "--rows", "ann,cy", "-n", "1"); alone != text {
		t.Errorf("with the store that the result names:\n%s", alone)
	}
	some := write(t, dir, "some.txt", "30\n45\n")
	if text := succeeds(t, "recommend", out, "--store", store, "--rows", "ann", "-n", "1", "--candidates", some); strings.Contains(text, "25") {
		t.Errorf("not a candidate:\n%s", text)
	}
}

// TestRecommendRefusals: errors are one line.
func TestRecommendRefusals(t *testing.T) {
	dir, store, out := library(t)
	other := filepath.Join(dir, "other.csr")
	succeeds(t, "ingest", write(t, dir, "other.csv", "a,1,1\nb,2,1\n"), "-o", other)
	write(t, dir, "one.txt", "30\n")
	at := func(args ...string) []string { return append([]string{"recommend", out, "--store", store}, args...) }
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{ui.ExitError, `--rows: row "eve": the result has no row with that id \(2 of 2\)`, at("--rows", "ann,eve")},
		{ui.ExitError, `--rows zoe: 1 of 1 rows have no entries, and nothing to recommend from`, at("--rows", "zoe", "-n", "1")},
		{ui.ExitError, `out is a result of another store: its fingerprint is`, []string{"recommend", out, "--store", other, "--rows", "ann"}},
		{ui.ExitError, `in.csr is a store, not a result: gdsvd svd makes one of it`, []string{"recommend", store, "--store", store, "--rows", "ann"}},
		{ui.ExitUsage, `the name of the STORE is empty`, []string{"recommend", out, "--store", ""}},
		{ui.ExitUsage, `-n 0: at least 1 recommendation is wanted`, at("-n", "0")},
		{ui.ExitUsage, `--rows all prints too much: name some rows, or a file to write with -o`, at()},
		{ui.ExitUsage, `-o recs.txt: its name does not end in .csv, .jsonl or .parquet`, at("-o", "recs.txt")},
		{ui.ExitUsage, `choose auto, model or history`, at("--scores", "best")},
		{ui.ExitUsage, `-o like.txt: its name does not end in .csv, .jsonl or .parquet`, []string{"similar", out, "--col", "all", "-o", "like.txt"}},
		{ui.ExitUsage, `similar to what\? give one of --col and --row`, []string{"similar", out}},
		{ui.ExitError, `--col: column "11": the result has no column with that id`, []string{"similar", out, "--col", "11", "-n", "1"}},
		{ui.ExitError, `row zoe has no entries, or its vector is 0 within the residuals`, []string{"similar", out, "--row", "zoe", "-n", "1"}},
		{ui.ExitUsage, `-n 0: at least 1 is wanted`, []string{"topics", out, "-n", "0"}},
		{ui.ExitUsage, `no STORE to train with`, []string{"eval"}},
		{ui.ExitUsage, `--metrics: metric "recall": how long a list\?`, []string{"eval", "--train", store, "--metrics", "recall"}},
		{ui.ExitUsage, `--folds "users:2": want users:SHARE`, []string{"eval", "--train", store, "--folds", "users:2"}},
		{ui.ExitError, `in.csr is 5 × 6, .*other.csr is 2 × 2: want the two stores`, []string{"eval", "--train", store, "--test", other, "-k", "1", "--metrics", "recall@2"}},
	} {
		fails(t, c.code, c.want, c.args...)
	}
	var failed failure
	decode(t, fails(t, ui.ExitError, `1 of 2 rows have no entries`, at("--rows", "ann,zoe", "-n", "1", "--json")...).stdout, &failed)
	if failed.Exit != ui.ExitError || !strings.Contains(failed.Error, "1 of 2 rows") {
		t.Errorf("%+v", failed)
	}
	file := filepath.Join(out, "V.npy")
	b := must.Get(os.ReadFile(file))(t)
	copy(b[len(b)-8:], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	must.Do(t, os.WriteFile(file, b, 0o666))
	fails(t, ui.ExitCorrupt, `V.npy: bytes 0 to 224 have the checksum .*: the file is damaged`, at("--rows", "ann", "-n", "1")...)
}

// TestSimilarAndTopics: similar and topics separate the two groups of readers.
func TestSimilarAndTopics(t *testing.T) {
	_, _, out := library(t)
	if text := succeeds(t, "similar", out, "--col", "10", "-n", "2"); !strings.Contains(text, "column 10 (Emma, or not)\nrank  score") || !strings.Contains(text, "25 (Persuasion)") || strings.Contains(text, "45") {
		t.Errorf("similar columns:\n%s", text)
	}
	byID := succeeds(t, "similar", out, "--col", "10", "-n", "2")
	for _, title := range []string{"Emma, or not", "emma", "Emma, or"} {
		if text := succeeds(t, "similar", out, "--col", title, "-n", "2"); text != byID {
			t.Errorf("similar to %s:\n%s", title, text)
		}
	}
	if text := succeeds(t, "similar", out, "--row", "all", "-n", "1"); strings.Count(text, "rank") != 5 || !strings.HasSuffix(text, "row zoe\nrank  score  row\n") || !strings.Contains(text, "row cy\nrank  score  row\n1     1      dee") {
		t.Errorf("similar rows:\n%s", text)
	}
	dir := t.TempDir()
	for _, c := range []struct{ side, name, want string }{
		{"--col", "a.csv", "column,similar,rank,score,column_title,similar_title\n"}, {"--row", "b.csv", "row,similar,rank,score\n"},
		{"--col", "c.jsonl", `{"column":10,"similar":`}, {"--col", "d.parquet", "PAR1"},
	} {
		file := filepath.Join(dir, c.name)
		succeeds(t, "similar", out, c.side, "all", "-n", "2", "-o", file)
		if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), c.want) {
			t.Errorf("%v: %.200q", err, b)
		}
		fails(t, ui.ExitError, `file already exists \(--force replaces it\)`, "similar", out, c.side, "all", "-o", file)
	}
	var lists allRankings
	decode(t, succeeds(t, "similar", out, "--col", "all", "-n", "2", "--json"), &lists)
	var lines strings.Builder
	for _, r := range lists.Rankings {
		for i, x := range r.Best {
			fmt.Fprintf(&lines, "%v,%v,%d,%v\n", r.ID, x.ID, i+1, x.Score)
		}
	}
	b := must.Get(os.ReadFile(filepath.Join(dir, "a.csv")))(t)
	records := must.Get(csv.NewReader(bytes.NewReader(b)).ReadAll())(t)
	var read strings.Builder
	for _, r := range records[1:] {
		fmt.Fprintln(&read, strings.Join(r[:4], ","))
	}
	if read.String() != lines.String() {
		t.Errorf("a.csv has\n%s, want\n%s", &read, &lines)
	}
	var topics struct {
		Topics []topic `json:"topics"`
	}
	decode(t, succeeds(t, "topics", out, "-n", "2", "--json"), &topics)
	if len(topics.Topics) != 2 || topics.Topics[0].Component != 1 || len(topics.Topics[0].Rows.Positive) != 2 {
		t.Errorf("%+v", topics)
	}
	if text := succeeds(t, "topics", out, "-n", "1"); strings.Count(text, "component ") != 2 || !strings.Contains(text, "σ = ") {
		t.Errorf("topics:\n%s", text)
	}
}

// TestSimilarWithoutVectors: the error about a result without V says how to compute it.
func TestSimilarWithoutVectors(t *testing.T) {
	dir, store, _ := library(t)
	left := filepath.Join(dir, "left")
	succeeds(t, "svd", store, "-k", "2", "-o", left, "--vectors", "left")
	for _, args := range [][]string{{"similar", left, "--col", "10", "-n", "1"}, {"topics", left, "-n", "1"}, {"query", left, "10"}} {
		fails(t, ui.ExitError, `left has no ids of its cols, nor their vectors: it was made with --vectors left; compute it again with --vectors both`, args...)
	}
	sides := map[string]string{"left": "--row=ann", "right": "--col=10"}
	for kept, side := range sides {
		both, one := filepath.Join(dir, "both"), filepath.Join(dir, kept)
		succeeds(t, "svd", store, "-k", "2", "-o", both, "--force")
		succeeds(t, "svd", store, "-k", "2", "-o", one, "--force", "--vectors", kept)
		if got, want := succeeds(t, "similar", one, side), succeeds(t, "similar", both, side); got != want {
			t.Errorf("--vectors %s: similar %s prints\n%s, want\n%s", kept, side, got, want)
		}
	}
	right := filepath.Join(dir, "right")
	if text := succeeds(t, "topics", right, "-n", "1"); strings.Count(text, "column") != 4 || strings.Contains(text, "row") {
		t.Errorf("topics of a result without U:\n%s", text)
	}
	for _, args := range [][]string{{"similar", right, "--row", "ann"}, {"recommend", right, "--rows", "ann"}, {"query", right, "10"}} {
		fails(t, ui.ExitError, `right has no ids of its rows, nor their vectors`, args...)
	}
}

// TestEval: eval prints a table or JSON and removes its temporary directory.
func TestEval(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var in bytes.Buffer
	in.WriteString(succeeds(t, "generate", "ratings", "-o", "-", "--users", "200", "--items", "60", "--ratings", "5000"))
	store := filepath.Join(dir, "in.csr")
	succeeds(t, "ingest", write(t, dir, "in.dat", in.String()), "-o", store, "--holdout", "random:0.2")
	var r evaluate.Report
	args := []string{"eval", "--train", store, "--views", "recsys,none", "-k", "3,2", "--metrics", "recall@5,coverage,rmse"}
	decode(t, succeeds(t, append(args, "--json")...), &r)
	if len(r.Models) != 7 || r.Models[3].Name != "recsys, k = 2" || r.Models[3].Scores[0].Metric != "recall@5" || !(r.Models[3].Scores[0].Value > 0) || r.Users == 0 {
		t.Errorf("%+v", r)
	}
	text := succeeds(t, args...)
	if !strings.HasPrefix(text, "model              recall@5") || !strings.Contains(text, "none takes missing entries for zeros") {
		t.Errorf("table:\n%s", text)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "gdsvd-eval-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestEvalWithoutTestStore: without a test store, --folds judges users by a fifth of their entries, and is required.
func TestEvalWithoutTestStore(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	store := filepath.Join(dir, "all.csr")
	succeeds(t, "ingest", write(t, dir, "in.dat", succeeds(t, "generate", "ratings", "-o", "-", "--users", "200", "--items", "60", "--ratings", "5000")), "-o", store)
	args := []string{"eval", "--train", store, "-k", "3", "--metrics", "recall@5,coverage"}
	fails(t, ui.ExitUsage, `there is no .*all.csr.test: give the store of held-out entries with --test, make one with ingest --holdout, or evaluate users on some of their own entries with --folds users:0.1`, args...)
	fails(t, ui.ExitError, `no.test`, append(args, "--folds", "users:0.3", "--test", filepath.Join(dir, "no.test"))...)
	args = append(args, "--folds", "users:0.3")
	var r evaluate.Report
	decode(t, succeeds(t, append(args, "--json")...), &r)
	if r.Targets != evaluate.Targets || r.Test != r.Train || r.Users == 0 || r.Users > r.Rows/2 || !(r.Models[1].Scores[0].Value > 0) {
		t.Errorf("%+v", r)
	}
	if text := succeeds(t, args...); !strings.Contains(text, "judged by 20 % of their entries of "+store) || !strings.Contains(text, "these users, 30 % of all, are left out of the training") {
		t.Errorf("table:\n%s", text)
	}
}

// TestQuery: query finds readers by books.
func TestQuery(t *testing.T) {
	_, _, out := library(t)
	text := succeeds(t, "query", out, "-q", "10 20", "25", "-n", "2")
	if !strings.HasPrefix(text, "query 10 20 25\nrank  score") || !strings.Contains(text, "bob") || !strings.Contains(text, "ann") {
		t.Errorf("%s", text)
	}
	if r := gdsvd(t, "query", out, "30 moby 11", "-n", "1"); r.code != 0 || !strings.Contains(r.stderr, "words that are no ids of columns are left out") || !strings.Contains(r.stderr, "moby 11") {
		t.Errorf("%+v", r)
	}
	fails(t, ui.ExitError, `none of the words "moby dick" is the id of a column`, "query", out, "moby dick")
	fails(t, ui.ExitUsage, `want a result OUT and at least one word`, "query", out)
	fails(t, ui.ExitUsage, `"" has no word in it: want ids of columns`, "query", out, "")
	fails(t, ui.ExitUsage, `" \\t" has no word in it`, "query", out, "10", " \t")
}

// TestTitlesOfSeveral: a title, or the beginning of titles, that fits several ids is refused with their names.
func TestTitlesOfSeveral(t *testing.T) {
	dir := t.TempDir()
	store, out := filepath.Join(dir, "in.csr"), filepath.Join(dir, "out")
	titles := write(t, dir, "titles.csv", "10,Emma\n20,Emma\n30,Dune\n40,Dune II\n")
	succeeds(t, "ingest", write(t, dir, "in.csv", "ann,10,5\nann,20,4\nbob,30,4\nbob,40,5\ncy,10,3\n"), "-o", store, "--col-titles", titles)
	succeeds(t, "svd", store, "-k", "2", "-o", out)
	fails(t, ui.ExitError, `--col: column "Emma" is the title of several: 10 \(Emma\), 20 \(Emma\); give the id of one`, "similar", out, "--col", "Emma")
	fails(t, ui.ExitError, `--col: column "d" is the title of several: 30 \(Dune\), 40 \(Dune II\); give`, "similar", out, "--col", "d")
	if text := succeeds(t, "similar", out, "--col", "Dune"); !strings.HasPrefix(text, "column 30 (Dune)") {
		t.Errorf("an exact title:\n%s", text)
	}
	for _, words := range [][]string{{"dune ii"}, {"Dune II", "40"}, {"40"}} {
		if text := succeeds(t, append([]string{"query", "-q", out, "-n", "1"}, words...)...); !strings.Contains(text, "bob") {
			t.Errorf("query %q:\n%s", words, text)
		}
	}
	fails(t, ui.ExitError, `column "emma" is the title of several`, "query", out, "emma")
	_, byID := factorised(t, store, "-k", "2", "--keep-cols", write(t, dir, "ids", "10\n30\n40\n"))
	_, byTitle := factorised(t, store, "-k", "2", "--keep-cols", write(t, dir, "mixed", "Dune\nDune II\n10\n"))
	if byID.View.Fingerprint != byTitle.View.Fingerprint || byID.View.Fingerprint == "" {
		t.Errorf("a list of titles is the view %+v, of ids %+v", byTitle.View, byID.View)
	}
	fails(t, ui.ExitError, `"Emma" is the title of several columns, such as that with the id 20: a list that keeps them names them by ids`,
		"svd", store, "-k", "2", "-o", out+"2", "--keep-cols", write(t, dir, "several", "Emma\nDune\n"))
	fails(t, ui.ExitError, `2 of 3 ids, such as "Du" in line 1, are not among the columns of .*: give ids as the file that was ingested has them, or whole titles, one a line`,
		"svd", store, "-k", "2", "-o", out+"2", "--keep-cols", write(t, dir, "begin", "Du\nDun\n40\n"))
	people := write(t, dir, "people.csv", "ann,Ann Lee\nbob,Bob\ncy,Bobby\n")
	succeeds(t, "ingest", "-q", filepath.Join(dir, "in.csv"), "-o", store, "--resume", "--row-titles", people)
	if text := succeeds(t, "view", "-q", store, "--rows", "ann lee,Bob"); !strings.Contains(text, "row ann (Ann Lee)") || !strings.Contains(text, "row bob (Bob)") || strings.Contains(text, "cy") {
		t.Errorf("view by titles:\n%s", text)
	}
	fails(t, ui.ExitError, `row "bo" is the title of several: bob \(Bob\), cy \(Bobby\); give the id of one`, "view", store, "--rows", "bo")
	commas := write(t, dir, "commas.csv", "ann,\"Lee, Ann\"\nbob,Bob\ncy,\"Lee, Cy\"\n")
	succeeds(t, "ingest", "-q", filepath.Join(dir, "in.csv"), "-o", store, "--force", "--row-titles", commas)
	if text := succeeds(t, "view", "-q", store, "--rows", "Lee, Cy"); !strings.Contains(text, "row cy (Lee, Cy)") || strings.Contains(text, "ann") || strings.Contains(text, "bob") {
		t.Errorf("view by a title with a comma:\n%s", text)
	}
	fails(t, ui.ExitError, `--rows " Zoe": no row of`, "view", store, "--rows", "Bob, Zoe")
}

// TestTitleWithComma: a title that contains a comma is not confused with a list of ids.
func TestTitleWithComma(t *testing.T) {
	dir := t.TempDir()
	store, out := filepath.Join(dir, "in.csr"), filepath.Join(dir, "out")
	titles := write(t, dir, "titles.csv", "10,\"Girl, Man\"\n20,Girl\n30,Man on Fire\n40,\"Heat, The\"\n")
	succeeds(t, "ingest", write(t, dir, "in.csv", "ann,10,5\nann,20,4\nbob,30,4\nbob,40,5\ncy,10,3\ncy,30,1\n"), "-o", store, "--col-titles", titles)
	succeeds(t, "svd", store, "-k", "2", "-o", out)
	fails(t, ui.ExitError, `--col Girl, Man is the id or title of a column, and a file or a list of ids: .* or the id into a file`, "similar", out, "--col", "Girl, Man")
	for text, want := range map[string][]string{"Heat, The": {"40"}, "Girl,Heat": {"20", "40"}, "20,30": {"20", "30"}, write(t, dir, "one", "Girl, Man\n"): {"10"}} {
		said := succeeds(t, "similar", out, "--col", text, "--json")
		var found struct{ Rankings []struct{ ID json.Number } }
		must.Do(t, json.Unmarshal([]byte(said), &found))
		var got []string
		for _, r := range found.Rankings {
			got = append(got, string(r.ID))
		}
		if !slices.Equal(got, want) {
			t.Errorf("--col %s is of %q, want %q", text, got, want)
		}
	}
}

// TestIDOfDirectory: an id that is the name of a directory, too, is an id.
func TestIDOfDirectory(t *testing.T) {
	_, store, out := library(t)
	t.Chdir(t.TempDir())
	commands := [][]string{{"similar", out, "--row", "ann"}, {"recommend", out, "--rows", "ann"}, {"view", store, "--rows", "ann", "-q"}}
	var want []string
	for _, args := range commands {
		want = append(want, succeeds(t, args...))
	}
	must.Do(t, os.Mkdir("ann", 0o777))
	for i, args := range commands {
		if got := succeeds(t, args...); got != want[i] {
			t.Errorf("%q beside a directory ann prints\n%s, want\n%s", args, got, want[i])
		}
	}
}

// TestViewOfTitleWithComma: view refuses rows that are an id or title and a list or file of others, and reads a title and a list as similar does.
func TestViewOfTitleWithComma(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "in.csr")
	titles := write(t, dir, "titles.csv", "10,\"Girl, Man\"\n20,Girl\n30,Man\n40,\"Heat, The\"\n")
	succeeds(t, "ingest", write(t, dir, "in.csv", "10,ann,5\n20,ann,4\n30,bob,4\n40,bob,5\n10,cy,3\n"), "-o", store, "--row-titles", titles)
	fails(t, ui.ExitError, `--rows Girl, Man is the id or title of a row, and a list of those of others: write what is meant into a file`, "view", store, "--rows", "Girl, Man")
	t.Chdir(dir)
	write(t, dir, "30", "20\n")
	fails(t, ui.ExitError, `--rows 30 is the id or title of a row, and a list of those of others: write what is meant into a file, one a line, or ./30 for a file`, "view", store, "--rows", "30")
	for text, row := range map[string]string{"./30": "row 20 ", "Heat, The": "row 40 ", "30,20": "row 30 ", write(t, dir, "one", "Girl, Man\n"): "row 10 "} {
		if said := succeeds(t, "view", store, "--rows", text); !strings.Contains(said, row) {
			t.Errorf("--rows %s prints\n%s", text, said)
		}
	}
}

func TestViewsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"recsys":                        {"recsys"},
		"recsys,none":                   {"recsys", "none"},
		"bm25=50,0.5":                   {"bm25=50,0.5"},
		"none,bm25=50,0.5,recsys":       {"none", "bm25=50,0.5", "recsys"},
		"log1p|normalize=rows,l1,none":  {"log1p|normalize=rows,l1", "none"},
		"bias=both,nonsense,log1p":      {"bias=both", "nonsense", "log1p"},
		"@a.txt,none":                   {"@a.txt", "none"},
		"log1p | center=columns,recsys": {"log1p | center=columns", "recsys"},
	} {
		if got := viewsOf(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestIDsWithBlanks: blanks around an id in a list are part of it only if such an id exists.
func TestIDsWithBlanks(t *testing.T) {
	dir := t.TempDir()
	store, out := filepath.Join(dir, "in.csr"), filepath.Join(dir, "out")
	succeeds(t, "ingest", "-q", write(t, dir, "in.csv", "\" a\",x,1\na,y,2\n\"a \",z,3\nb,x,4\n"), "-o", store, "--columns", "1,2,3", "--header", "no")
	succeeds(t, "svd", "-q", store, "-k", "3", "-o", out)
	for list, want := range map[string]string{" a\n": " a", "a\r\n": "a", "a \n": "a ", "\ta\n": "a", " b \n": "b"} {
		rows := write(t, dir, "rows", list)
		recs := filepath.Join(dir, "recs.jsonl")
		succeeds(t, "recommend", "-q", out, "--rows", rows, "-n", "1", "-o", recs, "--force")
		if text, err := os.ReadFile(recs); err != nil || !strings.Contains(string(text), fmt.Sprintf(`"row":%q`, want)) {
			t.Errorf("recommend to %q: %s, %v, want %q", list, text, err, want)
		}
		if text := succeeds(t, "view", "-q", store, "--rows", rows, "--json"); !strings.Contains(text, fmt.Sprintf(`"id": %q`, want)) {
			t.Errorf("view of %q: %s, want %q", list, text, want)
		}
		if text := succeeds(t, "view", "-q", store, "--view", "keep=rows,"+rows, "--head", "1", "--json"); !strings.Contains(text, fmt.Sprintf(`"id": %q`, want)) {
			t.Errorf("keep=rows of %q: %s, want %q", list, text, want)
		}
	}
}
