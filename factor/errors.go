package factor

import (
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
)

// ErrNotConverged is what errors.Is finds in the error of a run that ended early and has
// written its result all the same.
var ErrNotConverged = errors.New("not converged")

// Option is the name of a field of Options in an Error.
type Option string

// Error says in a sentence how a run has ended or why it cannot begin, and what can be done
// about it. errors.Is finds what kind it is: context.Canceled, csr.ErrCorrupt,
// ErrNotConverged or an error of the file system.
type Error struct {
	Kind   error // may be nil
	Format string
	Args   []any // Options among them are said as Say says
}

func (e *Error) Error() string { return e.Say(func(o Option) string { return "Options." + string(o) }) }

// Unwrap returns what kind of error it is.
func (e *Error) Unwrap() error { return e.Kind }

// Say is the sentence in the words of a program that has names of its own for the options.
func (e *Error) Say(name func(Option) string) string {
	args := make([]any, len(e.Args))
	for i, a := range e.Args {
		if o, ok := a.(Option); ok {
			a = name(o)
		}
		args[i] = a
	}
	return fmt.Sprintf(e.Format, args...)
}

func says(kind error, format string, args ...any) error { return &Error{kind, format, args} }

// damagedResult is the error about a file of a result that is not what was written.
func damagedResult(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s: %s: the file is damaged; remove the result and compute it again", name, fmt.Sprintf(format, args...))
}

// damagedCheckpoint is the error about a file of a checkpoint that is not what was written.
func damagedCheckpoint(name, format string, args ...any) error {
	return says(csr.ErrCorrupt, "%s is damaged: "+format, append([]any{name}, args...)...)
}
