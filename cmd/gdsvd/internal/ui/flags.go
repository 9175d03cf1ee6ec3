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
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/vfs"
)

// FlagError says what is wrong with a flag on the command line.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		number  *strconv.NumError
	)
	if errors.As(err, &invalid) && errors.As(err, &number) {
		want := "a whole number"
		switch {
		case errors.Is(number, strconv.ErrRange):
			want = "a smaller number"
		case number.Func == "ParseUint":
			want += ", 0 or more"
		case number.Func == "ParseFloat":
			want = "a number"
		case number.Func == "ParseBool":
			want = "true or false"
		}
		text, _, _ := strings.Cut(err.Error(), ": strconv.")
		err = fmt.Errorf("%s: want %s", text, want)
	}
	return Usage(cmd, err)
}

// Choice is one value of a flag with a fixed set of them.
type Choice[T any] struct {
	Name  string
	Value T
}

// Named lists values that know their names.
func Named[T fmt.Stringer](values ...T) []Choice[T] {
	var all []Choice[T]
	for _, v := range values {
		all = append(all, Choice[T]{v.String(), v})
	}
	return all
}

// Words are choices that are their names.
func Words[T ~string](names []T) (all []Choice[T]) {
	for _, n := range names {
		all = append(all, Choice[T]{string(n), n})
	}
	return all
}

// ChoiceFlag adds a flag that takes one of the choices, lists them in its help and completes them.
func ChoiceFlag[T comparable](f *pflag.FlagSet, p *T, name string, preset T, choices []Choice[T], help string) {
	*p = preset
	var names []string
	for _, c := range choices {
		names = append(names, c.Name)
	}
	f.Var(Parsed(p, "name", func(s string) (T, error) {
		if i := slices.Index(names, s); i >= 0 {
			return choices[i].Value, nil
		}
		return *p, fmt.Errorf("choose %s", List(" or ", names))
	}, func(x T) string {
		if i := slices.IndexFunc(choices, func(c Choice[T]) bool { return c.Value == x }); i >= 0 {
			return names[i]
		}
		return ""
	}), name, help+": "+List(" or ", names))
	Complete(f.Lookup(name), func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// Complete has the shell complete the value of a flag (RegisterCompletions).
func Complete(f *pflag.Flag, by cobra.CompletionFunc) { f.Value = completed{f.Value, by} }

type completed struct {
	pflag.Value
	by cobra.CompletionFunc
}

// RegisterCompletions registers what completes the flags of a command and of those below it. The library keeps that, and
// so the commands, until the process ends: it is called for a line that a shell completes alone.
func RegisterCompletions(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		if c, ok := f.Value.(completed); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, c.by) // no flag of a command is met twice
		}
	}
	cmd.Flags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	for _, below := range cmd.Commands() {
		RegisterCompletions(below)
	}
}

// Parsed is the value of a flag that one function reads and another writes.
func Parsed[T any](p *T, kind string, read func(string) (T, error), write func(T) string) pflag.Value {
	return parsed[T]{p, kind, read, write}
}

type parsed[T any] struct {
	p     *T
	kind  string
	read  func(string) (T, error)
	write func(T) string
}

func (v parsed[T]) Set(s string) (err error) {
	*v.p, err = v.read(s)
	return err
}

func (v parsed[T]) String() string { return v.write(*v.p) }
func (v parsed[T]) Type() string   { return v.kind }

// List joins words with commas, the last one with last.
func List(last string, words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// Size is the value of a flag that takes a number of bytes (memory.ParseSize); 0 stands for
// "auto" where that is allowed.
func Size(bytes *int64, auto bool) pflag.Value {
	return Parsed(bytes, "size", func(s string) (int64, error) {
		if auto && s == "auto" {
			return 0, nil
		}
		return memory.ParseSize(s)
	}, func(n int64) string {
		switch {
		case n != 0:
			text := strings.ReplaceAll(memory.FormatSize(n), " ", "")
			if rounded, err := memory.ParseSize(text); err != nil || rounded != n {
				return strconv.FormatInt(n, 10)
			}
			return text
		case auto:
			return "auto"
		}
		return ""
	})
}

// CheckShared finds what is wrong with flags that mean the same in every command that has them.
func CheckShared(cmd *cobra.Command) error {
	if n, err := cmd.Flags().GetInt("workers"); err == nil && n < 0 {
		return Usagef(cmd, "--workers %d: want 1 or more, or 0 for all processors", n)
	}
	if every, err := cmd.Flags().GetDuration("checkpoint-every"); err == nil && every < 0 {
		return Usagef(cmd, "--checkpoint-every %v: want a time, or 0 for never", every)
	}
	return nil
}

// maxConfig is the size in bytes up to which a configuration file is read.
const maxConfig = 1 << 20

// Standing are the flags that are not given but set, by name, and where: by a variable of the environment or a file.
type Standing map[string]standing

type standing struct {
	flag   *pflag.Flag
	source string
}

// ReadEnvironment sets the flags that are not given and have a variable. An empty variable is none.
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

// ReadConfig sets the flags that the file of --config names and neither the command
// line nor the environment does. One file may serve several commands: a key that only another
// command knows is passed over, a key that none knows is refused.
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

// parseConfig reads a JSON object of texts, numbers, truth values and lists of them as the values of flags.
func parseConfig(data []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number reaches its flag as it was written
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
