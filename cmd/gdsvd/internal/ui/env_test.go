package ui

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestMisspelt(t *testing.T) {
	flags := map[string]*pflag.Flag{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.String("memory", "", "")
	f.String("min-per-row", "", "")
	f.String("store", "", "")
	f.String("by", "", "")
	f.StringP("rank", "k", "", "")
	f.VisitAll(func(f *pflag.Flag) { flags[f.Name] = f })
	for line, want := range map[string]string{
		"GDSVD_MEMROY=1":         "GDSVD_MEMORY",
		"GDSVD_MEMORYY=1":        "GDSVD_MEMORY",
		"GDSVD_MIN_PER_ROWS=1":   "GDSVD_MIN_PER_ROW",
		"GDSVD_MINPERROW=1":      "GDSVD_MIN_PER_ROW",
		"GDSVD_K=1":              "GDSVD_RANK",
		"GDSVD_memory=1":         "",
		"GDSVD_MEMORY=1":         "",
		"GDSVD_RANK=":            "",
		"GDSVD_STORES=a:b":       "",
		"GDSVD_DATA=x":           "",
		"GDSVD_BINARY=x":         "",
		"GDSVD_LEVEL=avx2":       "",
		"GDSVD_TEST_RUN_MAIN=1":  "",
		"GDSVD_SERVICE_HOST=::1": "",
		"GDSVD_PORT=tcp://1:2":   "",
		"GDSVD_":                 "",
		"GDSVD_X=1":              "",
		"MEMROY=1":               "",
	} {
		said, meant := Misspelt([]string{line}, flags)
		if want == "" && len(said) > 0 || want != "" && (len(meant) != 1 || Variable(meant[0]) != want || !strings.HasPrefix(line, said[0]+"=")) {
			t.Errorf("%s: %v, %v, want %q", line, said, meant, want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"abc", "acb", 2}, {"same", "same", 0}} {
		if a, b := edits(c.a, c.b), edits(c.b, c.a); a != c.want || b != c.want {
			t.Errorf("edits of %q and %q: %d and %d, want %d", c.a, c.b, a, b, c.want)
		}
	}
}
