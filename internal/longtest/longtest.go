// Package longtest tells tests whether to take their long forms.
package longtest

import "os"

// On tells whether GDSVD_TEST_LONG is set: sweeps take every step, and sizes are those that CI proves. Without it a test
// takes the same ways with less data.
func On() bool { return os.Getenv("GDSVD_TEST_LONG") != "" }
