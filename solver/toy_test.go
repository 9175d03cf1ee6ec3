package solver_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver/method"
)

// TestToyMethod runs the whole suite, checkpoints included, on a method of a package that can import nothing internal of the
// solver.
func TestToyMethod(t *testing.T) {
	conformAll(t, []method.Method{solvertest.Lazy{}, solvertest.Lazy{Part: 0.1}})
}

// TestFaceIsPublic: nothing that the packages of the solver export mentions a type of an internal package.
func TestFaceIsPublic(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "internal":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		internal := map[string]bool{}
		for _, i := range file.Imports {
			if name := strings.Trim(i.Path.Value, `"`); strings.Contains(name, "/internal/") {
				internal[filepath.Base(name)] = true
			}
		}
		// Bodies, values and what is not exported are left out.
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.CompositeLit, *ast.CallExpr:
				return false
			case *ast.ValueSpec:
				return n.Type != nil
			case *ast.TypeSpec:
				return !n.Assign.IsValid() // an alias is a name that others can use
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] {
					t.Errorf("%v: %s.%s is in what is exported", set.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
