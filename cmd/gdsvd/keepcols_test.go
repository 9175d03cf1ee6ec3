package main

import (
	"strings"
	"testing"
)

// TestKeepCols: --keep-cols adds a step to the view, and check verifies the result.
func TestKeepCols(t *testing.T) {
	store := shelf(t)
	list := write(t, t.TempDir(), "films|1, new.txt", "20\n10\n30\n")
	dir, r := factorised(t, store, "-k", "1", "--view", "log1p | pca", "--keep-cols", list)
	if v := r.View; v == nil || !strings.HasPrefix(v.Pipeline, "log1p · keep=columns,sha256:") || !strings.HasSuffix(v.Pipeline, " · center=columns") {
		t.Errorf("%+v", r.View)
	}
	succeeds(t, "check", "-q", dir, "--store", store)
	dir, r = factorised(t, store, "-k", "1", "--keep-cols", "hvg:1")
	if v := r.View; v == nil || v.Pipeline != "keep=columns,hvg:1,flavor:seurat" {
		t.Errorf("%+v", r.View)
	}
	succeeds(t, "check", "-q", dir, "--store", store)
}
