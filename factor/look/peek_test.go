package look_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// movies is a matrix of people and films with one empty row.
var movies = [][]float64{
	{5, 0, 3},
	{0, 0, 0},
	{1, 2, 0},
	{4, 4, 4},
}

var (
	people = []string{"ann", "bob", "cy", "dee"}
	films  = []int64{7, 40, 41}
	titles = []string{"Alien", "", "Brazil"}
)

// cinema returns a store of movies with ids and the titles of films, transposed or not.
func cinema(t *testing.T, transposed bool) *csr.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.csr")
	rows, cols := len(people), len(films)
	at := func(i, j int) float64 { return movies[i][j] }
	users, items := csr.RowAxis, csr.ColAxis
	if transposed {
		rows, cols, users, items = cols, rows, items, users
		at = func(i, j int) float64 { return movies[j][i] }
	}
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: int64(cols), Transposed: transposed, Values: csr.Values{Coding: csr.Float64}}))(t)
	for i := range rows {
		var col []uint32
		var val []float64
		for j := range cols {
			if v := at(i, j); v != 0 {
				col, val = append(col, uint32(j)), append(val, v)
			}
		}
		must.Do(t, w.AppendRow(col, val))
	}
	u, err := w.IDs(users, csr.StringIDs)
	must.Do(t, err)
	for _, id := range people {
		err = errors.Join(err, u.AppendString(id))
	}
	f, bad := w.IDs(items, csr.IntIDs)
	if err = errors.Join(err, bad, u.Close()); err != nil {
		t.Fatal(err)
	}
	for _, id := range films {
		err = errors.Join(err, f.AppendInt(id))
	}
	w.SetTitles(items, func(yield func(string, error) bool) {
		for _, s := range titles {
			if !yield(s, nil) {
				return
			}
		}
	})
	must.Do(t, errors.Join(err, f.Close(), w.Commit()))
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// TestPeek: rows are shown with ids, titles and the values of the view, in both orientations.
func TestPeek(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		store := cinema(t, transposed)
		p, err := look.Peek(t.Context(), store, look.PeekOptions{Head: 2, Entries: 2, Options: look.Options{Workers: 2, Memory: 64 << 20}})
		must.Do(t, err)
		if p.View != "" || p.Rows != 4 || p.Cols != 3 || len(p.Lines) != 2 {
			t.Fatalf("%+v", p)
		}
		ann, cy := p.Lines[0], p.Lines[1]
		if ann.ID != "ann" || ann.Index != 0 || ann.Count != 2 || ann.Empty != 1 || ann.Low != 0 || ann.High != 0 || cy.ID != "cy" || cy.Index != 2 {
			t.Errorf("%+v", p.Lines)
		}
		want := []look.PeekedEntry{
			{Name: factor.Name{Index: 0, ID: int64(7), Title: "Alien"}, Value: 5},
			{Name: factor.Name{Index: 2, ID: int64(41), Title: "Brazil"}, Value: 3},
		}
		if !slices.Equal(ann.Entries, want) || cy.Entries[1].Name.String() != "40" || want[0].Name.String() != "7 (Alien)" {
			t.Errorf("%+v", p.Lines)
		}
		// The means of the columns are 2.5, 1.5 and 1.75.
		id, told := "bob", int64(0)
		p, err = look.Peek(t.Context(), store, look.PeekOptions{Rows: []string{id}, Entries: 3, Options: look.Options{
			View: pipeline(t, "pca"), Workers: 1, Progress: func(_, total int64) { told = total },
		}})
		must.Do(t, err)
		bob := p.Lines[0]
		if p.View != "center=columns" || len(p.Lines) != 1 || bob.ID != "bob" || bob.Count != 0 || bob.Empty != 3 || bob.Low != -2.5 || bob.High != -1.5 || told == 0 {
			t.Errorf("%+v, %d", p, told)
		}
		p, err = look.Peek(t.Context(), store, look.PeekOptions{Rows: []string{"dee", "ann"}, Entries: 1, Options: look.Options{View: pipeline(t, "center=columns")}})
		if dee := p.Lines[0]; err != nil || dee.Count != 3 || len(dee.Entries) != 1 || math.Abs(float64(dee.Entries[0].Value)-1.5) > 1e-15 || dee.Empty != 0 || len(p.Lines) != 2 || p.Lines[1].ID != "ann" {
			t.Errorf("%+v, %v", p, err)
		}
		id = "eve"
		if _, err := look.Peek(t.Context(), store, look.PeekOptions{Rows: []string{id}, Entries: 1}); err == nil || !strings.Contains(err.Error(), `Options.Rows "eve": no row of `) {
			t.Errorf("%v", err)
		}
	}
}
