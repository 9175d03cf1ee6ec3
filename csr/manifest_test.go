package csr_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestManifestValidation edits one field at a time and repairs the crc: each edit must be refused
// from the manifest alone.
func TestManifestValidation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	writeVictim(t, path, 1)
	sound := must.Get(os.ReadFile(filepath.Join(path, "MANIFEST.json")))(t)
	for name, edit := range map[string]func(m *csr.Manifest){
		"negative rows":     func(m *csr.Manifest) { m.Rows = -1 },
		"too many rows":     func(m *csr.Manifest) { m.Rows = math.MaxInt64 },
		"negative cols":     func(m *csr.Manifest) { m.Cols = -1 },
		"too many cols":     func(m *csr.Manifest) { m.Cols = csr.MaxCols + 1 },
		"negative nnz":      func(m *csr.Manifest) { m.NNZ = -1 },
		"nnz > rows·cols":   func(m *csr.Manifest) { m.Cols = 100 },
		"nnz > limit":       func(m *csr.Manifest) { m.Rows, m.Cols, m.NNZ = 1<<62, csr.MaxCols, math.MaxInt64 },
		"negative squares":  func(m *csr.Manifest) { m.SumSquares = -1 },
		"unknown exponent":  func(m *csr.Manifest) { m.SumExponent = 600 },
		"no norm":           func(m *csr.Manifest) { m.SumSquares, m.SumExponent = 0x1p849, 1200 },
		"table":             func(m *csr.Manifest) { m.Values.Table[0] = 100 },
		"table too long":    func(m *csr.Manifest) { m.Values.Coding = csr.Constant },
		"no table":          func(m *csr.Manifest) { m.Values.Table = nil },
		"fingerprint":       func(m *csr.Manifest) { m.Fingerprint = m.Fingerprint[1:] + "g" },
		"fingerprint short": func(m *csr.Manifest) { m.Fingerprint = m.Fingerprint[2:] },
		"shard order":       func(m *csr.Manifest) { m.Shards[0], m.Shards[1] = m.Shards[1], m.Shards[0] },
		"shard first row":   func(m *csr.Manifest) { m.Shards[1].FirstRow++ },
		"shard no rows":     func(m *csr.Manifest) { m.Shards[1].Rows = 0 },
		"shard rows":        func(m *csr.Manifest) { m.Shards[2].Rows = math.MaxInt64 },
		"shard nnz":         func(m *csr.Manifest) { m.Shards[2].NNZ = math.MaxInt64 },
		"shard nnz less":    func(m *csr.Manifest) { m.Shards[2].NNZ-- },
		"shard no blocks":   func(m *csr.Manifest) { m.Shards[0].Blocks = 0 },
		"shard all blocks":  func(m *csr.Manifest) { m.Shards[0].Blocks = math.MaxInt64 },
		"shard too small":   func(m *csr.Manifest) { m.Shards[0].Size = 200 },
		"shard negative":    func(m *csr.Manifest) { m.Shards[0].Size = math.MinInt64 },
		"no shards":         func(m *csr.Manifest) { m.Shards = nil },
		"ids file":          func(m *csr.Manifest) { m.IDs.Rows.File = "/etc/passwd" },
		"ids count":         func(m *csr.Manifest) { m.IDs.Rows.Count++ },
		"ids size":          func(m *csr.Manifest) { m.IDs.Cols.Size = 23 },
	} {
		t.Run(name, func(t *testing.T) {
			_, err := csr.DecodeManifest("x.csr", csr.EditManifest(sound, edit))
			if err == nil || errors.Is(err, csr.ErrNotStore) || errors.Is(err, csr.ErrVersion) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, replace := range map[string][2]string{
		"coding":        {`"dict4"`, `"dict5"`},
		"kind":          {`"kind": "int"`, `"kind": "INT"`},
		"hex":           {`"crc": "`, `"crc": "A`},
		"type":          {`"rows": 330`, `"rows": "330"`},
		"fraction":      {`"rows": 330`, `"rows": 330.5`},
		"beyond 64 bit": {`"rows": 330`, `"rows": 99999999999999999999`},
		"no version":    {`"version": 1,`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			b := []byte(strings.Replace(string(sound), replace[0], replace[1], 1))
			csr.RepairManifest(b)
			if _, err := csr.DecodeManifest("x.csr", b); err == nil || strings.Contains(err.Error(), "checksum mismatch") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestManifestOfStore checks that the manifest records the options of Create.
func TestManifestOfStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	m := &matrix{cols: 9, rows: []row{{[]uint32{1, 4}, []float64{2, 3}}, {}}}
	source := map[string]any{"files": []any{"a.csv"}, "sum": true, "text": "<é>"}
	write(t, path, m, csr.CreateOptions{Transposed: true, Source: source})
	s := open(t, path)
	got := s.Manifest()
	if s.Path() != path || s.Size() != dirSize(t, path) {
		t.Errorf("path %s, size %d", s.Path(), s.Size())
	}
	got.Shards, got.Fingerprint, got.CRC, got.MaxBlock.Size = nil, "", 0, 0
	want := csr.Manifest{
		Format: "gdsvd-store", Version: 1, Rows: 2, Cols: 9, NNZ: 2, Transposed: true,
		Values: csr.Values{Coding: csr.Dict4, Table: []float64{2, 3}}, SumSquares: 13,
		MaxBlock: csr.MaxBlock{Rows: 2, NNZ: 2}, Source: source,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}
