package main

import (
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// TestExportMatrix: a store exported with its ids and ingested again is the same store, for both stored orientations.
// Flags for results are refused for stores, and the other way round.
func TestExportMatrix(t *testing.T) {
	at := t.TempDir()
	file := func(name string) string { return filepath.Join(at, name) }
	for _, store := range []string{ingested(t, tall), ingested(t, wide)} {
		for _, format := range []string{"csv", "tsv", "parquet"} {
			succeeds(t, "export", "-q", store, "-o", file("m."+format), "--force", "--memory", "200M")
			succeeds(t, "ingest", "-q", file("m."+format), "-o", file("again.csr"), "--force")
			if got, want := fingerprintOf(t, file("again.csr")), fingerprintOf(t, store); got != want {
				t.Errorf("%s: another matrix", format)
			}
		}
	}
	store := ingested(t, tall)
	result, _ := factorised(t, store, "-k", "2")
	for _, c := range [][]string{
		{"--what U is of a result", store, "--what", "U", "-o", file("u.csv")},
		{"the matrix and --view are of a STORE", result, "--what", "matrix", "-o", file("u.csv")},
		{"the matrix and --view are of a STORE", result, "--what", "U", "--view", "binary", "-o", file("u.csv")},
	} {
		fails(t, ui.ExitUsage, c[0], append([]string{"export"}, c[1:]...)...)
	}
	fails(t, ui.ExitError, `--view center=columns: it fills the matrix`, "export", store, "--view", "center=columns", "-o", file("c.mtx"))
}

func fingerprintOf(t *testing.T, store string) string {
	t.Helper()
	var i storeInfo
	decode(t, succeeds(t, "info", store, "--json"), &i)
	return i.Fingerprint
}
