package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// results is standard output: what commands print their results on. It keeps its
// first error, so that no command ends well whose results have not arrived.
type results struct {
	w     io.Writer
	begun bool // something has been written
	err   error
}

// wanted is an error if standard output is closed. Commands that print nothing but
// a list that is asked for ask; a summary may get lost.
func (r *results) wanted() error {
	if f, ok := r.w.(*os.File); ok && r.err == nil && leadsNowhere(f) {
		r.err = &stdoutError{errors.New("it is closed: send it to a file or a program")}
	}
	return r.err
}

func (r *results) Write(b []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err = r.w.Write(b)
	r.begun = r.begun || n > 0
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		r.err = &stdoutError{err}
	}
	return n, r.err
}

// printJSON writes a result to standard output.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// stdoutError is an error of writing to standard output.
type stdoutError struct{ err error }

func (e *stdoutError) Error() string { return "standard output: " + e.err.Error() }
func (e *stdoutError) Unwrap() error { return e.err }

// failure is what is on standard output under --json when a command has no result to print.
type failure struct {
	Error string `json:"error"`
	Exit  int    `json:"exit"`
}

// report says on standard error, and under --json on standard output if nothing is
// there yet, how a run has failed. A reader that has gone is not told.
func (a *app) report(err error, args []string) {
	if err == nil || errors.Is(a.stdout.err, syscall.EPIPE) && errors.Is(err, a.stdout.err) {
		return
	}
	text := message(err)
	a.say("gdsvd: " + text)
	if (a.json || asksForJSON(args)) && !a.stdout.begun {
		_ = a.printJSON(failure{text, exitCode(err)}) // that it fails is known, or said by the exit code
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
