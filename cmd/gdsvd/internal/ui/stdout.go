package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/gdsvd/gdsvd/internal/escape"
)

// Output is standard output: what commands print their results on. It keeps its
// first error, so that a command fails if its results have not arrived.
type Output struct {
	W     io.Writer
	Begun bool // something has been written
	Err   error
	// Width is the width of a terminal, at which lines of text are folded (Fold) and made Harmless; 0: text is not changed. JSON is
	// never changed.
	Width int
	line  []byte // beginning of a line that is not complete yet
}

// Wanted returns an error if standard output is closed. Only commands whose purpose is to print a list call it: a summary may
// get lost.
func (r *Output) Wanted() error {
	if f, ok := r.W.(*os.File); ok && r.Err == nil && leadsNowhere(f) {
		r.Err = errors.New("standard output: it is closed: send it to a file or a program")
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

// End writes the last line if it has no line end.
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
		r.Err = fmt.Errorf("standard output: %w", err)
	}
	return n, r.Err
}

// Schema is the first field of every JSON object that a command prints. Its number changes when a field is removed or changes
// its meaning, not when a field is added (docs/json.md).
const Schema = "gdsvd/1"

const opening = "{\n  \"schema\": \"" + Schema + "\",\n"

// PrintJSON writes a result, which must be an object, with its schema.
func (r *Output) PrintJSON(v any) error {
	text, err := indented(v, "")
	if err != nil {
		return err
	}
	if fields, ok := bytes.CutPrefix(text, []byte("{\n")); ok {
		text = append([]byte(opening), fields...)
	}
	_, err = r.write(append(text, '\n'))
	return err
}

func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent(prefix, "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Raw returns a writer to r for data that are not text, such as JSON: its lines are not folded.
func (r *Output) Raw() io.Writer { return raw{r} }

type raw struct{ r *Output }

func (w raw) Write(b []byte) (n int, err error) { return w.r.write(b) }

// PrintList writes to r what PrintJSON writes for an object whose only field is a list; all calls item with each element. If all
// fails, a short list is not written at all.
func PrintList[T any](r *Output, name string, all func(item func(T) error) error) error {
	w := bufio.NewWriterSize(r.Raw(), 1<<16)
	_, _ = fmt.Fprintf(w, "%s  %q: [", opening, name) // w keeps its first error
	before, end := "\n    ", "]\n}\n"
	err := all(func(v T) error {
		text, err := indented(v, "    ")
		if err != nil {
			return err
		}
		_, err = w.WriteString(before + string(text))
		before, end = ",\n    ", "\n  ]\n}\n"
		return err
	})
	if err != nil {
		return err
	}
	_, _ = w.WriteString(end)
	return w.Flush()
}

// Columns is the width of lines if standard output is not a terminal.
const Columns = 80

// Fold breaks lines longer than width at spaces. Continuation lines are indented like the beginning of the line, or like its
// second column if it has two. Words are never broken: a line with a longer word stays too long. Shorter lines are not changed.
func Fold(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		fold(&b, line, width)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Prose is Fold for texts with paragraphs of several lines. A paragraph with a line that is too long is filled again, unless
// some of its lines are indented or have columns.
func Prose(text string, width int) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(strings.Trim(p, "\n"), "\n")
		long, plain := false, true
		for _, line := range lines {
			long = long || utf8.RuneCountInString(line) > width
			plain = plain && !strings.HasPrefix(line, " ") && !strings.Contains(line, "  ")
		}
		if long && plain {
			filled := strings.Join(lines, " ")
			paragraphs[i] = strings.Replace(p, strings.Trim(p, "\n"), filled, 1)
		}
	}
	return Fold(strings.Join(paragraphs, "\n\n"), width)
}

func fold(b *strings.Builder, line string, width int) {
	if utf8.RuneCountInString(line) <= width {
		b.WriteString(line)
		return
	}
	indent := hanging(line, width)
	line = line[max(0, len(line)-len(strings.TrimLeft(line, " "))-width/2):]
	at := len(line) - len(strings.TrimLeft(line, " "))
	b.WriteString(line[:at])
	gap := 0 // spaces since the last word
	begun := false
	for word := range strings.SplitSeq(line[at:], " ") {
		if word == "" {
			gap++
			continue
		}
		n := utf8.RuneCountInString(word)
		switch {
		case !begun:
		case at+1+gap+n > width && at > indent:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(strings.Repeat(" ", 1+gap))
			at += 1 + gap
		}
		b.WriteString(word)
		at, gap, begun = at+n, 0, true
	}
}

// hanging returns the column at which continuation lines of a long line begin.
func hanging(line string, width int) int {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if i := strings.Index(text, "  "); i > 0 {
		second := strings.TrimLeft(text[i:], " ")
		if at := utf8.RuneCountInString(line[:len(line)-len(second)]); second != "" && at <= width*2/3 {
			return at
		}
	}
	return min(indent, width/2)
}

// narrowest is the smallest width at which lines are folded.
const narrowest = 30

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of a terminal, or Columns if w is not a terminal.
func Width(w io.Writer) int {
	if f, ok := w.(*os.File); ok && IsTerminal(w) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, narrowest)
		}
	}
	return Columns
}

// Harmless returns a text in which escapes replace the characters that control a terminal, except line ends and tabs. Names from
// files may contain such characters.
func Harmless(s string) string {
	return escape.Runes(strings.ToValidUTF8(s, string(utf8.RuneError)), func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	})
}
