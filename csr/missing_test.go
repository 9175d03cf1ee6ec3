package csr_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestMissing checks that a store with missing entries reports them, has its own fingerprint, and opens only with Missing set.
func TestMissing(t *testing.T) {
	rows := [][]csrtest.Entry{{{Col: 0, Val: 1}, {Col: 1, Val: 3}}, {{Col: 1, Val: 2}}}
	paths := map[float64]string{}
	prints := map[float64]string{}
	for _, missing := range []float64{0, 3, 4} {
		paths[missing] = filepath.Join(t.TempDir(), "m.csr")
		csrtest.Write(t, paths[missing], 2, rows, csr.CreateOptions{Missing: missing})
		s := csrtest.Open(t, paths[missing], csr.OpenOptions{Missing: true})
		value, ok := s.Missing()
		if ok != (missing == 3) || ok && value != 3 || (s.NoMissing() == nil) == ok {
			t.Errorf("%v: %v, %v, %v", missing, value, ok, s.NoMissing())
		}
		prints[missing] = s.Fingerprint()
	}
	if prints[3] == prints[0] || prints[4] != prints[0] {
		t.Errorf("fingerprints %v", prints)
	}
	_, err := csr.Open(paths[3], csr.OpenOptions{})
	if !errors.Is(err, csr.ErrMissing) || !strings.Contains(err.Error(), "--view patterson") || !strings.Contains(err.Error(), "impute=zero") {
		t.Error(err)
	}
	if _, err := csr.Open(paths[4], csr.OpenOptions{}); err != nil {
		t.Error(err)
	}
	// The manifest is sealed: another missing value, or none, is damage.
	name := filepath.Join(paths[3], csr.ManifestName)
	text := must.Get(os.ReadFile(name))(t)
	for _, to := range []string{`"missing": 7`, `"missing": 2`, `"cols": 2`} {
		changed := bytes.Replace(text, []byte(`"missing": 3`), []byte(to), 1)
		if bytes.Equal(changed, text) {
			t.Fatalf("no missing in %s", text)
		}
		must.Do(t, os.WriteFile(name, changed, 0o666))
		if _, err := csr.Open(paths[3], csr.OpenOptions{Missing: true}); !errors.Is(err, csr.ErrCorrupt) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestMissingAmongMany checks that Missing without a table of values gives ErrCoding at Commit.
func TestMissingAmongMany(t *testing.T) {
	row := make([]csrtest.Entry, 300)
	for j := range row {
		row[j] = csrtest.Entry{Col: uint32(j), Val: float64(j) + 0.25}
	}
	w := must.Get(csr.Create(filepath.Join(t.TempDir(), "m.csr"), csr.CreateOptions{Cols: 300, Missing: 3, Values: csr.Values{Coding: csr.Float32}}))(t)
	var cols []uint32
	var vals []float64
	for _, e := range row {
		cols, vals = append(cols, e.Col), append(vals, e.Val)
	}
	must.Do(t, w.AppendRow(cols, vals))
	if err := w.Commit(); !errors.Is(err, csr.ErrCoding) {
		t.Error(err)
	}
}
