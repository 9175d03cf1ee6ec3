package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

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
// there yet, how a run has ended. A reader that has gone is not told.
func (a *app) report(err error, code int, args []string) {
	text := ""
	if err != nil && !(errors.Is(a.stdout.Err, syscall.EPIPE) && errors.Is(err, a.stdout.Err)) {
		text = ui.Message(err)
		if code == ui.ExitUsage {
			text += a.whoseFlags(text)
		}
	}
	a.display.Final(text, code, time.Since(a.began))
	if text != "" && (a.json || asksForJSON(args)) && !a.stdout.Begun {
		_ = a.printJSON(failure{text, code}) // that it fails is known, or said by the exit code
	}
}

// asksForJSON looks for --json on a command line that was not understood as a whole.
func asksForJSON(args []string) bool {
	on, err := strconv.ParseBool(lastOf(args, "json", true))
	return err == nil && on
}

// asksForJSONLog looks for --log-format json.
func asksForJSONLog(args []string) bool { return lastOf(args, "log-format", false) == "json" }

// lastOf is the value of a flag as far as it can be told from a command line that may be wrong,
// and from the environment.
func lastOf(args []string, flag string, truth bool) string {
	last := os.Getenv(ui.Variable(flag))
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--"+flag+"=")
		switch {
		case found:
			last = value
		case arg != "--"+flag:
		case truth:
			last = "true"
		case i+1 < len(args):
			last = args[i+1]
		}
	}
	return last
}
