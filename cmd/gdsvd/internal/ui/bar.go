package ui

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// bar is a line of a terminal with a text, the share that is done and the time since it began. It is drawn over
// what it was before. A line that cannot be written is not worth failing for.
type bar struct {
	w     io.Writer
	width int // of the bar itself, in characters
	began time.Time
	text  string
	share float64 // from 0 to 1
	drawn int     // characters of the line that is there
}

func (b *bar) draw() {
	full := int(b.share * float64(b.width))
	line := fmt.Sprintf("%s%4d%% |%s%s|  [%v]", b.text, int(100*b.share),
		strings.Repeat("█", full), strings.Repeat(" ", b.width-full), time.Since(b.began).Round(time.Second))
	n := utf8.RuneCountInString(line)
	_, _ = io.WriteString(b.w, "\r"+line+strings.Repeat(" ", max(0, b.drawn-n)))
	b.drawn = max(b.drawn, n)
}

func (b *bar) clear() {
	_, _ = io.WriteString(b.w, "\r"+strings.Repeat(" ", b.drawn)+"\r")
	b.drawn = 0
}
