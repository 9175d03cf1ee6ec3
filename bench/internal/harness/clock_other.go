//go:build !unix

package harness

import "time"

var began = time.Now()

// ProcessorSeconds is the time since the program began.
func ProcessorSeconds() float64 { return time.Since(began).Seconds() }
