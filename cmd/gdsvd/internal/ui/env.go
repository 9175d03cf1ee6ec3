package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// maxConfig is the largest size of a configuration file in bytes.
const maxConfig = 1 << 20

// Standing holds, by name, the flags that the environment or a configuration file has set, with their sources.
type Standing map[string]standing

type standing struct {
	flag   *pflag.Flag
	source string
}

// ReadEnvironment sets the flags that are not given and have an environment variable. An empty variable counts as unset.
func (s Standing) ReadEnvironment(cmd *cobra.Command) error {
	var wrong error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variable := Variable(f.Name)
		value := os.Getenv(variable)
		if value == "" || f.Changed || !Settable(f) || wrong != nil {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			wrong = FlagError(cmd, fmt.Errorf("%s: %w", variable, err))
			return
		}
		s[f.Name] = standing{f, variable}
	})
	return wrong
}

// ReadConfig sets the flags that are in the file of --config and neither on the command line nor in the environment. One file
// may serve several commands: a key that only another command has is ignored, a key that no command has is refused.
func (s Standing) ReadConfig(cmd *cobra.Command, fsys vfs.FS, file string) error {
	if file == "" {
		if cmd.Flags().Changed("config") {
			return Usagef(cmd, "--config: the name of the FILE is empty")
		}
		return nil
	}
	data, err := vfs.ReadFile(fsys, file, maxConfig)
	if err != nil {
		return Usagef(cmd, "read configuration: %w", err)
	}
	values, err := parseConfig(data)
	if err != nil {
		return Usagef(cmd, "read configuration %s: %w", file, err)
	}
	known := Flags(cmd.Root())
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if known[key] == nil || key == "config" {
			return Usagef(cmd, "read configuration %s: unknown key %q: keys are the long names of flags", file, key)
		}
		flag := cmd.Flags().Lookup(key)
		if flag == nil || flag.Changed {
			continue
		}
		if err := cmd.Flags().Set(key, values[key]); err != nil {
			return FlagError(cmd, fmt.Errorf("read configuration %s: %w", file, err))
		}
		s[key] = standing{flag, "configuration " + file}
	}
	return nil
}

// Given reports whether a flag is on the command line. A flag set elsewhere does not count.
func (s Standing) Given(cmd *cobra.Command, name string) bool {
	_, waits := s[name]
	return cmd.Flags().Changed(name) && !waits
}

// Whose says where the flags that a message names have been set, if not on the command line.
func (s Standing) Whose(message string) string {
	var told string
	words := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(" :;,()\"", r) })
	for _, name := range slices.Sorted(maps.Keys(s)) {
		f := s[name]
		if slices.Contains(words, "--"+name) || f.flag.Shorthand != "" && slices.Contains(words, "-"+f.flag.Shorthand) {
			told += fmt.Sprintf("; --%s is set by %s", name, f.source)
		}
	}
	return told
}

// parseConfig reads the values of flags from a JSON object of texts, numbers, truth values and lists of these.
func parseConfig(data []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // keeps the text of a number
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one JSON object and nothing after it")
	}
	values := map[string]string{}
	for key, v := range object {
		text, err := flagText(v)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		values[key] = text
	}
	return values, nil
}

func flagText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number, bool:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, e := range v {
			part, err := flagText(e)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("want a text, a number, true, false or a list of them")
	}
}

const variablePrefix = "GDSVD_"

// Variable returns the name of the environment variable that sets a flag.
func Variable(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Settable reports whether the environment and configuration files can set a flag. Flags that end the command at once can
// only be given on the command line.
func Settable(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// Flags returns the settable flags of a command and its subcommands by name. A name means the same in all commands.
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

// otherVariables are read by the benchmarks and the Python package. None of them sets a flag.
const otherVariables = " GDSVD_STORES GDSVD_DATA GDSVD_BINARY GDSVD_PYTHON "

// Misspelt returns the variables of an environment that resemble the variable of a flag but set none, and the flag that each
// may mean.
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
				best, least = flag, 1
			} else if d < least {
				best, least = flag, d
			}
		}
		if best != "" && least > 0 {
			said, meant = append(said, name), append(meant, best)
		}
	}
	return said, meant
}

// edits returns the number of letters to insert, delete or replace that turn a into b (Levenshtein 1966).
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
