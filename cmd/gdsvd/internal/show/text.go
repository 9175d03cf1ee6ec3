// Package show prints results and what is known of a run for people, as aligned tables and lines.
package show

import (
	"fmt"
	"io"
	"math"
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

// Printer prints until the first error and keeps it.
type Printer struct {
	W   io.Writer
	Err error
}

// Printf prints, unless an error has come before.
func (e *Printer) Printf(format string, args ...any) {
	if e.Err == nil {
		_, e.Err = fmt.Fprintf(e.W, format, args...)
	}
}

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
