package csr_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// resealed returns a sealed text with its checksum corrected.
func resealed(text []byte) []byte {
	at := len(text) - len("00000000\"\n}\n")
	text = append(append(bytes.Clone(text[:at]), "00000000"...), text[at+8:]...)
	copy(text[at:], crc.Sum(crc.Of(text)).String())
	return text
}

// TestCheckLongRow checks a block of one row with many entries per byte: Check decodes it with at
// most 5 bytes per entry, and not if the available memory is too small.
func TestCheckLongRow(t *testing.T) {
	const n = 1 << 21
	row := make([]csrtest.Entry, n)
	for i := range row {
		row[i] = csrtest.Entry{Col: uint32(i), Val: 1}
	}
	path := filepath.Join(t.TempDir(), "long.csr")
	csrtest.Write(t, path, n, [][]csrtest.Entry{row}, csr.CreateOptions{})
	row = nil
	check := func() error {
		r, err := csr.Check(t.Context(), path, csr.CheckOptions{})
		if err == nil && len(r.Problems) > 0 {
			err = r.Problems[0]
		}
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Do(t, check())
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 5*n {
		t.Errorf("%d bytes for %d columns of 4", took, n)
	}
	csr.SetAvailable(t, 1<<20)
	if err := check(); err == nil || errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), "of memory") {
		t.Error(err)
	}
}

// TestDenseManifest checks that a manifest with very long or very many elements is refused, with an error of at most 1000 bytes.
func TestDenseManifest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	csrtest.Write(t, path, 2, [][]csrtest.Entry{{{Col: 1, Val: 1}}}, csr.CreateOptions{Source: map[string]any{"it": "that"}})
	name := filepath.Join(path, csr.ManifestName)
	good := must.Get(os.ReadFile(name))(t)
	many := strings.Repeat("{},", 1e5) + "{}"
	for _, change := range [][2]string{
		{`"shards": [`, `"shards": [` + many + `,`}, {`"that"`, `[` + many + `]`}, {`"rows": 1`, `"rows": 1` + strings.Repeat("0", 1e5)},
		{`"fingerprint": "`, `"fingerprint": "` + strings.Repeat("0", 1e5)}, {`"rows"`, `"` + strings.Repeat("x", 1e5) + `"`},
		{`"constant"`, `"` + strings.Repeat("x", 1e5) + `"`}, {`"name": "`, `"name": "` + strings.Repeat("x", 1e5)},
	} {
		text := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(text, good) {
			t.Fatalf("no %s in %s", change[0], good)
		}
		must.Do(t, os.WriteFile(name, resealed(text), 0o666))
		if _, err := csr.Open(path, csr.OpenOptions{}); !errors.Is(err, csr.ErrCorrupt) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", change[0], err)
		}
	}
}
