//go:build !alltests

package report

import (
	"os"
	"testing"
)

// TestBrowser says that pages are tested in builds with -tags alltests: the protocol of Chromium takes long to compile.
func TestBrowser(t *testing.T) {
	const say = "pages are tested in a browser with GDSVD_TEST_LONG=1 and -tags alltests"
	if os.Getenv("GDSVD_BROWSER") == "required" {
		t.Fatal(say)
	}
	t.Skip(say)
}
