package factor_test

import (
	"bytes"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/factor"
)

// logged is a logger and what it has said.
func logged() (*slog.Logger, *bytes.Buffer) {
	said := new(bytes.Buffer)
	return slog.New(slog.NewTextHandler(said, nil)), said
}

// Whoever looks at a view is told of ids in its lists that the matrix does not have, as a run is.
func TestLooksTellOfUnknownIDs(t *testing.T) {
	store := random(t, 50, 12, 3)
	view := pipeline(t, "keep=columns,"+idList(t, "0", "3", "none", "7")+" · log1p")
	const want = "unknown=1 ids=4"
	log, said := logged()
	if _, err := factor.Peek(t.Context(), store, factor.PeekOptions{Rows: 1, Entries: 1, LookOptions: factor.LookOptions{View: view, Log: log}}); err != nil || !strings.Contains(said.String(), want) {
		t.Errorf("Peek says %q, %v", said, err)
	}
	log, said = logged()
	o := factor.StatsOptions{Dir: filepath.Join(t.TempDir(), "stats"), LookOptions: factor.LookOptions{View: view, Log: log}}
	if _, err := factor.Summarise(t.Context(), store, o); err != nil || !strings.Contains(said.String(), want) {
		t.Errorf("Summarise says %q, %v", said, err)
	}
}

// A row of a matrix whose columns are the rows of the store takes a read of all of it, which is told.
func TestPeekTellsOfReads(t *testing.T) {
	id := "bob"
	for _, transposed := range []bool{false, true} {
		log, said := logged()
		o := factor.PeekOptions{Row: &id, Entries: 1, LookOptions: factor.LookOptions{Log: log}}
		if _, err := factor.Peek(t.Context(), cinema(t, transposed), o); err != nil || strings.Contains(said.String(), "takes a read of all of it") != transposed {
			t.Errorf("transposed %t: %q, %v", transposed, said, err)
		}
	}
}

// Start vectors of another view are taken, with a warning: they change what a run takes, and neither what it
// finds nor what its result is of.
func TestInitOfAnotherView(t *testing.T) {
	store := random(t, 800, 60, 14)
	raw := run(t, store, factor.Options{Rank: 5, Dir: filepath.Join(t.TempDir(), "raw")})
	o := factor.Options{Rank: 5, View: pipeline(t, "bm25"), Dir: filepath.Join(t.TempDir(), "cold")}
	cold := run(t, store, o)
	log, said := logged()
	o.Init, o.Log, o.Dir = raw.Dir(), log, filepath.Join(t.TempDir(), "warm")
	warm := run(t, store, o)
	if !strings.Contains(said.String(), "the start vectors are of another view") {
		t.Errorf("%q", said)
	}
	if warm.View == nil || warm.View.Fingerprint != cold.View.Fingerprint || warm.Status != "converged" || !warm.Outside.Leading {
		t.Errorf("%+v, %+v", warm.View, warm.Outside)
	}
	for i, s := range warm.Sigma {
		if math.Abs(float64(s-cold.Sigma[i])) > 1e-9*float64(cold.Sigma[0]) {
			t.Errorf("value %d is %v, %v from random vectors", i, s, cold.Sigma[i])
		}
	}
}
