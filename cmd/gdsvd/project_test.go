package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestUseOfResults: a result is exported, new rows are projected, and another result is aligned; no other files are left.
func TestUseOfResults(t *testing.T) {
	work := t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
	store := ingested(t, tall)
	succeeds(t, "svd", "-q", store, "-k", "3", "--view", "pca", "-o", at("out"))
	if out := succeeds(t, "export", at("out"), "--what", "V", "-o", at("v.csv")); !strings.Contains(out, "V of "+at("out")+", 40 × 3 with ids, is in "+at("v.csv")) {
		t.Error(out)
	}
	b, err := os.ReadFile(at("v.csv"))
	if lines := strings.Split(string(b), "\n"); err != nil || len(lines) != 42 || lines[0] != "id,c1,c2,c3" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	fails(t, ui.ExitError, `v.csv: file already exists \(--force replaces it\)`, "export", at("out"), "--what", "V", "-o", at("v.csv"))
	fails(t, ui.ExitUsage, "--what recs: .*gdsvd recommend "+at("out")+" --store STORE -o FILE", "export", at("out"), "--what", "recs", "-o", at("w.csv"))
	fails(t, ui.ExitUsage, "--what V is of a result, and "+store+" is a store", "export", store, "--what", "V", "-o", at("w.csv"))

	ids := strings.Fields(succeeds(t, "info", store, "--ids", "cols"))
	lines := "user,item,rating\nnew one," + ids[0] + ",5\nnew one,unknown,4\nother," + ids[1] + ",3\n"
	must.Do(t, os.WriteFile(at("new.csv"), []byte(lines), 0o666))
	out := succeeds(t, "project", at("out"), at("new.csv"), "-o", at("x"))
	if b, err := os.ReadFile(filepath.Join(at("x"), "projection.json")); !bytes.Contains(b, []byte(`"path": "`+at("new.csv")+`"`)) {
		t.Errorf("%s, %v: the input is not named", b, err)
	}
	for _, want := range []string{"2 rows in 3 components are in " + at("x"), "1 of 3 columns are not in the matrix, and their 1 entries are left out: unknown"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q, want %s", out, want)
		}
	}
	var p foldin.Projection
	if err := json.Unmarshal([]byte(succeeds(t, "project", "--json", at("out"), store, "-o", at("y"))), &p); err != nil || p.Rows != 90 || p.Unknown != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	fails(t, ui.ExitError, `file already exists \(--force replaces it\)`, "project", at("out"), store, "-o", at("y"))
	if ids, err := os.ReadFile(filepath.Join(at("x"), "rows.ids")); err != nil || string(ids) != "new one\nother\n" {
		t.Errorf("%q, %v", ids, err)
	}
	succeeds(t, "svd", "-q", store, "-k", "3", "--view", "recsys", "-o", at("new"))
	if out := succeeds(t, "align", at("new"), "--to", at("out"), "-o", at("z")); !strings.Contains(out, "40 ids are in both results, 0 are new, 0 are gone") || !strings.Contains(out, "V of "+at("new")+", rotated, is in "+at("z")) {
		t.Error(out)
	}
	for dir, description := range map[string]string{"x": "projection.json", "y": "projection.json", "z": "alignment.json"} {
		if out := succeeds(t, "check", at(dir)); !strings.Contains(out, at(dir)+" is sound: its files match "+description+",") {
			t.Error(out)
		}
		fails(t, ui.ExitError, "which is not measured on a store", "check", at(dir), "--store", store)
		files := must.Get(os.ReadDir(at(dir)))(t)
		for _, f := range files { // one byte changed, and the last byte cut off
			name := filepath.Join(at(dir), f.Name())
			whole := must.Get(os.ReadFile(name))(t)
			for _, damaged := range [][]byte{append(bytes.Clone(whole[:len(whole)-2]), whole[len(whole)-2]^1, whole[len(whole)-1]), whole[:len(whole)-1]} {
				must.Do(t, os.WriteFile(name, damaged, 0o666))
				fails(t, ui.ExitCorrupt, "problem", "check", at(dir))
			}
			must.Do(t, os.WriteFile(name, whole, 0o666))
		}
	}
	succeeds(t, "export", at("x"), "--what", "X", "-o", at("x.csv"))
	succeeds(t, "export", at("z"), "--what", "X", "-o", at("z.npz"))
	if b, err := os.ReadFile(at("x.csv")); err != nil || !strings.HasPrefix(string(b), "id,c1,c2,c3\nnew one,") || strings.Count(string(b), "\n") != 3 {
		t.Errorf("%q, %v", b, err)
	}
	fails(t, ui.ExitError, `alignment.json: no such file.*X is of what gdsvd project and gdsvd align write`, "export", at("out"), "--what", "X", "-o", at("w.csv"))
	left, err := os.ReadDir(work)
	if err != nil || len(left) != 9 {
		t.Errorf("%v, %v", left, err)
	}
}
