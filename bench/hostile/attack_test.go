package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// Attack is one way to ill-treat the program, with a trial for every seed. A trial
// that returns is right; check, expect and the like end one that is not.
type Attack struct {
	Name  string
	About string // what is done and what must hold
	Short int    // trials in a test
	Long  int    // trials with -long
	Run   func(*Trial)
}

// attacks are all there are, in the order of the report.
var attacks = []Attack{flips, pipes, kills, disk, descriptors, memory, scale, random, warm, bits, stop, pairs, suites}

// find returns the attacks of a comma-separated list, all for an empty one.
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
	Right   Outcome = "right"   // done as asked, and the outcome is the truth
	Refused Outcome = "refused" // one line on standard error and the exit code that belongs to it
	Wrong   Outcome = "wrong"   // a false result, silent damage, leftovers, a broken promise
	Hung    Outcome = "hung"    // no end within the time limit
	Crashed Outcome = "crashed" // a panic, a signal, or a kill by the kernel
	Skipped Outcome = "skipped" // this machine cannot do it
)

// bad reports whether an outcome fails the suite.
func (o Outcome) bad() bool { return o == Wrong || o == Hung || o == Crashed }

// judgement is an outcome other than right, as an error.
type judgement struct {
	outcome Outcome
	what    string
	code    int // exit code of what was refused
}

func (j *judgement) Error() string { return j.what }

func judgef(o Outcome, format string, args ...any) error {
	return &judgement{outcome: o, what: fmt.Sprintf(format, args...)}
}

func wrongf(format string, args ...any) error { return judgef(Wrong, format, args...) }

func skipf(format string, args ...any) error { return judgef(Skipped, format, args...) }

// isRefused reports whether an error is the judgement Refused.
func isRefused(err error) bool {
	j, ok := err.(*judgement)
	return ok && j.outcome == Refused
}

// ended is what a trial panics with to end: with a judgement on the program, or
// with any other error where the trial itself cannot be carried out.
type ended struct{ error }

// check ends the trial with an error, if there is one.
func check(err error) {
	if err != nil {
		panic(ended{err})
	}
}

// need is v, unless there is an error, which ends the trial.
func need[T any](v T, err error) T {
	check(err)
	return v
}

// outcome runs a part of a trial and returns the error it has ended with.
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
