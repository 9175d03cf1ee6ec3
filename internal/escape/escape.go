// Package escape makes characters of a text visible.
package escape

import (
	"strconv"
	"strings"
)

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
