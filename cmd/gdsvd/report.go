package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// printJSON writes a result to standard output.
func (a *app) printJSON(v any) error { return a.stdout.PrintJSON(v) }

// failure is what is on standard output under --json when a command has no result to print.
type failure struct {
	Error string `json:"error"`
	Exit  int    `json:"exit"`
}

// report says on standard error, and under --json on standard output if nothing is
// there yet, how a run has failed. A reader that has gone is not told.
func (a *app) report(err error, args []string) {
	if err == nil || errors.Is(a.stdout.Err, syscall.EPIPE) && errors.Is(err, a.stdout.Err) {
		return
	}
	text := ui.Message(err)
	a.say("gdsvd: " + text)
	if (a.json || asksForJSON(args)) && !a.stdout.Begun {
		_ = a.printJSON(failure{text, ui.ExitCode(err)}) // that it fails is known, or said by the exit code
	}
}

// asksForJSON looks for --json on a command line that was not understood as a whole.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(arg string) bool {
		value, found := strings.CutPrefix(arg, "--json=")
		on, err := strconv.ParseBool(value)
		return arg == "--json" || found && err == nil && on
	})
}
