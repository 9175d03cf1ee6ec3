package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestIngestSifts: the flags of filters and hold-outs reach Ingest, and the output says what was left and held out.
func TestIngestSifts(t *testing.T) {
	dir := t.TempDir()
	log, store := filepath.Join(dir, "log.csv"), filepath.Join(dir, "m.csr")
	const text = "user,item,plays,date\n1,1,3,2019-01-01\n1,1,2,2019-06-01\n1,2,1,2019-07-01\n1,3,4,2019-08-01\n2,1,4,2019-07-01\n2,2,9,2019-09-01\n3,1,5,2019-09-01\n1,2,7,2020-01-01\n"
	must.Do(t, os.WriteFile(log, []byte(text), 0o666))
	args := []string{"ingest", log, "-o", store, "--duplicates", "sum", "--min-per-row", "2", "--min-per-col", "2", "--min-value", "1", "--since", "2019-01-01", "--until", "2020-01-01"}
	told := succeeds(t, append(args, "--holdout", "last:1")...)
	for _, want := range []string{
		"shape       2 × 2, 2 entries", "left out    1 entries outside of --since and --until", "1 rows and 1 columns with too few, and 2 entries of these",
		"held out    2 entries (50.00 %) in " + store + ".test", "empty       0 rows and 1 columns have all their entries held out",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	var r ingestResult
	decode(t, succeeds(t, append(args, "--holdout", "after:2019-07-15", "--force", "--json")...), &r)
	if r.Filtered.Rows != 1 || r.Filtered.Outside != 1 || r.Heldout == nil || r.Heldout.NNZ != 1 || r.NNZ != 3 || r.Heldout.From.Format("2006-01-02") != "2019-07-15" {
		t.Errorf("%+v, held out %+v", r.Filtered, r.Heldout)
	}
	for flag, want := range map[string]string{
		"--holdout=half": "random:0.2", "--holdout=random:2": "random:0.2", "--since=1/2/2019": "want a date as", "--min-value=x": "want a number", "--holdout-seed=-1": "whole number",
		"--columns=user": "user,item,value,time", "--min-per-row=-1": "0 or more", "--min-value=nan": "want a number",
	} {
		fails(t, ui.ExitUsage, want, "ingest", log, "-o", store, flag)
	}
}
