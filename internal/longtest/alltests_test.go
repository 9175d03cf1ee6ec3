//go:build !alltests

package longtest

import "testing"

// TestLongFormsTakeAllTests fails long forms built without -tags alltests, which omit tests that need large libraries.
func TestLongFormsTakeAllTests(t *testing.T) {
	if On() {
		t.Error("GDSVD_TEST_LONG takes -tags alltests with it: without, tests that compare with large libraries are left out")
	}
}
