package cpu

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestLevels(t *testing.T) {
	all := Levels()
	if all[0] != Portable || all[len(all)-1] != Best() || !slices.IsSorted(all) {
		t.Errorf("levels %v, the best %v", all, Best())
	}
	if got := (AVX512Fold + 1).String(); got != "Level(4)" {
		t.Errorf("an unknown level is %q", got)
	}
}

// TestSwitchedOff checks that a process with instructions disabled by GODEBUG does not use them.
func TestSwitchedOff(t *testing.T) {
	if want := os.Getenv("GDSVD_LEVEL"); want != "" {
		if Best().String() != want {
			t.Errorf("the best is %v, want %s", Best(), want)
		}
		return
	}
	for off, want := range map[string]Level{"avx2": Portable, "avx512f": min(Best(), AVX2)} {
		test := exec.Command(os.Args[0], "-test.run=^TestSwitchedOff$")
		test.Env = append(os.Environ(), "GODEBUG=cpu."+off+"=off", "GDSVD_LEVEL="+want.String())
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("without %s: %v\n%s", off, err, out)
		}
	}
}
