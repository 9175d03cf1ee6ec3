package format

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestParseIDTakesCanonicalIntegersOnly(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		n, err := strconv.ParseInt(s, 10, 64)
		want := err == nil && strconv.FormatInt(n, 10) == s
		got, ok := ParseID([]byte(s))
		if ok != want || ok && got != n {
			t.Fatalf("ParseID(%q) = %d, %v, want %d, %v", s, got, ok, n, want)
		}
	}
	for _, s := range []string{
		"", "0", "-0", "00", "7", "07", "+7", "-7", "-", "1a", "1 ", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "9999999999999999999", "99999999999999999999",
	} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strconv.FormatInt(rapid.Int64().Draw(t, "n"), 10))
		check(t, rapid.StringMatching(`-?[0-9]{1,20}`).Draw(t, "s"))
	})
}
