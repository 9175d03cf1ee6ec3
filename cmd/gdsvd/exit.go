package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// Exit codes, a contract with scripts.
const (
	exitOK           = 0
	exitError        = 1   // anything not listed below
	exitUsage        = 2   // the command line or the configuration file is wrong
	exitCorrupt      = 3   // a store, a result or a checkpoint is damaged or of another version
	exitNotConverged = 4   // the result is written, but falls short of the tolerance
	exitInterrupted  = 130 // by a signal
)

const exitHelp = `
Exit codes: 0 done, 1 error, 2 wrong usage, 3 damaged store, result or checkpoint,
4 stopped before convergence (the result so far is written), 130 interrupted.`

// errNotConverged: the run ended early and its result is written.
var errNotConverged = errors.New("not converged")

// errProblems: check has printed what is wrong with a store.
var errProblems = fmt.Errorf("problems found: %w", csr.ErrCorrupt)

// outcome says in a whole sentence how a run ended; kind is what decides the exit code.
type outcome struct {
	text string
	kind error
}

func (o *outcome) Error() string { return o.text }
func (o *outcome) Unwrap() error { return o.kind }

// usageError is a mistake on the command line of a command.
type usageError struct {
	command string // "gdsvd svd"
	err     error
}

func usage(cmd *cobra.Command, err error) error {
	return &usageError{command: cmd.CommandPath(), err: err}
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usage(cmd, fmt.Errorf(format, args...))
}

func (e *usageError) Error() string { return fmt.Sprintf("%v (see %s -h)", e.err, e.command) }
func (e *usageError) Unwrap() error { return e.err }

// exitCode maps an error to the code of the process: the only place that does.
func exitCode(err error) int {
	var wrongUsage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrongUsage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, csr.ErrCorrupt), errors.Is(err, csr.ErrVersion):
		return exitCorrupt
	case errors.Is(err, errNotConverged):
		return exitNotConverged
	default:
		return exitError
	}
}

// message is the one line that is said about an error.
func message(err error) string {
	var told *outcome
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	text := strings.Join(slices.Compact(lines), "; ")
	switch {
	case errors.As(err, &told):
	case errors.Is(err, context.Canceled):
		text = "interrupted; nothing is written"
	case errors.Is(err, fs.ErrExist) && !errors.Is(err, vfs.ErrStays):
		text += " (--force replaces it)"
	case errors.Is(err, syscall.EMFILE):
		text += " (raise the limit: ulimit -n)"
	}
	return text
}
