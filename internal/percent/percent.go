// Package percent writes shares of a whole in percent.
package percent

import (
	"math"
	"strconv"
)

// Text is a share in percent, as strconv.FormatFloat has it, with more digits where prec do not tell it from
// another share.
func Text(share, other float64, verb byte, prec int) string {
	text := func(x float64) string { return strconv.FormatFloat(100*x, verb, prec, 64) }
	for math.Abs(share-other) > roundedShare && text(share) == text(other) {
		prec++
	}
	return text(share) + " %"
}

// roundedShare is the difference of shares that is taken for rounding.
const roundedShare = 1e-12
