package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Misuse by somebody who is new: each is one line that says what is wrong with which
// file or flag, with the right exit code, and leaves what is there alone.
func TestMisuse(t *testing.T) {
	store := ingested(t, tall)
	done, _ := factorised(t, store, "-k", "2")
	file := ratings(t, tall)
	work := t.TempDir()
	empty, out, bad := filepath.Join(work, "empty"), filepath.Join(work, "out"), filepath.Join(work, "bad.json")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad, []byte(`{"k":2`), 0o666); err != nil {
		t.Fatal(err)
	}
	before := names(t, work)
	svd := func(args ...string) []string { return append([]string{"svd", "-q", store, "-k", "2"}, args...) }
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitUsage, []string{""}, "an empty word stands where a command is wanted"},
		{exitUsage, []string{"help", "nix"}, `unknown command "nix"`},
		{exitUsage, []string{"help", "generate", "nix"}, `unknown command "nix"`},
		{exitUsage, []string{"completion", "nix"}, `unknown command "nix"`},
		{exitUsage, []string{"svd", "", "-k", "2", "-o", out}, "the name of the STORE is empty"},
		{exitUsage, []string{"info", ""}, "the name of the STORE or OUT is empty"},
		{exitUsage, svd("-o", ""), "no OUT to write"},
		{exitUsage, []string{"--config", "", "info", store}, "--config: the name of the FILE is empty"},
		{exitUsage, []string{"--config", bad, "info", store}, bad + ": want one JSON object: unexpected EOF"},
		{exitUsage, []string{"--config", store, "info", store}, "it is a directory, a regular file is wanted"},
		{exitUsage, []string{"svd", store, "-k", "1000000000", "-o", out}, "a 90 × 40 matrix has only 40 singular values"},
		{exitUsage, []string{"svd", store, "-k", "1e9", "-o", out}, "want a whole number"},
		{exitUsage, []string{"svd", store, "-k", "-1", "-o", out}, "-k -1: at least 1 triplet is wanted"},
		{exitUsage, svd("-o", out, "--tol", "nan"), "--tol NaN: want a tolerance between 0 and 1"},
		{exitUsage, svd("-o", out, "--memory", "0"), `size "0" is out of range`},
		{exitUsage, svd("-o", out, "--memory", "-5"), `size "-5" is out of range`},
		{exitError, svd("-o", out, "--memory", "1"), "memory budget of .* is too small: at least"},
		{exitError, []string{"svd", done, "-k", "2", "-o", out}, "it is a result, made by \"gdsvd svd\"; name the store"},
		{exitError, []string{"generate", "kron", "--base", done, "--rows", "2", "--cols", "2", "--nnz", "3", "-o", out}, "it is a result"},
		{exitUsage, []string{"info", done, "--ids", "rows"}, "--ids wants the STORE, .* is a result"},
		{exitError, svd("-o", out, "--init", store), "--init .*: open .*result.json: no such file"},
		{exitError, svd("-o", store), "not to be replaced: it is not a result of gdsvd"},
		{exitError, svd("-o", store, "--force"), "it is not a result of gdsvd and is left alone"},
		{exitError, svd("-o", done), `file already exists \(--force replaces it\)`},
		{exitError, svd("-o", file, "--force"), "it is not a directory; it is left alone"},
		{exitError, svd("-o", filepath.Join(work, "none", "out")), "make the directory .*none first"},
		{exitError, svd("-o", filepath.Join(file, "out")), "not a directory"},
		{exitError, []string{"ingest", file, "-o", done, "--force"}, "in it is not of a store; it is left alone"},
		{exitError, []string{"ingest", store, "-o", out}, "is a directory; name the files in it"},
		{exitError, []string{"ingest", empty, "-o", out}, "is a directory; name the files in it"},
		{exitError, []string{"info", file}, "is neither a store nor a result"},
		{exitError, []string{"check", empty}, "no MANIFEST.json in it"},
		{exitError, svd("-o", out, "--init", empty), "no such file"},
		{exitError, []string{"svd", "\xff\xfe.csr", "-k", "2", "-o", out}, "no such file"},
		{exitError, []string{"demo", "--keep", filepath.Join(work, "none", "demo")}, "no such file"},
	} {
		if o := fails(t, c.code, c.want, c.args...); o.stdout != "" {
			t.Errorf("gdsvd %s prints %s", strings.Join(c.args, " "), o.stdout)
		}
	}
	if after := names(t, work); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("there is %v, there was %v", after, before)
	}
	must(t, "check", store)
	must(t, "info", done)
}
