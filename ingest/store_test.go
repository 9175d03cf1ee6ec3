package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// triple is one entry of the user's matrix. Row and Col are ids, or indices
// from 0 if the store has no ids.
type triple formattest.Triple

func compareTriples(a, b triple) int {
	return formattest.Compare(formattest.Triple(a), formattest.Triple(b))
}

// own converts triples of formattest.
func own(entries []formattest.Triple) (all []triple) {
	for _, e := range entries {
		all = append(all, triple(e))
	}
	return all
}

// contents returns the entries of a store, sorted by the text of the ids.
func contents(t testing.TB, path string) []triple {
	t.Helper()
	s := must.Get(csr.Open(path, csr.OpenOptions{Missing: true}))(t)
	defer s.Close()
	rows, cols := idsOf(t, s, csr.RowAxis, s.Rows()), idsOf(t, s, csr.ColAxis, s.Cols())
	var all []triple
	eachStored(t, path, func(row int64, col uint32, v float64) {
		e := triple{rows[row], cols[col], v}
		if s.Transposed() {
			e.Row, e.Col = e.Col, e.Row
		}
		all = append(all, e)
	})
	slices.SortFunc(all, compareTriples)
	return all
}

// eachStored calls visit for each entry of a store.
func eachStored(t testing.TB, path string, visit func(row int64, col uint32, v float64)) {
	t.Helper()
	s := must.Get(csr.Open(path, csr.OpenOptions{Missing: true}))(t)
	defer s.Close()
	var b csr.Block
	for i := range s.NumBlocks() {
		must.Do(t, s.DecodeBlock(i, &b))
		for r := range b.Rows() {
			for col, v := range b.Row(r) {
				visit(b.FirstRow+int64(r), col, v)
			}
		}
	}
}

func idsOf(t testing.TB, s *csr.Store, axis csr.Axis, n int64) []string {
	t.Helper()
	r := must.Get(s.IDs(axis))(t)
	var names []string
	defer r.Close()
	for r.Next() {
		names = append(names, r.String())
	}
	if r.Err() != nil || int64(len(names)) != n {
		t.Fatalf("%d ids of %d, %v", len(names), n, r.Err())
	}
	return names
}

// write puts content into a file of a new directory, so that equally named
// files give equal manifests.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

// target returns the path of a store in a new directory.
func target(t testing.TB) string { return filepath.Join(t.TempDir(), "out.csr") }

// tiny returns a plan under which even a few entries are written to temporary files, merged in
// several rounds, and read in several chunks.
func tiny() plan {
	return plan{chunk: 256, jobs: 3, Budget: extsort.Budget{Space: 64 << 20, Keep: 0, Run: 48, First: 8, ReadBuf: 64, FanIn: 3}, unsynced: 64, window: 8 << 20}
}

// ingestText ingests content and checks that nothing but the store is left.
func ingestText(t testing.TB, content string, o Options) (*Report, []triple, error) {
	t.Helper()
	out := target(t)
	rep, err := Ingest(t.Context(), []string{write(t, "in", content)}, out, o)
	leftovers(t, out, err == nil)
	if err != nil {
		return nil, nil, err
	}
	return rep, contents(t, out), nil
}

// leftovers fails unless the directory of out holds only out if published, and nothing otherwise.
func leftovers(t testing.TB, out string, published bool) {
	t.Helper()
	var want []string
	if published {
		want = []string{filepath.Base(out)}
	}
	only(t, filepath.Dir(out), want...)
}

// only fails unless a directory holds exactly the named files.
func only(t testing.TB, dir string, want ...string) {
	t.Helper()
	var names []string
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("left behind: %v, want %v", names, want)
	}
}

// parseError fails unless err is a *format.ParseError of the kind at the line and column.
func parseError(t testing.TB, err, kind error, line int64, column int) *format.ParseError {
	t.Helper()
	var pe *format.ParseError
	if !errors.As(err, &pe) || !errors.Is(err, kind) {
		t.Fatalf("error %v, want a format.ParseError of kind %q", err, kind)
	}
	if pe.Line != line || pe.Column != column {
		t.Errorf("error %q at %d:%d, want %d:%d", pe, pe.Line, pe.Column, line, column)
	}
	return pe
}

// ingested ingests inputs into a new store.
func ingested(t testing.TB, inputs []string, o Options) (out string, rep *Report) {
	t.Helper()
	out = target(t)
	return out, mustIngest(t, inputs, out, o)
}

// mustIngest calls Ingest and fails the test if it returns an error.
func mustIngest(t testing.TB, inputs []string, out string, o Options) *Report {
	t.Helper()
	return must.Get(Ingest(context.Background(), inputs, out, o))(t)
}
