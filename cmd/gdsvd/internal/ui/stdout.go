package ui

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Output is standard output: what commands print their results on. It keeps its
// first error, so that no command ends well whose results have not arrived.
type Output struct {
	W     io.Writer
	Begun bool // something has been written
	Err   error
}

// Wanted is an error if standard output is closed. Commands that print nothing but
// a list that is asked for ask; a summary may get lost.
func (r *Output) Wanted() error {
	if f, ok := r.W.(*os.File); ok && r.Err == nil && leadsNowhere(f) {
		r.Err = &stdoutError{errors.New("it is closed: send it to a file or a program")}
	}
	return r.Err
}

func (r *Output) Write(b []byte) (n int, err error) {
	if r.Err != nil {
		return 0, r.Err
	}
	n, err = r.W.Write(b)
	r.Begun = r.Begun || n > 0
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		r.Err = &stdoutError{err}
	}
	return n, r.Err
}

// PrintJSON writes a result.
func (r *Output) PrintJSON(v any) error {
	e := json.NewEncoder(r)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// stdoutError is an error of writing to standard output.
type stdoutError struct{ err error }

func (e *stdoutError) Error() string { return "standard output: " + e.err.Error() }
func (e *stdoutError) Unwrap() error { return e.err }
