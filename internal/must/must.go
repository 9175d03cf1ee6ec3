// Package must ends a test at an unexpected error.
package must

// TB is the common part of testing.T, testing.B, testing.F and rapid.T that the package uses.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test with t.Fatal if err is not nil.
func Do(t TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get takes the results of a function call and returns a function that returns v, or ends the test if err is not nil:
//
//	f := must.Get(os.Open(name))(t)
func Get[T any](v T, err error) func(t TB) T {
	return func(t TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}
