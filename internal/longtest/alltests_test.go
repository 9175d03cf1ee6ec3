//go:build !alltests

package longtest

import "testing"

// The long forms are all of them only with the libraries that some tests take.
func TestLongFormsTakeAllTests(t *testing.T) {
	if On() {
		t.Error("GDSVD_TEST_LONG takes -tags alltests with it: without, tests that compare with large libraries are left out")
	}
}
