// Package escape escapes invisible characters, texts that a spreadsheet would read as formulas, and words for a shell.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text as one line of visible characters: characters that move the cursor or change the direction of the text
// are escaped, and invalid UTF-8 becomes U+FFFD. Characters that join letters stay.
func Line(text string) string {
	const nonJoiner, joiner = 0x200c, 0x200d
	return Runes(strings.ToValidUTF8(text, string(utf8.RuneError)), func(r rune) bool {
		return !unicode.IsGraphic(r) && r != nonJoiner && r != joiner
	})
}

// Runes returns text with each character that which selects replaced by its escape in Go's syntax, in ASCII.
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

// Formula returns text such that a spreadsheet reads it as text: it puts a single quote before a text that begins as a
// formula does, with =, +, -, @, a tab or a carriage return. A negative integer stays unchanged.
func Formula(text string) string {
	if text == "" || !strings.Contains("=+-@\t\r", text[:1]) {
		return text
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil && text[0] == '-' {
		return text
	}
	return "'" + text
}

// Command returns the words of a command, quoted where necessary, as a POSIX shell reads them.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;!#~") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
