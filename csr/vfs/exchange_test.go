package vfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestExchangeByRenames tests, on every system, the exchange for systems without an atomic call.
func TestExchangeByRenames(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		must.Do(t, os.MkdirAll(filepath.Join(d, "from-"+filepath.Base(d)), 0o777))
	}
	has := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	must.Do(t, exchangeByRenames(a, b))
	if !has(filepath.Join(a, "from-b")) || !has(filepath.Join(b, "from-a")) || has(a+oldSuffix) {
		t.Error("not exchanged")
	}
	if exchangeByRenames(filepath.Join(dir, "c"), b) == nil {
		t.Error("exchanged with nothing")
	}
	if !has(filepath.Join(b, "from-a")) {
		t.Error("b is lost")
	}
}
