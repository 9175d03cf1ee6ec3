// Package percent writes shares of a whole in percent.
package percent

import (
	"math"
	"strconv"
)

// Text returns a share in percent, formatted by strconv.FormatFloat with verb and prec, with more digits than prec as long
// as share and other differ but their texts do not.
func Text(share, other float64, verb byte, prec int) string {
	text := func(x float64) string { return strconv.FormatFloat(100*x, verb, prec, 64) }
	for math.Abs(share-other) > roundedShare && text(share) == text(other) {
		prec++
	}
	return text(share) + " %"
}

// roundedShare is the largest difference of two shares that counts as rounding.
const roundedShare = 1e-12
