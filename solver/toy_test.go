package solver_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/method"
)

// lazy is the power method with a part of the old vector, x⁺ ∝ Mx + part·‖Mx‖x: a method built on the exported names of
// solver/method.
type lazy struct{ part float64 }

// Traits implements method.Method.
func (l lazy) Traits(int) method.Traits {
	t := method.Single("lazy", 3, 250)
	t.Settings = []method.Setting{{Name: "part", Help: "part of the old vector", High: 1, Value: l.part}}
	t.With = func(v []float64) method.Method { return lazy{v[0]} }
	return t
}

// New implements method.Method.
func (l lazy) New(method.Run) method.Recurrence { return &lazyRun{part: l.part} }

type lazyRun struct {
	method.Alone
	part    float64
	x, last *mat.Dense
}

func (r *lazyRun) Start(z *mat.Dense) { r.x, r.last = z, mat.DenseCopyOf(z) }

func (r *lazyRun) State(s *method.State) {
	s.Tall("x", &r.x, 1)
	s.Tall("last", &r.last, 1)
}

func (r *lazyRun) Next() *mat.Dense { return r.x }

func (r *lazyRun) Absorb(y *mat.Dense) []method.RitzPair {
	x, mx, next := r.x.RawMatrix().Data, y.RawMatrix().Data, r.last.RawMatrix().Data
	value := floats.Dot(x, mx)
	floats.AddScaledTo(next, mx, -value, x)
	pair := method.NewRitzPair(value, floats.Norm(next, 2))
	floats.AddScaledTo(next, mx, r.part*floats.Norm(mx, 2), x)
	if norm := floats.Norm(next, 2); norm > 0 {
		floats.Scale(1/norm, next)
	}
	r.x, r.last = r.last, r.x
	return []method.RitzPair{pair}
}

func (r *lazyRun) Vector(dst []float64, _ int) { copy(dst, r.last.RawMatrix().Data) }

// TestToyMethod runs the whole suite, checkpoints included, on a method that uses no internal
// package of the solver.
func TestToyMethod(t *testing.T) {
	conformAll(t, longtest.Pick([]method.Method{lazy{}, lazy{part: 0.1}}, []method.Method{lazy{part: 0.1}}))
}

// TestFaceIsPublic checks that no exported declaration of the solver packages mentions a type of an internal package.
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
		// Function bodies, values and unexported declarations are left out.
		ast.FileExports(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt, *ast.CompositeLit, *ast.CallExpr:
				return false
			case *ast.ValueSpec:
				return n.Type != nil
			case *ast.TypeSpec:
				return !n.Assign.IsValid() // an alias of an internal type is a name that users can write
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] {
					t.Errorf("%v: %s.%s is in what is exported", set.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	must.Do(t, err)
}
