package ingest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestLayers checks the imports: formats import neither ingest nor each other, the sort imports no format, and
// ingest imports formats through format/all only.
func TestLayers(t *testing.T) {
	const module = "github.com/gdsvd/gdsvd/"
	formats := must.Get(filepath.Glob(filepath.Join("format", "*", "")))(t)
	only := map[string][]string{ // packages of the module that a folder may import
		".":                   {"csr", "internal/", "ingest/format", "ingest/format/all", "ingest/internal/"},
		"format":              {"internal/escape"},
		"format/all":          {"ingest/format"},
		"internal/roles":      {"ingest/format", "ingest/internal/text"},
		"internal/text":       {"ingest/format"},
		"internal/dense":      {"ingest/format", "internal/npy"},
		"internal/titles":     {"csr", "ingest/format", "ingest/internal/roles", "ingest/internal/text"},
		"internal/heldout":    {"internal/", "ingest/format"},
		"internal/tenx":       {"ingest/internal/input"},
		"internal/stored":     {"csr", "internal/", "ingest/format", "ingest/internal/extsort"},
		"internal/combine":    {"ingest/internal/extsort"},
		"internal/sieve":      {"ingest/format", "ingest/internal/extsort"},
		"internal/straight":   {"csr", "ingest/format", "internal/"},
		"internal/input":      {"ingest/format", "internal/"},
		"internal/formattest": {"ingest/format", "ingest/internal/text"},
		"internal/scratch":    {"internal/"},
		"internal/extsort":    {"internal/", "ingest/internal/scratch"},
		"internal/ids":        {"internal/", "ingest/format", "ingest/internal/scratch", "ingest/internal/extsort"},
	}
	for _, f := range formats {
		if f = filepath.Base(f); f == "all" || strings.Contains(f, ".") {
			continue
		}
		only["format/"+f] = []string{"ingest/format", "ingest/internal/roles", "ingest/internal/text", "ingest/internal/dense", "internal/npy", "ingest/format/" + f + "/internal/"}
		only["format/all"] = append(only["format/all"], "ingest/format/"+f)
	}
	for dir, allowed := range only {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", dir, files, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))(t)
			for _, spec := range file.Imports {
				path := must.Get(strconv.Unquote(spec.Path.Value))(t)
				own, ours := strings.CutPrefix(path, module)
				may := !ours
				for _, a := range allowed {
					may = may || own == a || strings.HasSuffix(a, "/") && strings.HasPrefix(own, a) || a == "internal/" && own == "csr/vfs"
				}
				if !may {
					t.Errorf("%s imports %s", name, own)
				}
			}
		}
	}
}
