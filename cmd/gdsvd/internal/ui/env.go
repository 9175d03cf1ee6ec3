package ui

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const variablePrefix = "GDSVD_"

// Variable is the environment variable that sets a flag.
func Variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Settable reports whether the environment and configuration files can set a flag: those that
// end the command at once can only be given.
func Settable(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// Flags returns the flags of a command and of those below it, by their names, that can be set.
// A name means the same in all commands.
func Flags(cmd *cobra.Command) map[string]*pflag.Flag {
	flags := map[string]*pflag.Flag{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if Settable(f) {
				flags[f.Name] = f
			}
		})
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" && c.Name() != "help" {
				add(c)
			}
		}
	}
	add(cmd)
	return flags
}

// otherVariables mean something to the benchmarks and to the Python package, none of them a flag.
const otherVariables = " GDSVD_STORES GDSVD_DATA GDSVD_BINARY GDSVD_PYTHON "

// Misspelt finds in an environment the variables that are no flag's and look as if they were meant
// to be, and what each may have meant.
func Misspelt(environ []string, flags map[string]*pflag.Flag) (said []string, meant []string) {
	names := slices.Sorted(maps.Keys(flags))
	for _, line := range slices.Sorted(slices.Values(environ)) {
		name, _, _ := strings.Cut(line, "=")
		rest, ours := strings.CutPrefix(name, variablePrefix)
		if !ours || rest == "" || strings.Contains(otherVariables, " "+name+" ") {
			continue
		}
		best, least := "", min(2, len(rest)/3)+1
		for _, flag := range names {
			d := edits(name, Variable(flag))
			if d > 0 && strings.EqualFold(flags[flag].Shorthand, rest) {
				best, least = Variable(flag), 1
			} else if d < least {
				best, least = Variable(flag), d
			}
		}
		if best != "" && least > 0 {
			said, meant = append(said, name), append(meant, best)
		}
	}
	return said, meant
}

// edits is the number of letters to insert, delete or replace that makes b of a (Levenshtein 1966).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
