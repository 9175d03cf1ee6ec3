package delimited

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

// FuzzQuoted: a line that encoding/csv reads as one record is split into the same fields.
func FuzzQuoted(fuzz *testing.F) {
	for _, s := range []string{`a,b,c`, `"a","b,b","c""c"`, `"",x,""`, `"a"b,c`, `"a`, `a"b,c`, `"a" ,b`, `,"",`, `"a,b`, `"""`} {
		fuzz.Add(s)
	}
	fuzz.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\r\n") {
			t.Skip("not a line")
		}
		var f fields
		base, _, err := newSeparator(",").split([]byte(line), &f)
		want, wantErr := csv.NewReader(strings.NewReader(line)).Read()
		if wantErr != nil {
			return // encoding/csv refuses quotes inside a field, which split accepts
		}
		if err != nil {
			t.Fatalf("%q: %v, want %q", line, err, want)
		}
		var got []string
		for _, s := range f.spans {
			got = append(got, strings.Trim(string(base[s.A:s.B]), " \t"))
		}
		for i := range want {
			want[i] = strings.Trim(want[i], " \t")
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", line, got, want)
		}
	})
}

// TestSeparatorFlag: the flag that describes a separator is printable, and names the separator when \t is read as a tab.
func TestSeparatorFlag(t *testing.T) {
	for _, sep := range []string{",", "\t", "\t\t", "\t|\t", ", ", "::"} {
		flag := newSeparator(sep).flag()
		if got := strings.ReplaceAll(flag, `\t`, "\t"); got != sep || strings.Contains(flag, "\t") {
			t.Errorf("separator %q: flag %q", sep, flag)
		}
	}
}
