// Package ui holds the user interface that all commands share: flags, progress, messages, exit codes and standard output.
package ui

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
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// Exit codes. Scripts rely on them.
const (
	ExitOK           = 0
	ExitError        = 1   // anything not listed below
	ExitUsage        = 2   // error in the command line or the configuration file
	ExitCorrupt      = 3   // a store, a result or a checkpoint is damaged or of another version
	ExitNotConverged = 4   // the result is written, but falls short of the tolerance
	ExitInterrupted  = 130 // by a signal
)

// ExitHelp lists the exit codes at the end of help texts.
const ExitHelp = `
Exit codes: 0 done, 1 error, 2 wrong usage, 3 damaged store, result or checkpoint,
4 stopped before convergence (the result so far is written), 130 interrupted.`

// ErrProblems is returned after the check command has printed the problems of a store.
var ErrProblems = fmt.Errorf("problems found: %w", csr.ErrCorrupt)

// usageError is an error in the command line of a command.
type usageError struct {
	command string // "gdsvd svd"
	err     error
}

// Usage returns an error about the command line of cmd.
func Usage(cmd *cobra.Command, err error) error {
	return &usageError{command: cmd.CommandPath(), err: err}
}

func Usagef(cmd *cobra.Command, format string, args ...any) error {
	return Usage(cmd, fmt.Errorf(format, args...))
}

func (e *usageError) Error() string { return fmt.Sprintf("%v (see %s -h)", e.err, e.command) }
func (e *usageError) Unwrap() error { return e.err }

// ExitCode returns the exit code of the process for an error.
func ExitCode(err error) int {
	_, wrongUsage := errors.AsType[*usageError](err)
	switch {
	case err == nil:
		return ExitOK
	case wrongUsage:
		return ExitUsage
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, csr.ErrCorrupt), errors.Is(err, csr.ErrVersion):
		return ExitCorrupt
	case errors.Is(err, factor.ErrNotConverged):
		return ExitNotConverged
	default:
		return ExitError
	}
}

// Message returns the line that describes an error.
func Message(err error) string {
	text := err.Error()
	said, ok := errors.AsType[*factor.Error](err)
	if ok {
		text = strings.Replace(text, said.Error(), said.Say(FlagOf), 1)
	}
	text = Harmless(strings.Join(slices.Compact(strings.Split(strings.TrimSpace(text), "\n")), "; "))
	switch {
	case errors.Is(err, syscall.EMFILE):
		text += " (raise the limit: ulimit -n)"
	case ok:
	case errors.Is(err, context.Canceled):
		text = "interrupted; nothing is written"
	case errors.Is(err, fs.ErrExist) && !errors.Is(err, vfs.ErrStays):
		text += " (--force replaces it)"
	}
	return text
}

// optionFlags are the flags of the options that errors of a factorisation name.
var optionFlags = map[factor.Option]string{
	"Dir": "-o", "Init": "--init", "Lambda": "--lambda", "MaxPasses": "--max-passes", "Memory": "--memory", "Operator": "--operator", "Replace": "--force", "Shift": "--shift",
	"Remote": "--engine", "Resume": "--resume", "Rows": "--rows", "Tol": "--tol", "View": "--view", "Vectors": "--vectors",
}

func FlagOf(o factor.Option) string { return optionFlags[o] }

// Unfinished rewords an error about an interrupted store or ingest, with the flags to continue it.
func Unfinished(err error) error {
	var (
		unfinished *csr.UnfinishedError
		resume     *csr.ResumeError
	)
	switch {
	case errors.As(err, &resume):
		return fmt.Errorf("%s cannot be resumed: %w (--force begins anew)", resume.Dir, resume.Err)
	case !errors.As(err, &unfinished):
		return err
	case unfinished.Err == nil:
		return fmt.Errorf("%s holds an unfinished %s: --resume goes on from it, --force begins anew", unfinished.Dir, unfinished.What)
	case errors.Is(err, context.Canceled):
		return &factor.Error{Kind: err, Format: "interrupted; %s holds what is done: --resume goes on from there", Args: []any{unfinished.Dir}}
	}
	return fmt.Errorf("%w; %s holds what is done: --resume goes on from there", unfinished.Err, unfinished.Dir)
}

// Numbers of files that a run may have open at a time. The store takes one, however many shards it has: shards are mapped.
const (
	SomeFiles = 16 // any command; with fewer than 8 Go's runtime cannot begin
	ManyFiles = 64 // a run that keeps vectors in files: one for each of a few dozen blocks
)

// EnoughFiles returns an error if the process may open fewer than need files, so that a run does not fail in the middle.
func EnoughFiles(need int) error {
	if limit := vfs.OpenFiles(); limit < need {
		return fmt.Errorf("this process may have %d files open at a time, it needs %d: raise the limit (ulimit -n)", limit, need)
	}
	return nil
}

// Resources that the Go runtime takes with the threads of a run: addresses, almost none of which are memory, and threads. With
// less than about half of them the runtime fails to start, with many lines of output.
const (
	someAddresses = 1800 << 20
	someThreads   = 16
)

// EnoughForRuntime returns an error if the runtime would fail for want of addresses or threads in the middle of a run.
func EnoughForRuntime() error {
	if limit := vfs.AddressSpace(); limit < someAddresses {
		return fmt.Errorf("this process may take %s of addresses, it needs %s, and the size of the store besides: raise the limit (ulimit -v); --memory limits what it keeps in memory",
			memory.FormatSize(limit), memory.FormatSize(someAddresses))
	}
	if limit := vfs.Threads(); limit < someThreads {
		return fmt.Errorf("this user may have %d processes and threads, gdsvd needs %d besides those that run: raise the limit (ulimit -u)", limit, someThreads)
	}
	return nil
}
