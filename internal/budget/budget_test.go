package budget

import (
	"errors"
	"testing"
)

func TestLedger(t *testing.T) {
	var l Ledger
	l.TakeOutside("runtime", 20<<20)
	l.Take("blocks", 3<<19)
	if got := l.Total(); got != 43<<19 {
		t.Errorf("total %d", got)
	}
	if left, err := l.Left(22<<20, 1<<19); err != nil || left != 1<<19 {
		t.Errorf("left %d, %v", left, err)
	}
	_, err := l.Left(22<<20, 1<<20)
	var e *Error
	if !errors.As(err, &e) || e.Need != 45<<19 || Ledger(e.Parts).Total() != e.Need {
		t.Fatalf("%v", err)
	}
	if want := "memory budget of 22.0 MiB is too small: at least 22.5 MiB are needed (MiB: runtime 20.0, blocks 1.5, work 1.0)"; err.Error() != want {
		t.Errorf("got  %v\nwant %v", err, want)
	}
	if _, err := l.Left(e.Need, 1<<20); err != nil {
		t.Errorf("what is needed is refused: %v", err)
	}
	if len(l) != 2 {
		t.Error("a refusal changes the ledger")
	}
	e = &Error{Budget: 1 << 20, Need: 1<<20 + 1, What: "labels"}
	if want := "memory budget of 1.0 MiB is too small: at least 1.1 MiB are needed (labels)"; e.Error() != want {
		t.Errorf("got  %v\nwant %v", e, want)
	}
}
