package ingest

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSiftRealData compares with numbers from plain loops in Python: the size of the core, and of each
// hold-out the number of entries, the sums of their values and of the ids
// of their columns, and the rows and columns that keep no entry.
func TestSiftRealData(t *testing.T) {
	dir := dataDir(t)
	type held struct {
		which      string
		n          int64
		sum        float64
		items      int64
		rows, cols int64
	}
	for _, c := range []struct {
		path           string
		perRow, perCol int64
		rows, cols, n  int64
		cut            int64 // time of the first entry held out by time
		holdouts       []held
	}{
		{"ml-100k/u.data", 30, 30, 720, 795, 86295, 891364581, []held{
			{"random:0.2", 17380, 62418, 6534984, 0, 0}, {"last:2", 1440, 4979, 687071, 0, 0},
			{"time:0.1", 8629, 31377, 3354362, 54, 0}, {"after:888104087", 21574, 77348, 8247232, 161, 1},
		}},
		{"ml-latest-small/ratings.csv", 25, 15, 513, 1629, 71636, 1493845406, []held{
			{"random:0.2", 14269, 51421.5, 196625287, 0, 0}, {"last:2", 1026, 3802, 19759216, 0, 0},
			{"time:0.1", 7163, 25135, 235844662, 43, 4}, {"after:1431955403", 17910, 64486, 594656176, 111, 30},
		}},
	} {
		for i, want := range c.holdouts {
			h := must.Get(ParseHoldout(want.which))(t)
			h.Seed = 7
			p := mustPlan(t)
			if i%2 == 1 {
				p.Keep, p.Run, p.First = 0, 1<<13, 1<<13
			}
			out := target(t)
			o := Options{Holdout: h, Filter: Filter{MinPerRow: c.perRow, MinPerCol: c.perCol}, CheckpointEvery: -1}
			rep := must.Get(ingest(t.Context(), []string{filepath.Join(dir, "movielens", c.path)}, out, o.withDefaults(), p))(t)
			if rep.Rows != c.rows || rep.Cols != c.cols || rep.NNZ+rep.Heldout.NNZ != c.n {
				t.Errorf("%s: the core is %+v", c.path, rep)
			}
			got := held{which: want.which, rows: rep.Heldout.Rows, cols: rep.Heldout.Cols}
			for _, e := range contents(t, out+TestSuffix) {
				item := must.Get(strconv.ParseInt(e.Col, 10, 64))(t)
				got.n, got.sum, got.items = got.n+1, got.sum+e.Val, got.items+item
			}
			if got != want {
				t.Errorf("%s: %+v, want %+v", c.path, got, want)
			}
			if strings.HasPrefix(want.which, "time") && !rep.Heldout.From.Equal(time.Unix(c.cut, 0)) {
				t.Errorf("%s: from %v on, want %v", c.path, rep.Heldout.From, time.Unix(c.cut, 0))
			}
		}
	}
}
