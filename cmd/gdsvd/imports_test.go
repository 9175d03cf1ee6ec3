package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

const module = "github.com/gdsvd/gdsvd/"

// fileSystem is a package of its own, although its path is below that of the store.
const fileSystem = module + "csr/vfs"

// leaves are packages that all others may import. They import only the standard library, golang.org/x, the types of
// gonum's blas and each other.
var leaves = []string{module + "internal/parallel", module + "internal/crc", module + "internal/mix", module + "internal/escape", module + "internal/cpu", module + "internal/fault", module + "internal/panel", module + "internal/jacobi", module + "internal/percent"}

// TestImportRules: no package imports one of a higher layer. Test files are exempt, as they may use others as oracles.
func TestImportRules(t *testing.T) {
	root := filepath.Join("..", "..")
	must.Get(os.Stat(filepath.Join(root, "go.mod")))(t)
	// For each top-level folder, prefixes of paths that its packages must not import.
	forbidden := map[string][]string{
		"csr":    {module + "stream", module + "solver", module + "ingest", module + "factor", module + "bench", module + "cmd"},
		"solver": {module + "csr", fileSystem, module + "stream", module + "ingest", module + "factor", module + "bench", module + "cmd", "os", "io/fs", "github.com/"},
		"stream": {module + "ingest", module + "factor", module + "bench", module + "cmd"},
		"ingest": {module + "solver", module + "stream", module + "factor", module + "bench", module + "cmd"},
		"factor": {module + "ingest", module + "bench", module + "cmd", "os", "os/signal", "runtime/debug"},
		"bench":  {module + "cmd"},
		"cmd":    {module + "bench", "gonum.org/v1/plot"},

		"csr/vfs":  {module + "csr", module + "stream", module + "solver", module + "ingest", module + "factor", module + "bench", module + "cmd"},
		"internal": {module + "csr", module + "stream", module + "solver", module + "ingest", module + "factor", module + "bench", module + "cmd"},
	}
	interfaceOnly := []string{"github.com/spf13/", "github.com/schollz/", "golang.org/x/term"}
	seen := map[string]int{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		if d.IsDir() && d.Name() == "_gen" {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		room, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		if module+filepath.ToSlash(filepath.Dir(rel)) == fileSystem {
			room = "csr/vfs"
		}
		seen[room]++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rules := forbidden[room]
		ofTests := strings.HasSuffix(filepath.Dir(path), "test") // test helpers of several folders
		if ofTests {
			rules = forbidden["bench"]
		}
		if room != "cmd" {
			rules = append(append([]string{}, rules...), interfaceOnly...)
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if breaks(name, rules, room) || isLeaf(module+filepath.ToSlash(filepath.Dir(rel))) && strings.Contains(name, ".") && !isLeaf(name) && !strings.HasPrefix(name, "golang.org/x/") && name != "gonum.org/v1/gonum/blas/blas64" {
				t.Errorf("%s imports %s", rel, name)
			}
			if strings.HasPrefix(name, module) && strings.HasSuffix(name, "test") && !ofTests {
				t.Errorf("%s imports %s, which is for tests", rel, name)
			}
		}
		return nil
	})
	must.Do(t, err)
	for room := range forbidden {
		if seen[room] == 0 {
			t.Errorf("no file of %s was looked at", room)
		}
	}
}

func isLeaf(name string) bool { return slices.Contains(leaves, name) }

// breaks reports whether an import has a forbidden prefix. A folder may import itself and the leaves.
func breaks(name string, rules []string, room string) bool {
	if isLeaf(name) || name == module+room || strings.HasPrefix(name, module+room+"/") {
		return false
	}
	for _, rule := range rules {
		if name == fileSystem && rule != fileSystem {
			continue // package vfs has its own rule
		}
		if name == rule || strings.HasPrefix(name, strings.TrimSuffix(rule, "/")+"/") {
			return true
		}
	}
	return false
}

func TestImportRulesCanFail(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []string
		room  string
		want  bool
	}{
		{module + "csr", []string{module + "csr"}, "solver", true},
		{module + "csr/x", []string{module + "csr"}, "solver", true},
		{fileSystem, []string{module + "csr"}, "internal", false},
		{fileSystem, []string{module + "csr", fileSystem}, "solver", true},
		{module + "csr", []string{module + "csr"}, "csr/vfs", true},
		{leaves[0], []string{module + "solver"}, "stream", false},
		{module + "solver/x", []string{module + "solver"}, "stream", true},
		{module + "csrx", []string{module + "csr"}, "solver", false},
		{module + "solver/x", []string{"github.com/"}, "solver", false},
		{"gonum.org/v1/gonum/mat", []string{"github.com/"}, "solver", false},
		{"github.com/x/y", []string{"github.com/"}, "solver", true},
		{"os", []string{"os"}, "solver", true},
	} {
		if got := breaks(c.name, c.rules, c.room); got != c.want {
			t.Errorf("%s in %s against %v: %v", c.name, c.room, c.rules, got)
		}
	}
}
