package csr_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// withTruth writes the 1×1 matrix (v) with a truth file.
func withTruth(t *testing.T, path string, v float64, truth csr.Truth, force bool) error {
	t.Helper()
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 1, Force: force, Values: csr.Values{Coding: csr.Constant, Table: []float64{v}}}))(t)
	must.Do(t, w.AppendRow([]uint32{0}, []float64{v}))
	if err := w.SetTruth(truth); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// truthOf opens the store, reads its truth, and checks the store.
func truthOf(t *testing.T, path string) (truth *csr.Truth, report *csr.CheckReport, err error) {
	t.Helper()
	s := csrtest.Open(t, path, csr.OpenOptions{})
	report = must.Get(csr.Check(t.Context(), path, csr.CheckOptions{}))(t)
	truth, err = s.Truth()
	return truth, report, err
}

func TestTruthRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csr")
	for _, want := range []csr.Truth{
		{Sigma: []float64{3, 1.1e-300, 0}, Complete: true, Error: 1e-12},
		{Sigma: []float64{}},
	} {
		// The second store replaces the first: a directory with a truth file still counts as a store.
		must.Do(t, withTruth(t, path, 2, want, true))
		got, report, err := truthOf(t, path)
		must.Do(t, err)
		want.Fingerprint, want.CRC = got.Fingerprint, got.CRC
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("read %+v, want %+v", *got, want)
		}
		if len(report.Problems)+len(report.Warnings) != 0 {
			t.Errorf("check reports %v, %v", report.Problems, report.Warnings)
		}
	}
	must.Do(t, os.Remove(filepath.Join(path, "truth.json")))
	if got, _, err := truthOf(t, path); got != nil || err != nil {
		t.Errorf("without the file: %v, %v", got, err)
	}
}

// TestTruthDamaged changes every byte and cuts at every length: each is reported for truth.json, and the store itself
// stays sound.
func TestTruthDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csr")
	must.Do(t, withTruth(t, path, 2, csr.Truth{Sigma: []float64{2}}, false))
	name := filepath.Join(path, "truth.json")
	whole := must.Get(os.ReadFile(name))(t)
	refused := func(what string, content []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(name, content, 0o666))
		_, report, err := truthOf(t, path)
		var bad *csr.CorruptError
		if !errors.As(err, &bad) || bad.File != "truth.json" {
			t.Errorf("%s: error %v", what, err)
		}
		if len(report.Problems) != 1 || !errors.Is(report.Problems[0], csr.ErrCorrupt) {
			t.Errorf("%s: check finds %v", what, report.Problems)
		}
	}
	for i := range whole {
		flipped := append([]byte{}, whole...)
		flipped[i] ^= 1
		refused("flipped", flipped)
		refused("cut", whole[:i])
	}
	refused("longer", append(whole, '\n'))

	other := filepath.Join(t.TempDir(), "b.csr")
	must.Do(t, withTruth(t, other, 3, csr.Truth{Sigma: []float64{3}}, false))
	foreign := must.Get(os.ReadFile(filepath.Join(other, "truth.json")))(t)
	refused("of another store", foreign)
}

func TestTruthRefused(t *testing.T) {
	for what, truth := range map[string]csr.Truth{
		"ascending":      {Sigma: []float64{1, 2}},
		"negative":       {Sigma: []float64{-1}},
		"not a number":   {Sigma: []float64{math.NaN()}},
		"infinite":       {Sigma: []float64{math.Inf(1)}},
		"negative error": {Error: -1},
		"infinite error": {Error: math.Inf(1)},
	} {
		path := filepath.Join(t.TempDir(), "a.csr")
		if err := withTruth(t, path, 2, truth, false); err == nil || !strings.Contains(err.Error(), "truth.json") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
