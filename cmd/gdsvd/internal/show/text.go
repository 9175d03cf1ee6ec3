// Package show prints results and what is known of a run for people, as aligned tables and lines.
package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

	"github.com/gdsvd/gdsvd/factor"
)

// Plural is a number of things.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Ratio is a/b, and no number where b is 0.
func Ratio(a, b float64) factor.Number {
	if b == 0 {
		return factor.Number(math.NaN())
	}
	return factor.Number(a / b)
}

// Printer prints until the first error, with what stands between tabs in columns.
type Printer struct {
	to  io.Writer
	w   tabwriter.Writer
	err error
}

func NewPrinter(to io.Writer) *Printer {
	p := &Printer{to: to}
	p.w.Init(to, 0, 0, 2, ' ', 0)
	return p
}

// AlignRight has what follows stand at the right of its columns.
func (p *Printer) AlignRight() {
	p.err = p.End()
	p.w.Init(p.to, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// Printf prints, unless an error has come before.
func (p *Printer) Printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(&p.w, format, args...)
	}
}

// End prints what is left, and returns the first error.
func (p *Printer) End() error { return cmp.Or(p.err, p.w.Flush()) }

// Clock writes seconds as a person would.
func Clock(s float64) string {
	switch {
	case s < 9.995:
		return fmt.Sprintf("%.2g s", s)
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
