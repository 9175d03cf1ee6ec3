package view

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Pipeline is steps in the order in which they are taken.
type Pipeline []Step

// parseError says where and why a text is no pipeline.
type parseError struct {
	Line, Byte int    // of the text, from 1
	Field      string // text at that place
	Problem    string
}

func (e *parseError) Error() string {
	at := fmt.Sprintf("byte %d", e.Byte)
	if e.Line > 1 {
		at = fmt.Sprintf("line %d, byte %d", e.Line, e.Byte)
	}
	return fmt.Sprintf("%s, %q: %s", at, e.Field, e.Problem)
}

// maxSteps bounds a pipeline with its presets written out.
const maxSteps = 64

// Parse reads a pipeline: steps with | or · or the end of a line between them, and presets,
// which it writes out. What follows # on a line is a comment.
func Parse(text string) (Pipeline, error) {
	var p Pipeline
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line, _, _ = strings.Cut(line, "#")
		fields := separated(line)
		for _, f := range fields {
			if f.text == "" && len(fields) == 1 {
				continue // an empty line
			}
			steps, err := parseStep(f)
			if len(p)+len(steps) > maxSteps {
				err = f.bad("a view has %d steps at most", maxSteps)
			}
			if err != nil {
				err.Line = i + 1
				return nil, err
			}
			p = append(p, steps...)
		}
	}
	if len(p) == 0 {
		return nil, &parseError{Line: 1, Byte: 1, Problem: "there are no steps; " + known()}
	}
	if err := p.check(); err != nil {
		return nil, &parseError{Line: 1, Byte: 1, Field: p.String(), Problem: err.Error()}
	}
	return p, nil
}

// String returns the pipeline in its canonical form: presets and defaults written out, one
// form for each number. Parse reads it back.
func (p Pipeline) String() string {
	steps := make([]string, len(p))
	for i, s := range p {
		steps[i] = s.String()
	}
	return strings.Join(steps, " · ")
}

// field is a part of a line.
type field struct {
	text string
	at   int // its first byte, from 0
}

func (f field) bad(format string, args ...any) *parseError {
	return &parseError{Byte: f.at + 1, Field: f.text, Problem: fmt.Sprintf(format, args...)}
}

// trimmed returns f without spaces around it.
func (f field) trimmed() field {
	left := strings.TrimLeft(f.text, " \t\r")
	return field{strings.TrimRight(left, " \t\r"), f.at + len(f.text) - len(left)}
}

func separated(line string) (fields []field) {
	from := 0
	for i, c := range line {
		if c == '|' || c == '·' {
			fields = append(fields, field{line[from:i], from}.trimmed())
			from = i + utf8.RuneLen(c)
		}
	}
	return append(fields, field{line[from:], from}.trimmed())
}

// cut returns the part of f before the first sep, and the part after it.
func (f field) cut(sep string) (before, after field, found bool) {
	a, b, found := strings.Cut(f.text, sep)
	return field{a, f.at}.trimmed(), field{b, f.at + len(a) + len(sep)}.trimmed(), found
}

func parseStep(f field) (Pipeline, *parseError) {
	if f.text == "" {
		return nil, f.bad("a step is missing; %s", known())
	}
	name, rest, with := f.cut("=")
	if above, ok := strings.CutSuffix(name.text, ">"); ok {
		name.text, rest.text = strings.TrimRight(above, " \t"), ">="+rest.text
		rest.at -= 2
	}
	if p, ok := presets[name.text]; ok {
		if with {
			return nil, f.bad("preset %s takes nothing after it; it is %s", name.text, p)
		}
		steps, err := Parse(p)
		if err != nil {
			panic(err) // a test reads them all
		}
		return steps, nil
	}
	i := slices.IndexFunc(kinds, func(k *kind) bool { return k.name == name.text })
	if i < 0 {
		return nil, name.bad("there is no such step; %s", known())
	}
	a := &args{kind: kinds[i], step: f}
	for with {
		var one field
		one, rest, with = rest.cut(",")
		if one.text == "" {
			return nil, f.bad("a parameter is missing; %s", a.usage())
		}
		a.fields = append(a.fields, one)
	}
	s := Step{Name: name.text}
	if parse := kinds[i].parse; parse != nil {
		parse(&s, a)
	}
	if a.err == nil && len(a.fields) > 0 {
		a.err = a.fields[0].bad("unknown parameter; %s", a.usage())
	}
	if a.err != nil {
		return nil, a.err
	}
	return Pipeline{s}, nil
}

// Words are the names of the steps and of the presets.
func Words() (steps, names []string) {
	for _, k := range kinds {
		steps = append(steps, k.name)
	}
	return steps, slices.Sorted(maps.Keys(presets))
}

func known() string {
	steps, names := Words()
	return "steps: " + strings.Join(steps, " ") + "; presets: " + strings.Join(names, " ")
}

// args are the parameters of a step that have not been read.
type args struct {
	kind   *kind
	step   field
	fields []field
	err    *parseError // the first error
}

func (a *args) usage() string { return "want " + a.kind.usage }

func (a *args) fail(f field, format string, x ...any) {
	if a.err == nil {
		a.err = f.bad("%s; %s", fmt.Sprintf(format, x...), a.usage())
	}
}

// take removes and returns the first parameter that want accepts.
func (a *args) take(want func(string) bool) (field, bool) {
	i := slices.IndexFunc(a.fields, func(f field) bool { return want(f.text) })
	if i < 0 {
		return a.step, false
	}
	f := a.fields[i]
	a.fields = slices.Delete(a.fields, i, i+1)
	return f, true
}

// word reads a parameter that is one of words. If there is none it returns otherwise, and fails if that is "".
func (a *args) word(otherwise string, words ...string) string {
	f, ok := a.take(func(text string) bool { return slices.Contains(words, text) })
	switch {
	case ok:
		return f.text
	case otherwise == "":
		a.fail(a.step, "one of %s is missing", strings.Join(words, ", "))
	}
	return otherwise
}

// option reads the value of a parameter key:VALUE.
func (a *args) option(key string) (field, bool) {
	f, ok := a.take(func(text string) bool { return strings.HasPrefix(text, key+":") })
	if !ok {
		return f, false
	}
	_, f, _ = f.cut(":")
	return f, true
}

// choice reads a parameter key:WORD with one of words, and returns otherwise if there is none.
func (a *args) choice(key, otherwise string, words ...string) string {
	f, ok := a.option(key)
	if !ok {
		return otherwise
	}
	b := &args{kind: a.kind, step: f, fields: []field{f}}
	word := b.word("", words...)
	if a.err == nil {
		a.err = b.err
	}
	return word
}

// number reads the next parameter, which must be a number for which ok holds.
func (a *args) number(what string, ok func(float64) bool) float64 {
	if len(a.fields) == 0 {
		name, _, _ := strings.Cut(what, " ")
		a.fail(a.step, "%s is missing", name)
		return 0
	}
	f := a.fields[0]
	a.fields = a.fields[1:]
	return a.numberOf(f, what, ok)
}

func (a *args) numberOf(f field, what string, ok func(float64) bool) float64 {
	x, err := strconv.ParseFloat(f.text, 64)
	if err != nil || !finite(x) || strings.ContainsAny(f.text, "xX_") || ok != nil && !ok(x) {
		if math.IsInf(x, 0) {
			what += ", and finite"
		}
		a.fail(f, "%s", what)
	}
	return x + 0 // no negative zero
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func positive(x float64) bool    { return x > 0 }
func notNegative(x float64) bool { return x >= 0 }

func text(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
