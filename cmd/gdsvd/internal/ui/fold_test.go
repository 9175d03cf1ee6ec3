package ui

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"short\n", "short\n"},
		{"one two three four\nfive", "one two\nthree four\nfive"},
		{"  one two three", "  one two\n  three"},
		{"key  one two three", "key  one\n     two\n     three"},
		{"abcdefghijklmnop one", "abcdefghijklmnop\none"},
		{"Σ σ Σ σ Σ σ Σ", "Σ σ Σ σ Σ\nσ Σ"},
	} {
		if got := Fold(c.in, 10); got != c.want {
			t.Errorf("%q:\n%q, want\n%q", c.in, got, c.want)
		}
	}
}

func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"ünï 字\tx\n": "ünï 字\tx\n", "a\x1b[2Jb\r\a": `a\x1b[2Jb\r\a`, "\u009b1m": `\u009b1m`, "\x9b1m": "\uFFFD1m", "a\u202eb": `a\u202eb`,
	} {
		if got := Harmless(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestFoldKeepsWords: Fold keeps the words and their order, and a line is too long only if one of its words is.
func TestFoldKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-zé:]{0,12}[ ]{0,3}){0,30}\n?`).Draw(t, "text")
		width := rapid.IntRange(20, 80).Draw(t, "width")
		got := Fold(text, width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("%q became %q", text, got)
		}
		for line := range strings.Lines(got) {
			if line = strings.TrimRight(line, "\n "); utf8.RuneCountInString(line) > width && !slices.ContainsFunc(strings.Fields(line), func(word string) bool { return 3*utf8.RuneCountInString(word) >= width }) {
				t.Fatalf("width %d: %q", width, line)
			}
		}
	})
}

// TestPrintList: PrintList prints what PrintJSON prints of the whole list; if an error precedes the list, nothing.
func TestPrintList(t *testing.T) {
	for n := range 4 {
		all := struct {
			Words []any `json:"words"`
		}{[]any{map[string]string{"a long id & <more>": "of several words"}, []int{}, "x"}[:min(n, 3)]}
		each := func(item func(any) error) error {
			for _, v := range all.Words {
				if err := item(v); err != nil {
					return err
				}
			}
			if n == 3 {
				return errors.New("an item that cannot be read")
			}
			return nil
		}
		var whole, list strings.Builder
		err := (&Output{W: &whole, Width: 10}).PrintJSON(all)
		out := Output{W: &list, Width: 10}
		failed := PrintList(&out, "words", each)
		if n == 3 {
			whole.Reset()
		}
		if err != nil || (failed != nil) != (n == 3) || list.String() != whole.String() || out.Begun != (n < 3) {
			t.Errorf("%v, %v:\n%s, want\n%s", err, failed, &list, &whole)
		}
	}
}
