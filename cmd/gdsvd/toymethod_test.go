package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// sleepy is the power method with a setting that has no effect.
type sleepy struct {
	power.Iteration
	Nap float64
}

func (s sleepy) Traits(int) method.Traits {
	t := method.Single("sleepy", 3, 1)
	t.Settings = []method.Setting{{Name: "nap", Help: "length of a nap", Low: 0, High: 1, Default: 0.25, Value: s.Nap}}
	t.With = func(v []float64) method.Method { return sleepy{Nap: v[0]} }
	t.Options = func(method.Workload) []method.Method { return []method.Method{sleepy{Nap: 0.75}} }
	return t
}

// gdsvdWith runs a command line of a program with one additional method.
func gdsvdWith(t *testing.T, m method.Method, args ...string) ran {
	t.Helper()
	return gdsvdAs(t, t.Context(), func(a *app) { a.methods = append(slices.Clip(a.methods), m) }, args...)
}

// TestToyMethod: a method added to the list has flags, is explained and chosen, is recorded in the
// result, and can be resumed.
func TestToyMethod(t *testing.T) {
	store, out := ingested(t, tall), filepath.Join(t.TempDir(), "out")
	run := func(code int, want string, args ...string) {
		t.Helper()
		if o := gdsvdWith(t, sleepy{}, append([]string{"svd"}, args...)...); o.code != code || !strings.Contains(o.stdout+o.stderr, want) {
			t.Errorf("%v: exit %d, want %d, %q in\n%s%s", args, o.code, code, want, o.stdout, o.stderr)
		}
	}
	run(ui.ExitOK, "length of a nap of sleepy (default 0.25)", "--help")
	run(ui.ExitUsage, "the length of a nap lies between 0 and 1", store, "-o", out, "-k", "2", "--method", "sleepy", "--nap", "2")
	run(ui.ExitUsage, "--method power has none", store, "-o", out, "-k", "2", "--method", "power", "--nap", "0.5")
	run(ui.ExitOK, "--method sleepy --nap 0.5", store, "--explain", "-k", "2", "--method", "sleepy", "--nap", "0.5")
	run(ui.ExitOK, "*  sleepy --nap 0.75", store, "--explain", "-k", "2")
	flags := []string{"-q", store, "-o", out, "-k", "2", "--method", "sleepy", "--nap", "0.5", "--tol", "1e-6"}
	run(ui.ExitNotConverged, "", append(flags, "--max-passes", "5")...)
	run(ui.ExitError, "nap 0.5, this run has nap 0.125", append(flags, "--resume", "--nap", "0.125")...)
	run(ui.ExitOK, "", append(flags, "--resume")...)
	if r := resultOf(t, out); r.Settings.Method != "sleepy" || r.Settings.OfMethod["nap"] != 0.5 {
		t.Errorf("settings %+v", r.Settings)
	}
}
