package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSpreadsheetSafe: with --spreadsheet-safe ids that begin as formulas are preceded by a quote, otherwise unchanged.
func TestSpreadsheetSafe(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	text := "user,item,rating\n=1+1,@x,1\n+2,-y,2\n-3a,plain,5\nplain,=z,4\n+2,=z,3\n"
	must.Do(t, os.WriteFile(at("in.csv"), []byte(text), 0o666))
	succeeds(t, "ingest", "-q", at("in.csv"), "-o", at("m.csr"))
	succeeds(t, "svd", "-q", at("m.csr"), "-k", "2", "-o", at("m.svd"))
	for name, args := range map[string][]string{
		"x.csv": {"export", at("m.svd"), "--what", "U"},
		"x.tsv": {"export", at("m.svd"), "--what", "V"},
		"r.csv": {"recommend", at("m.svd"), "--rows", "all", "-n", "2"},
	} {
		for _, guarded := range []bool{false, true} {
			flags := []string{"-q", "--force", "-o", at(name)}
			if guarded {
				flags = append(flags, "--spreadsheet-safe")
			}
			succeeds(t, append(args, flags...)...)
			f := must.Get(os.Open(at(name)))(t)
			r := csv.NewReader(f)
			if strings.HasSuffix(name, ".tsv") {
				r.Comma = '\t'
			}
			all, err := r.ReadAll()
			f.Close()
			must.Do(t, err)
			formulas, quoted := 0, 0
			for _, line := range all[1:] {
				switch id := line[0]; {
				case strings.ContainsAny(id[:1], "=+-@"):
					formulas++
				case id[0] == '\'':
					quoted++
				}
			}
			if guarded && (formulas > 0 || quoted == 0) || !guarded && (formulas == 0 || quoted > 0) {
				t.Errorf("%s, guarded %v: %d formulas, %d in quotes:\n%v", name, guarded, formulas, quoted, all)
			}
		}
	}
}
