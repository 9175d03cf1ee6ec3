// Package longtest tells tests whether to take their long forms.
package longtest

import (
	"flag"
	"os"
	"testing"
)

// On tells whether GDSVD_TEST_LONG is set: sweeps take every step, and sizes are those that CI proves. Without it a test
// takes the same ways with less data.
func On() bool { return os.Getenv("GDSVD_TEST_LONG") != "" }

// Pick is what the long forms take, or the short ones.
func Pick[T any](long, short T) T {
	if On() {
		return long
	}
	return short
}

// Rapid has package rapid make fewer trials in the short forms, unless its flag says how many.
func Rapid() {
	if !On() {
		_ = flag.Set("rapid.checks", "20")
	}
}

// Only skips a test whose short form proves nothing that others do not: sweeps of faults, kills and budgets.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("a long form alone: GDSVD_TEST_LONG=1")
	}
}
