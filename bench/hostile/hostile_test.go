package hostile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// environment builds the program and returns the Env of a test.
func environment(t *testing.T) *Env {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the attacks take signals and a shell")
	}
	program := harness.Open(t, asked.program)
	program.Path = must.Get(filepath.Abs(program.Path))(t)
	dir := must.Get(os.MkdirTemp(asked.dir, "gdsvd-hostile-"))(t)
	e := &Env{Program: program, Dir: dir, Limit: asked.limit, Late: asked.late, Keep: asked.trial >= 0}
	t.Cleanup(func() {
		err := e.Close()
		if !e.Keep {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestHostile runs a few trials of every attack, or as many as the flags say: no outcome is wrong, hung or crashed.
func TestHostile(t *testing.T) {
	o := &asked
	if !o.long && o.only == "" && o.trials == 0 {
		longtest.Only(t)
	}
	e := environment(t)
	chosen := must.Get(find(o.only))(t)
	if o.trial >= 0 {
		if err := again(t.Context(), e, chosen, o); err != nil {
			t.Error(err)
		}
		return
	}
	all := newReport(o)
	for _, a := range chosen {
		t.Run(a.Name, func(t *testing.T) {
			trials := a.Short
			if o.long {
				trials = a.Long
			}
			if o.trials > 0 {
				trials = o.trials
			}
			r := newReport(o)
			must.Do(t, r.series(t.Context(), e, a, trials, o))
			for _, w := range r.Rows {
				if w.Skipped > 0 {
					t.Logf("%s: %d of %d trials are skipped: %s", w.Kind, w.Skipped, w.Trials, w.Why)
				}
				for _, f := range w.Failed {
					t.Errorf("%s: %s: %s\n\t%s", w.Kind, f.Outcome, f.What, f.Again)
				}
			}
			all.Rows = append(all.Rows, r.Rows...)
			all.Seconds = time.Since(all.begun).Seconds()
		})
	}
	if o.out == "" {
		return
	}
	if err := harness.Write(o.out, all, all.markdown()); err != nil {
		t.Error(err)
	}
}

// TestOutcomes checks the judgement on scripts in place of the program: right, refused, crashed,
// hung, too many lines, a wrong exit code, no message, in every attack's way of running it.
func TestOutcomes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("takes a shell")
	}
	for _, c := range []struct {
		name, script string
		want         Outcome
		what         string
	}{
		{"right", "exit 0", Right, ""},
		{"refused", "echo 'gdsvd: no such file' >&2; exit 1", Refused, "no such file"},
		{"panic", "echo 'panic: index out of range' >&2; echo >&2; echo 'goroutine 1 [running]:' >&2; exit 2", Crashed, "index out of range"},
		{"runtime", "echo 'fatal error: concurrent map writes' >&2; exit 2", Crashed, "concurrent map writes"},
		{"signal", "kill -SEGV $$", Crashed, "signal 11"},
		{"hang", "exec sleep 60", Hung, "still running"},
		{"stubborn", "trap '' QUIT; while :; do :; done", Hung, "still running"},
		{"code", "echo 'gdsvd: no such file' >&2; exit 7", Wrong, "exit 7"},
		{"silent", "exit 1", Wrong, "without a word"},
		{"two lines", "echo 'gdsvd: one' >&2; echo 'gdsvd: two' >&2; exit 1", Wrong, "more than a line"},
		{"anonymous", "echo 'no such file' >&2; exit 1", Wrong, "does not say who speaks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := fake(t, c.script) // before other tests fork: a script that a child holds open for writing cannot be executed
			t.Parallel()
			a := Attack{Name: "fake", Run: func(t *Trial) {
				_, err := t.expect(gdsvd("svd"), 1)
				check(err)
			}}
			v, err := x.env.try(t.Context(), a, 1, 1, false)
			if err != nil || v.Outcome != c.want || !strings.Contains(v.What, c.what) {
				t.Errorf("%s %q, %v; want %s %q", v.Outcome, v.What, err, c.want, c.what)
			}
		})
	}
}

// fake returns a trial that runs a shell script in place of the program.
func fake(t *testing.T, script string) *Trial {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "gdsvd")
	must.Do(t, os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o777))
	x := newTrial(t.Context(), &Env{Program: &harness.Program{Path: program}, Dir: t.TempDir(), Limit: time.Second}, "fake", 1, 1)
	x.Dir = dir
	return x
}

// TestReport checks that a series counts outcomes and keeps the first failures with the commands
// that repeat them, and that a trial that cannot be carried out ends it.
func TestReport(t *testing.T) {
	a := Attack{Name: "stop", About: "a test", Run: func(t *Trial) {
		t.Kind = "odd"
		switch {
		case t.Number == 3:
			check(wrongf("σ is 3"))
		case t.Number == 4:
			check(skipf("no cgroup"))
		case t.Number == 8:
			check(errors.New("disk full"))
		}
		t.Kind, t.Seconds = "even", float64(t.Number)
	}}
	e := &Env{Program: &harness.Program{}, Dir: t.TempDir()}
	o := &options{seed: 9, parallel: 3}
	r := newReport(o)
	must.Do(t, r.series(t.Context(), e, a, 8, o))
	md := r.markdown()
	for _, want := range []string{
		"| even | 6 | 0 | 6 | 0 | 0 | 0 | slowest 7.00 s |", "| odd | 2 | 0 | 0 | 1 | 0 | 0 | 1 skipped: no cgroup |", "| **all** | 8 | 0 | 6 | 1 | 0 | 0 | |",
		"odd: wrong: σ is 3", "go test -v -run TestHostile ./bench/hostile -only stop -seed 9 -trial 3", "- **stop**",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	if err := r.series(t.Context(), e, a, 9, o); err == nil || !strings.Contains(err.Error(), "stop, seed 9, trial 8: disk full") {
		t.Errorf("got %v", err)
	}
	if left := names(e.Dir); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestTrialsAreRepeatable checks that the seed and the number determine a trial.
func TestTrialsAreRepeatable(t *testing.T) {
	seen := map[string]bool{}
	for _, seed := range []uint64{1, 2} {
		for number := range 20 {
			var two [2]string
			for i := range two {
				x := newTrial(t.Context(), &Env{}, "random", seed, number)
				m := x.matrix()
				two[i] = fmt.Sprint(m.kind, m.rows, m.cols, m.entries, x.method(m))
			}
			if two[0] != two[1] {
				t.Errorf("seed %d, trial %d: two matrices", seed, number)
			}
			seen[two[0]] = true
		}
	}
	if len(seen) < 35 {
		t.Errorf("%d different trials of 40", len(seen))
	}
}

// TestDamage checks that damage always changes or removes the file, and that every kind of damage occurs.
func TestDamage(t *testing.T) {
	x := newTrial(t.Context(), &Env{}, "damage", 1, 1)
	name := filepath.Join(t.TempDir(), "f")
	kinds := map[string]int{}
	for range 500 {
		was := strings.Repeat("zero and \x00\x00 more", 20)
		must.Do(t, os.WriteFile(name, []byte(was), 0o666))
		how, gone, err := x.damage(name)
		must.Do(t, err)
		b, err := os.ReadFile(name)
		if gone != (err != nil) || string(b) == was {
			t.Fatalf("%s: gone %v, %v", how, gone, err)
		}
		kinds[strings.Fields(how)[0]]++
	}
	if len(kinds) < 7 {
		t.Errorf("kinds %v", kinds)
	}
}

func TestFind(t *testing.T) {
	if found, err := find("flips,kills"); err != nil || len(found) != 2 || found[1].Name != "kills" {
		t.Errorf("%v, %v", found, err)
	}
	if all, err := find(""); err != nil || len(all) != len(attacks) {
		t.Errorf("%d attacks, %v", len(all), err)
	}
	if _, err := find("flips,flops"); err == nil || !strings.Contains(err.Error(), `no attack "flops"; there are flips`) {
		t.Errorf("got %v", err)
	}
}
