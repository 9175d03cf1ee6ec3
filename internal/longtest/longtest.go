// Package longtest selects between the long and the short forms of tests.
package longtest

import (
	"flag"
	"os"
	"testing"
)

// On reports whether GDSVD_TEST_LONG is set: sweeps take every step, and sizes are those that CI tests. Otherwise a test
// runs the same code with less data.
func On() bool { return os.Getenv("GDSVD_TEST_LONG") != "" }

// Pick returns long if On returns true, and short otherwise.
func Pick[T any](long, short T) T {
	if On() {
		return long
	}
	return short
}

// Rapid sets the number of trials of package rapid to 20 in the short forms, unless the flag rapid.checks is given.
func Rapid() {
	if !On() {
		_ = flag.Set("rapid.checks", "20")
	}
}

// Only skips a test in the short forms, where it proves nothing beyond other tests: sweeps of faults, kills and budgets.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long form alone: GDSVD_TEST_LONG=1")
	}
}
