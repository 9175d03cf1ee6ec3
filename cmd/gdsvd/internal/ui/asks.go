package ui

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// AsksForJSON looks for --json on a command line that was not understood as a whole.
func AsksForJSON(args []string) bool {
	on, err := strconv.ParseBool(lastOf(args, "json", true))
	return err == nil && on
}

// AsksForJSONLog looks for --log-format json.
func AsksForJSONLog(args []string) bool { return lastOf(args, "log-format", false) == "json" }

// lastOf is the value of a flag as far as it can be told from a command line that may be wrong,
// and from the environment.
func lastOf(args []string, flag string, truth bool) string {
	last := os.Getenv(Variable(flag))
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	for i, arg := range args {
		value, found := strings.CutPrefix(arg, "--"+flag+"=")
		switch {
		case found:
			last = value
		case arg != "--"+flag:
		case truth:
			last = "true"
		case i+1 < len(args):
			last = args[i+1]
		}
	}
	return last
}
