//go:build !unix

package ingest

import (
	"math"
)

// openFileLimit is how many files the process may have open: no limit is known.
func openFileLimit() int { return math.MaxInt32 }
