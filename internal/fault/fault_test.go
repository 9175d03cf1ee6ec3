package fault_test

import (
	"errors"
	"os"
	"testing"

	"github.com/gdsvd/gdsvd/internal/fault"
)

// TestGuardLetsOtherPanicsPass checks that Guard turns only memory faults into errors.
func TestGuardLetsOtherPanicsPass(t *testing.T) {
	for name, do := range map[string]func() error{
		"value": func() error { panic("x") },
		"index": func() error { var s []int; i := len(s); _ = s[i]; return nil },
		"divide": func() error {
			zero := len(os.Getenv("a variable that nobody sets"))
			_ = 1 / zero
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			err := fault.Guard(do)
			t.Errorf("guard returns %v", err)
		})
	}
	want := errors.New("x")
	if err := fault.Guard(func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
}
