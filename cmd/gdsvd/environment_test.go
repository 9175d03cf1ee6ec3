package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// TestEnvironment: flags override variables, variables override the configuration file, and the run uses their values.
func TestEnvironment(t *testing.T) {
	store := ingested(t, tall)
	config := write(t, t.TempDir(), "gdsvd.json", `{"rank": 4, "tol": 1e-5, "method": "block", "seed": 7}`)
	t.Setenv("GDSVD_CONFIG", config)
	t.Setenv("GDSVD_TOL", "1e-6")
	t.Setenv("GDSVD_RANK", "3")
	t.Setenv("GDSVD_METHOD", "power")
	t.Setenv("GDSVD_SEED", "") // as if it were not set
	t.Setenv("GDSVD_ETA", "0.3")
	t.Setenv("GDSVD_MIN_PER_ROW", "2") // for another command: ignored
	out, r := factorised(t, store, "-k", "2")
	if r.K != 2 || r.Settings.Tol != 1e-6 || r.Method != "power" || r.Seed != 7 {
		t.Errorf("k %d, tol %v, method %s, seed %d", r.K, r.Settings.Tol, r.Method, r.Seed)
	}
	succeeds(t, "check", "-q", out)
	t.Setenv("GDSVD_VIEW", "log1p") // for commands on a store: ignored by export of a result
	succeeds(t, "export", "-q", out, "--what", "U", "-o", filepath.Join(t.TempDir(), "u.npy"))
	t.Setenv("GDSVD_VIEW", "")
	t.Setenv("GDSVD_JSON", "true")
	if decode(t, succeeds(t, "svd", "-q", store, "-o", filepath.Join(t.TempDir(), "out")), &r); r.K != 3 {
		t.Errorf("k %d", r.K)
	}
	var failed failure
	if decode(t, gdsvd(t, "svd", "--nonsense").stdout, &failed); failed.Exit != ui.ExitUsage {
		t.Errorf("%+v", failed)
	}
}

// TestEnvironmentOfIngest: variables also set lists and the other flags of ingest.
func TestEnvironmentOfIngest(t *testing.T) {
	file := write(t, t.TempDir(), "in.csv", "3,1,1\n4,2,1\n5,2,1\n")
	t.Setenv("GDSVD_COLUMNS", "2,1,3")
	t.Setenv("GDSVD_MIN_PER_ROW", "2")
	t.Setenv("GDSVD_HEADER", "no")
	text := succeeds(t, "ingest", "-q", file, "-o", filepath.Join(t.TempDir(), "m.csr"))
	if !strings.Contains(text, "1 × 2, 2 entries") {
		t.Errorf("stored\n%s", text)
	}
}

// TestEnvironmentRefused: the error about a bad value names its variable, whether the flag or the command refuses it.
func TestEnvironmentRefused(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"GDSVD_TOL", "small", `GDSVD_TOL: invalid argument "small" for "--tol" flag: want a number (see gdsvd svd -h)`},
		{"GDSVD_TOL", "5", `--tol 5: want a tolerance between 0 and 1, both excluded (see gdsvd svd -h); --tol is set by GDSVD_TOL`},
		{"GDSVD_FORCE", "yes", `GDSVD_FORCE: invalid argument "yes" for "--force" flag: want true or false (see gdsvd svd -h)`},
		{"GDSVD_METHOD", "x\x1b", `GDSVD_METHOD: invalid argument "x\x1b" for "--method" flag: choose auto, gd, polyak, nesterov, nesterov-general, block, krylov or power (see gdsvd svd -h)`},
		{"GDSVD_MEMORY", "much", `GDSVD_MEMORY: invalid argument "much" for "--memory" flag: size "much" is not understood (write 800MB, 512MiB, 1.5GiB or a number of bytes) (see gdsvd svd -h)`},
		{"GDSVD_CONFIG", "/nonexistent/c", `read configuration: open /nonexistent/c: no such file or directory (see gdsvd svd -h)`},
	} {
		t.Run(c.variable+"="+c.value, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			o := gdsvd(t, "svd", "store", "-k", "2", "-o", "out")
			if o.code != ui.ExitUsage || o.stdout != "" || o.stderr != "gdsvd: "+c.want+"\n" {
				t.Errorf("exit %d\n got %swant gdsvd: %s", o.code, o.stderr, c.want)
			}
		})
	}
	t.Run("rank", func(t *testing.T) {
		t.Setenv("GDSVD_RANK", "0")
		fails(t, ui.ExitUsage, `-k 0: at least 1 triplet is wanted \(see gdsvd svd -h\); --rank is set by GDSVD_RANK\n`, "svd", "store", "-o", "out")
	})
}

// TestEnvironmentMisspelt: a misspelt variable is reported once, others are ignored, and completion prints no warning.
func TestEnvironmentMisspelt(t *testing.T) {
	t.Setenv("GDSVD_MEMROY", "2GiB")
	t.Setenv("GDSVD_SOMETHING_ELSE", "x")
	o := gdsvd(t, "version")
	if want := `level=WARN msg="a variable of the environment sets no flag" variable=GDSVD_MEMROY meant=GDSVD_MEMORY` + "\n"; o.code != ui.ExitOK || strings.Count(o.stderr, "\n") != 1 || !strings.HasSuffix(o.stderr, want) {
		t.Errorf("exit %d\n%s", o.code, o.stderr)
	}
	succeeds(t, "version", "-q")
	t.Setenv("GDSVD_LOG_LEVEL", "nonsense")
	if o := gdsvd(t, "__complete", "svd", "--view", "log1p | c"); o.code != ui.ExitOK || !strings.Contains(o.stdout, "log1p | center\n") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := gdsvd(t, "__complete", "eval", "--views", "recsys,log1p | c"); o.code != ui.ExitOK || !strings.Contains(o.stdout, "recsys,log1p | center\n") {
		t.Errorf("views: %v", o)
	}
	if o := gdsvd(t, "__complete", "svd", "--method", ""); o.code != ui.ExitOK || !strings.HasPrefix(o.stdout, "auto\ngd\n") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

// TestVariables: each flag has its own variable with a name that a shell can set, and help names only existing variables.
func TestVariables(t *testing.T) {
	flags := map[string]string{}
	shell := regexp.MustCompile(`^GDSVD_[A-Z0-9]+(_[A-Z0-9]+)*$`)
	for _, cmd := range allCommands() {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			v := ui.Variable(f.Name)
			if before, ok := flags[v]; ok && before != f.Name || !shell.MatchString(v) {
				t.Errorf("%s of --%s is that of --%s, or no name", v, f.Name, before)
			}
			flags[v] = f.Name
		})
	}
	if len(flags) < 50 {
		t.Errorf("only %d flags", len(flags))
	}
	for _, v := range regexp.MustCompile(`GDSVD_\w\w+`).FindAllString(succeeds(t, "-h"), -1) {
		if flags[v] == "" {
			t.Errorf("help names %s, which is no flag's", v)
		}
		delete(flags, v)
	}
}
