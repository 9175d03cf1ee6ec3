// Package escape makes characters of a text visible, formulas texts, and words what a shell takes for one.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is a text as one line of characters that can be seen: what moves a cursor or turns the direction of a text is escaped,
// and bytes that are no UTF-8 are U+FFFD. Characters that join letters stay.
func Line(text string) string {
	const nonJoiner, joiner = 0x200c, 0x200d
	return Runes(strings.ToValidUTF8(text, string(utf8.RuneError)), func(r rune) bool {
		return !unicode.IsGraphic(r) && r != nonJoiner && r != joiner
	})
}

// Runes is a text with the escape of Go's syntax, in ASCII, in the place of each character that which picks.
func Runes(text string, which func(rune) bool) string {
	if !strings.ContainsFunc(text, which) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if which(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Formula is a text that a spreadsheet takes for a text: a single quote stands before one that begins as a formula does,
// with =, +, -, @, a tab or a carriage return. A negative integer is left as it is.
func Formula(text string) string {
	if text == "" || !strings.Contains("=+-@\t\r", text[:1]) {
		return text
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] == '-' {
		return text
	}
	return "'" + text
}

// Command is a command as a POSIX shell reads it.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;!#~") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
