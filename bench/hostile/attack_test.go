package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// Attack is one way to ill-treat the program, with a trial for every seed. A trial that returns is
// right; check, expect and similar functions end a trial that is not.
type Attack struct {
	Name  string
	About string // what the attack does and what must hold
	Short int    // trials in a test
	Long  int    // trials with -long
	Run   func(*Trial)
}

// attacks lists all attacks, in the order of the report.
var attacks = []Attack{flips, pipes, kills, disk, descriptors, memory, scale, random, warm, bits, stop, pairs, suites}

// find returns the attacks of a comma-separated list, or all attacks for an empty list.
func find(names string) ([]Attack, error) {
	if names == "" {
		return attacks, nil
	}
	var found []Attack
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(attacks, func(a Attack) bool { return a.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no attack %q; there are %s", name, strings.Join(attackNames(), ", "))
		}
		found = append(found, attacks[i])
	}
	return found, nil
}

func attackNames() (names []string) {
	for _, a := range attacks {
		names = append(names, a.Name)
	}
	return names
}

// Outcome is the judgement on a trial.
type Outcome string

const (
	Right   Outcome = "right"   // done as asked, with a true result
	Refused Outcome = "refused" // one line on standard error and a matching exit code
	Wrong   Outcome = "wrong"   // a false result, silent damage, leftover files, a broken promise
	Hung    Outcome = "hung"    // not ended within the time limit
	Crashed Outcome = "crashed" // a panic, a signal, or a kill by the kernel
	Skipped Outcome = "skipped" // not possible on this machine
)

// bad reports whether an outcome fails the suite.
func (o Outcome) bad() bool { return o == Wrong || o == Hung || o == Crashed }

// judgement is an outcome other than Right, as an error.
type judgement struct {
	outcome Outcome
	what    string
	code    int // exit code of a refusal
}

func (j *judgement) Error() string { return j.what }

func judgef(o Outcome, format string, args ...any) error {
	return &judgement{outcome: o, what: fmt.Sprintf(format, args...)}
}

func wrongf(format string, args ...any) error { return judgef(Wrong, format, args...) }

func skipf(format string, args ...any) error { return judgef(Skipped, format, args...) }

// isRefused reports whether err is a judgement with the outcome Refused.
func isRefused(err error) bool {
	j, ok := err.(*judgement)
	return ok && j.outcome == Refused
}

// ended is the panic value that ends a trial: with a judgement on the program, or with another
// error if the trial itself cannot be carried out.
type ended struct{ error }

// check ends the trial with err unless err is nil.
func check(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// need returns v; an error ends the trial.
func need[T any](v T, err error) T {
	check(err)
	return v
}

// outcome runs f, a part of a trial, and returns the error that ended it.
func outcome(f func()) (err error) {
	defer func() {
		r := recover()
		if e, ok := r.(ended); ok {
			err = e.error
		} else if r != nil {
			panic(r)
		}
	}()
	f()
	return nil
}
