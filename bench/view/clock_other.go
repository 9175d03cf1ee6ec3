//go:build !unix

package main

import "time"

var began = time.Now()

// seconds is the time since the program began.
func seconds() float64 { return time.Since(began).Seconds() }
