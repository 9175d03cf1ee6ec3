package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/must"
)

// shelf returns a store of ratings of three people for two films, one of which has a title.
func shelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	store := filepath.Join(dir, "out.csr")
	for name, text := range map[string]string{"in": "ann,10,1\nann,20,3\nbob,10,5\ncy,20,4\n", "titles": "itemId,title\n10,\"Heat, The\"\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	succeeds(t, "ingest", "-q", filepath.Join(dir, "in"), "--titles", filepath.Join(dir, "titles"), "-o", store)
	return store
}

// TestLookAtStore compares the output of view and stats for a small store byte by byte.
func TestLookAtStore(t *testing.T) {
	store := shelf(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"view", "--head", "2"}, `shape  3 × 2

row ann: 2 of 2 elements have an entry
  10 (Heat, The)  1
  20              3

row bob: 1 of 2 elements have an entry
  10 (Heat, The)  5
  each of the 1 without an entry is 0
`},
		{[]string{"view", "--rows", "bob", "--entries", "1", "--view", "center=columns"}, `view   center=columns
shape  3 × 2

row bob: 1 of 2 elements have an entry
  10 (Heat, The)  3
  each of the 1 without an entry is -2.33333
`},
		{[]string{"view", "--view", "binary>=9"}, `view   binary>=9
shape  3 × 2

no row has an entry
`},
		{[]string{"stats"}, `matrix  3 × 2, 4 entries; sum 13, mean of all elements 2.16667, norm 7.14143

entries of the 3 rows, of which 0 are empty
  min  1 %  5 %  25 %  50 %  75 %  95 %  99 %  max
  1    1    1    1     1     2     2     2     2

largest rows  entries  sum  mean  variance
  ann         2        4    2     1
  bob         1        5    2.5   6.25
  cy          1        4    2     4

entries of the 2 columns, of which 0 are empty
  min  1 %  5 %  25 %  50 %  75 %  95 %  99 %  max
  2    2    2    2     2     2     2     2     2

largest columns   entries  sum  mean     variance
  10 (Heat, The)  2        6    2        4.66667
  20              2        7    2.33333  2.88889
`},
	} {
		got := succeeds(t, append([]string{c.args[0], store}, c.args[1:]...)...)
		first, rest, _ := strings.Cut(got, "\n")
		if rest != c.want || !strings.HasPrefix(first, "store") || !strings.HasSuffix(first, "  "+store) {
			t.Errorf("%v prints\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
}

// TestStatsFiles compares the files of stats with sums over the input, for both stored orientations, and checks
// the JSON forms.
func TestStatsFiles(t *testing.T) {
	for name, in := range map[string]synth.Ratings{"tall": tall, "wide": wide} {
		file, work := ratings(t, in), t.TempDir()
		store, out := filepath.Join(work, "m.csr"), filepath.Join(work, "out")
		succeeds(t, "ingest", "-q", file, "-o", store)
		var s look.Stats
		decode(t, succeeds(t, "stats", "-q", store, "-o", out, "--json"), &s)
		a := denseRatings(t, file)
		rows, cols := a.Dims()
		sums, counts := loadNPY(t, filepath.Join(out, "rows-sum.npy")), loadNPY(t, filepath.Join(out, "cols-count.npy"))
		for i := range rows {
			if got, want := sums.At(i, 0), mat.Sum(a.RowView(i)); got != want {
				t.Errorf("%s: the sum of row %d is %v, want %v", name, i, got, want)
			}
		}
		entries := 0.0
		for j := range cols {
			n := 0.0
			for i := range rows {
				if a.At(i, j) != 0 {
					n++
				}
			}
			if entries += n; counts.At(j, 0) != n {
				t.Errorf("%s: column %d has %v entries, want %v", name, j, counts.At(j, 0), n)
			}
		}
		if s.Entries != int64(entries) || s.Rows.Number != int64(rows) || s.Cols.Number != int64(cols) || len(s.Rows.Largest) != 10 || s.Dir != out {
			t.Errorf("%s: %+v", name, s)
		}
		if files := names(t, out); len(files) != 11 || !slices.Contains(s.Files, "rows.csv") {
			t.Errorf("%s: %v", name, files)
		}
		fails(t, ui.ExitError, `out: file (already )?exists \(--force replaces it\)`, "stats", "-q", store, "-o", out)
		succeeds(t, "stats", "-q", store, "-o", out, "--force", "--workers", "3", "--view", "lsi")
		fails(t, ui.ExitError, "it is not a set of statistics and is left alone", "stats", "-q", store, "-o", store, "--force")
		var p look.Peeked
		decode(t, succeeds(t, "view", "-q", store, "--json", "--head", "3", "--view", "pca"), &p)
		if len(p.Lines) != 3 || len(p.Lines[0].Entries) != 20 || p.View != "center=columns" || p.Rows != int64(rows) {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestLookMisuse: wrong flags and unreadable stores are errors of one line, and no files are written.
func TestLookMisuse(t *testing.T) {
	store, work := ingested(t, tall), t.TempDir()
	result, _ := factorised(t, store, "-k", "2")
	out := filepath.Join(work, "out")
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{ui.ExitUsage, []string{"view"}, `want one STORE, not 0 arguments \(see gdsvd view -h\)`},
		{ui.ExitUsage, []string{"stats", ""}, "the name of the STORE is empty"},
		{ui.ExitUsage, []string{"view", store, "--head", "0"}, "--head 0: want 1 to 1000"},
		{ui.ExitUsage, []string{"view", store, "--entries", "1001"}, "--entries 1001: want 1 to 1000"},
		{ui.ExitUsage, []string{"view", store, "--head", "2", "--rows", "7"}, "--rows names the rows: leave out --head"},
		{ui.ExitUsage, []string{"view", store, "--view", "bm52"}, `--view: byte 1, "bm52": there is no such step`},
		{ui.ExitUsage, []string{"stats", store, "--view", ""}, "--view: byte 1, \"\": there are no steps"},
		{ui.ExitUsage, []string{"stats", store, "--workers", "-1"}, "--workers -1: want 1 or more"},
		{ui.ExitUsage, []string{"stats", store, "-o", ""}, "the name of the OUT is empty"},
		{ui.ExitUsage, []string{"stats", store, "--force"}, "--force is for an OUT to write: give one with -o"},
		{ui.ExitError, []string{"view", store, "--rows", "7,x"}, `--rows "x": no row of .*m.csr has that id`},
		{ui.ExitError, []string{"view", store, "--rows", ""}, `--rows "": no row of .*m.csr has that id`},
		{ui.ExitError, []string{"view", store, "--view", "multiply=-1 | sqrt"}, `sqrt makes -\S+ in row \d+, column \d+, NaN`},
		{ui.ExitError, []string{"stats", store, "-o", out, "--view", "multiply=-1 | sqrt"}, `sqrt makes -\S+ in row \d+, column \d+, NaN`},
		{ui.ExitError, []string{"stats", store, "-o", out, "--memory", "1"}, "memory budget of .* is too small: at least"},
		{ui.ExitError, []string{"stats", store, "-o", filepath.Join(work, "none", "out")}, "make the directory .*none first"},
		{ui.ExitError, []string{"view", result}, "it is a result, made by"},
		{ui.ExitError, []string{"stats", result}, "it is a result, made by"},
		{ui.ExitError, []string{"view", filepath.Join(work, "none")}, "no such file|cannot find"},
	} {
		fails(t, c.code, c.want, append(c.args, "-q")...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"view", store}, {"stats", store, "-o", out}} {
		if o := gdsvdIn(t, ctx, "", append(args, "-q")...); o.code != ui.ExitInterrupted || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v, interrupted: exit %d, %s", args, o.code, o.stderr)
		}
		var stderr bytes.Buffer
		if code := newApp(strings.NewReader(""), brokenWriter{}, &stderr).run(t.Context(), args); code != ui.ExitError || !strings.Contains(stderr.String(), errBroken.Error()) {
			t.Errorf("%v: exit %d, %s", args, code, &stderr)
		}
	}
	// The error about damage names the shard.
	shard := filepath.Join(store, "shard-000000.csr")
	b := must.Get(os.ReadFile(shard))(t)
	b[len(b)/2] ^= 1
	must.Do(t, errors.Join(os.RemoveAll(out), os.WriteFile(shard, b, 0o666)))
	for _, args := range [][]string{{"view", store}, {"view", store, "--view", "pca"}, {"stats", store, "-o", out}} {
		fails(t, ui.ExitCorrupt, "shard-000000.csr", append(args, "-q")...)
	}
	if left := names(t, work); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
