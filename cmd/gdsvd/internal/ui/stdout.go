package ui

import (
	"bytes"
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
	// Width is that of the lines of text on a terminal, which are broken at it (Fold) and Harmless; 0: they are not. What
	// is printed as JSON never is.
	Width int
	line  []byte // that has begun
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
	if r.Width == 0 {
		return r.write(b)
	}
	r.line, r.Begun = append(r.line, b...), r.Begun || len(b) > 0
	if end := bytes.LastIndexByte(r.line, '\n') + 1; end > 0 {
		_, err = r.write([]byte(Fold(Harmless(string(r.line[:end])), r.Width)))
		r.line = r.line[:copy(r.line, r.line[end:])]
	}
	return len(b), err
}

// End writes a line that has no end.
func (r *Output) End() {
	if len(r.line) > 0 {
		_, _ = r.write([]byte(Fold(Harmless(string(r.line)), r.Width))) // Err keeps the error
		r.line = nil
	}
}

func (r *Output) write(b []byte) (n int, err error) {
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

// Schema is the first field of every JSON object that a command prints: its number changes when a field goes or
// takes another meaning, not when one comes (docs/json.md).
const Schema = "gdsvd/1"

// PrintJSON writes a result, an object, with its schema.
func (r *Output) PrintJSON(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	text := b.Bytes()
	if fields, ok := bytes.CutPrefix(text, []byte("{\n")); ok {
		text = append([]byte("{\n  \"schema\": \""+Schema+"\",\n"), fields...)
	}
	_, err := r.write(text)
	return err
}

type stdoutError struct{ err error }

func (e *stdoutError) Error() string { return "standard output: " + e.err.Error() }
func (e *stdoutError) Unwrap() error { return e.err }
