// Package must ends a test at an error that it does not expect.
package must

// TB is what is needed of a test, a benchmark, a fuzz test or a check of rapid.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Do ends a test at an error.
func Do(t TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get takes what a function returns; the result ends a test at an error, and is the value without one:
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
