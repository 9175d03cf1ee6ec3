package csr_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

var newFixtures = flag.Bool("new-fixtures", false, "write fixtures of this format version that do not exist yet")

const fixtureDir = "../testdata/format_v1"

// fixture is a store committed in testdata; NAME.txt beside it is its listing, made by an
// independent reader of FORMAT.md.
type fixture struct {
	name       string
	transposed bool
	matrix     matrix
	rowIDs     []int64
	colIDs     []string
}

// fixtures returns the matrices that the committed stores were made from.
func fixtures() []fixture {
	sparse := func(rows int, cols uint32, value func(k int) float64) matrix {
		m := matrix{cols: int64(cols)}
		k := 0
		for i := range rows {
			var r row
			for c := uint32(i) % 3; c < cols; c += 1 + (c*c+uint32(i))%37 {
				r.cols, r.vals = append(r.cols, c), append(r.vals, value(k))
				k++
			}
			m.rows = append(m.rows, r)
		}
		return m
	}
	several := sparse(5, 12, func(k int) float64 { return float64(k%10+1) / 2 })
	several.rows = slices.Concat(several.rows[:2], make([]row, csr.BlockRows), several.rows[2:3],
		make([]row, csr.BlockRows), several.rows[3:])
	var items []string
	for i := range 12 {
		items = append(items, fmt.Sprintf("item %c é", 'a'+i))
	}
	slices.Sort(items)
	return []fixture{
		{name: "several-shards", transposed: true, matrix: several, colIDs: items},
		{name: "constant", matrix: sparse(20, 300, func(int) float64 { return -1.25 })},
		{name: "dict8", matrix: sparse(30, 100, func(k int) float64 { return float64(k%200) / 8 })},
		{name: "float32", matrix: sparse(40, 200, func(k int) float64 { return float64(float32(k) / 3) }),
			rowIDs: []int64{-1 << 63, -5, 0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100,
				200, 300, 400, 500, 600, 700, 800, 900, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 1 << 40, 1 << 50, 1<<63 - 1}},
		{name: "integer", matrix: sparse(40, 200, func(k int) float64 { return float64(uint32(k*k) << (k % 5 * 4)) })},
		{name: "float64", matrix: sparse(40, 200, func(k int) float64 { return float64(k) / 3 })},
		// The squares of these values are out of the range of float64.
		{name: "huge", matrix: sparse(40, 200, func(k int) float64 { return math.Ldexp(float64(k)/3, k*61%2000-1000) })},
		{name: "tiny", matrix: sparse(40, 200, func(k int) float64 { return math.Ldexp(float64(k+1), -1074) })},
	}
}

func (f *fixture) write(path string) error {
	w, err := csr.Create(path, csr.CreateOptions{
		Cols: f.matrix.cols, Values: f.matrix.stats(), Transposed: f.transposed, ShardSize: 1,
		Source: map[string]any{"made by": "TestFixtures"},
	})
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, r := range f.matrix.rows {
		if err := w.AppendRow(r.cols, r.vals); err != nil {
			return err
		}
	}
	if f.rowIDs != nil {
		iw, err := w.IDs(csr.RowAxis, csr.IntIDs)
		for _, id := range f.rowIDs {
			err = errors.Join(err, iw.AppendInt(id))
		}
		if err := errors.Join(err, iw.Close()); err != nil {
			return err
		}
	}
	if f.colIDs != nil {
		iw, err := w.IDs(csr.ColAxis, csr.StringIDs)
		for _, id := range f.colIDs {
			err = errors.Join(err, iw.AppendString(id))
		}
		if err := errors.Join(err, iw.Close()); err != nil {
			return err
		}
	}
	return w.Commit()
}

// TestFixtures opens the stores committed when the format was fixed, compares every value and id
// with the listing, and checks that the writer reproduces every byte except the source, which is
// free.
func TestFixtures(t *testing.T) {
	for _, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			committed := filepath.Join(fixtureDir, f.name+".csr")
			if _, err := os.Stat(committed); errors.Is(err, os.ErrNotExist) && *newFixtures {
				must.Do(t, f.write(committed))
			}
			requireSound(t, committed)
			want := must.Get(os.ReadFile(filepath.Join(fixtureDir, f.name+".txt")))(t)
			if got := listing(t, committed); got != string(want) {
				t.Errorf("the store does not match its listing")
			}
			again := filepath.Join(t.TempDir(), "x.csr")
			must.Do(t, f.write(again))
			requireSameFiles(t, again, committed)
		})
	}
}

// listing returns a store as text: its shape, the ids that have a file, and entries (row, column,
// bits of the value).
func listing(t *testing.T, path string) string {
	t.Helper()
	s := open(t, path)
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %d %v %v\n", s.Rows(), s.Cols(), s.NNZ(), s.Transposed(), s.Values().Coding)
	m := s.Manifest()
	for a, file := range []*csr.IDFile{m.IDs.Rows, m.IDs.Cols} {
		if file == nil {
			continue
		}
		a := csr.Axis(a)
		for _, id := range must.Get(readIDs(s, a))(t) {
			fmt.Fprintf(&b, "%v %s\n", a, id)
		}
	}
	var blk csr.Block
	for i := range s.NumBlocks() {
		must.Do(t, s.DecodeBlock(i, &blk))
		for r := range blk.Rows() {
			for c, v := range blk.Row(r) {
				fmt.Fprintf(&b, "%d %d %016x\n", blk.FirstRow+int64(r), c, math.Float64bits(v))
			}
		}
	}
	return b.String()
}

// requireSameFiles compares two stores byte by byte, except the source in the manifest and the crc
// that depends on it.
func requireSameFiles(t *testing.T, gotDir, wantDir string) {
	t.Helper()
	free := regexp.MustCompile(`(?s)"source": \{.*?\n  \},\n  "crc": "[0-9a-f]{8}"`)
	entries := must.Get(os.ReadDir(wantDir))(t)
	gotEntries, err := os.ReadDir(gotDir)
	if err != nil || len(gotEntries) != len(entries) {
		t.Errorf("%d files, want %d (%v)", len(gotEntries), len(entries), err)
	}
	for _, e := range entries {
		want := must.Get(os.ReadFile(filepath.Join(wantDir, e.Name())))(t)
		got := must.Get(os.ReadFile(filepath.Join(gotDir, e.Name())))(t)
		if e.Name() == "MANIFEST.json" {
			if !free.Match(want) {
				t.Errorf("no source in %s", want)
			}
			got, want = free.ReplaceAll(got, nil), free.ReplaceAll(want, nil)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the writer does not reproduce %s", e.Name())
		}
	}
}

// TestFixtureListingsAreIndependent compares the listings with the formulas that the stores were
// made from, so that a common error of reader and writer shows.
func TestFixtureListingsAreIndependent(t *testing.T) {
	for _, f := range fixtures() {
		t.Run(f.name, func(t *testing.T) {
			file := must.Get(os.Open(filepath.Join(fixtureDir, f.name+".txt")))(t)
			defer file.Close()
			lines := bufio.NewScanner(file)
			var want []string
			want = append(want, fmt.Sprintf("%d %d %d %v %v", len(f.matrix.rows), f.matrix.cols, f.matrix.nnz(), f.transposed, f.matrix.stats().Coding))
			for _, id := range f.rowIDs {
				want = append(want, fmt.Sprintf("rows %d", id))
			}
			for _, id := range f.colIDs {
				want = append(want, "cols "+id)
			}
			for i, r := range f.matrix.rows {
				for k, c := range r.cols {
					want = append(want, fmt.Sprintf("%d %d %016x", i, c, math.Float64bits(r.vals[k])))
				}
			}
			n := 0
			for ; lines.Scan() && n < len(want); n++ {
				if lines.Text() != want[n] {
					t.Fatalf("line %d is %q, want %q", n+1, lines.Text(), want[n])
				}
			}
			if n != len(want) || lines.Err() != nil {
				t.Errorf("%d lines, want %d (%v)", n, len(want), lines.Err())
			}
		})
	}
}
