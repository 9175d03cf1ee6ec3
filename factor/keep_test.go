package factor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/must"
)

// idList writes a file of ids, one per line, and returns its name.
func idList(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ids.txt")
	must.Do(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o666))
	return name
}

// TestKeptColumns: the name of a result with keep=columns depends on the ids kept, not on the file that lists them, and
// Check does not need the file.
func TestKeptColumns(t *testing.T) {
	store := random(t, 500, 60, 3)
	var ids []string
	for j := range 30 {
		ids = append(ids, fmt.Sprint(2*j))
	}
	dir := filepath.Join(t.TempDir(), "out")
	list := idList(t, append(ids, "none", "61")...)
	o := factor.Options{Rank: 4, Dir: dir, View: pipeline(t, "log1p · keep=columns,"+list+" · drop=columns,count<5 · pca")}
	r := run(t, store, o)
	if r.View == nil || !strings.HasPrefix(r.View.Pipeline, "log1p · keep=columns,sha256:") || strings.Contains(r.View.Pipeline, "ids.txt") {
		t.Fatalf("%+v", r.View)
	}
	must.Do(t, os.Remove(list))
	report, err := check.Result(t.Context(), dir, check.Options{Store: store.Path()})
	if err != nil || report.Err() != nil || report.Measured.View != r.View.Pipeline || len(report.Warnings) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	// The same columns in another order, with spaces and carriage returns, some of them twice.
	o.Resume, o.View = true, pipeline(t, "log1p · keep=columns,"+idList(t, "\uFEFF 58\r", "", strings.Join(ids, "\r\n"), "0", "0")+" · drop=columns,count<5 · pca")
	if again := run(t, store, o); again == nil || again.View.Fingerprint != r.View.Fingerprint {
		t.Errorf("another result: %+v", again)
	}
	o.Resume, o.Dir, o.View = false, dir+"2", pipeline(t, "log1p · keep=columns,"+idList(t, ids[1:]...)+" · drop=columns,count<5 · pca")
	if other := run(t, store, o); other == nil || other.View.Fingerprint == r.View.Fingerprint {
		t.Errorf("the same name: %+v", other)
	}
	mask := "view-2-keep-mask.npy"
	b := must.Get(os.ReadFile(filepath.Join(dir+"2", mask)))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, mask), b, 0o666))
	report, err = check.Result(t.Context(), dir, check.Options{Store: store.Path()})
	if err == nil && report.Err() == nil {
		t.Error("the mask of another result is taken")
	}
}

// TestKeptRows: keep=rows works in both orientations.
func TestKeptRows(t *testing.T) {
	for _, size := range [][2]int{{200, 60}, {60, 200}} {
		store := random(t, size[0], size[1], 6)
		rows, _ := factor.Dims(store)
		var ids []string
		for i := range rows / 2 {
			ids = append(ids, fmt.Sprint(2*i))
		}
		dir := filepath.Join(t.TempDir(), "out")
		r := run(t, store, factor.Options{Rank: 2, Dir: dir, View: pipeline(t, "keep=rows,"+idList(t, ids...)+" · drop=rows,count<2 · keep=rows,hvg:20 · center=rows")})
		report, err := check.Result(t.Context(), dir, check.Options{Store: store.Path()})
		if err != nil || report.Err() != nil || report.Measured.View != r.View.Pipeline || len(report.Warnings) > 0 {
			t.Errorf("%v: %+v, %v", size, report, err)
		}
	}
}

// TestListsRefused: files that are no lists of ids of the matrix are refused in one line that names a remedy.
func TestListsRefused(t *testing.T) {
	store := random(t, 100, 30, 5)
	for _, c := range []struct{ list, says string }{
		{idList(t), "the file has no ids: give one a line"},
		{idList(t, "1", "x", "y"), `2 of 3 ids, such as "x" in line 2, are not among the columns of`},
		{filepath.Join(t.TempDir(), "absent"), "absent: "},
		{"sha256:00112233445566778899aabbccddeeff", "give the FILE with their ids"},
	} {
		o := factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "out"), View: pipeline(t, "keep=columns,"+c.list)}
		_, err := factor.Run(t.Context(), store, o)
		_, explained := factor.Explain(t.Context(), store, o)
		_, summed := look.Peek(t.Context(), store, look.PeekOptions{Options: look.Options{View: o.View}, Head: 1, Entries: 1})
		for _, err := range []error{err, explained, summed} {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", c.list, err, c.says)
			}
		}
	}
}
