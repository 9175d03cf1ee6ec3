//go:build !unix

package harness

import "time"

var began = time.Now()

// ProcessorSeconds returns the time since the program began.
func ProcessorSeconds() float64 { return time.Since(began).Seconds() }
