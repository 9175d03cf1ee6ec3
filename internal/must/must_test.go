package must

import (
	"io/fs"
	"testing"
)

// told is a TB that continues after Fatal and keeps its arguments.
type told struct{ said []any }

func (*told) Helper()             {}
func (t *told) Fatal(args ...any) { t.said = append(t.said, args...) }

func TestErrorsEndATest(t *testing.T) {
	var x told
	Do(&x, nil)
	if v := Get(3, nil)(&x); v != 3 || len(x.said) > 0 {
		t.Errorf("%v, %v", v, x.said)
	}
	Do(&x, fs.ErrExist)
	Get("", fs.ErrClosed)(&x)
	if len(x.said) != 2 || x.said[0] != fs.ErrExist || x.said[1] != fs.ErrClosed {
		t.Errorf("%v", x.said)
	}
}
