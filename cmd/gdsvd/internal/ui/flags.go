package ui

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/internal/memory"
)

// FlagError returns an error about a flag on the command line.
func FlagError(cmd *cobra.Command, err error) error {
	if number, ok := errors.AsType[*strconv.NumError](err); ok && errors.As(err, new(*pflag.InvalidValueError)) {
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
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		flags := Flags(cmd)
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = f })
		if _, meant := Misspelt([]string{Variable(unknown.GetSpecifiedName())}, flags); len(meant) > 0 {
			err = fmt.Errorf("%w; did you mean --%s?", err, meant[0])
		}
	}
	return Usage(cmd, err)
}

// Choice is one value of a flag with a fixed set of them.
type Choice[T any] struct {
	Name  string
	Value T
}

// Named returns choices whose names are those of the values.
func Named[T fmt.Stringer](values ...T) []Choice[T] {
	var all []Choice[T]
	for _, v := range values {
		all = append(all, Choice[T]{v.String(), v})
	}
	return all
}

// Words returns choices whose values are their names.
func Words[T ~string](names []T) (all []Choice[T]) {
	for _, n := range names {
		all = append(all, Choice[T]{string(n), n})
	}
	return all
}

// ChoiceFlag adds a flag that accepts one of the choices, which its help and the shell completion list.
func ChoiceFlag[T comparable](f *pflag.FlagSet, p *T, name string, preset T, choices []Choice[T], help string) {
	*p = preset
	var names []string
	for _, c := range choices {
		names = append(names, c.Name)
	}
	f.Var(Parsed(p, "name", func(s string) (T, error) {
		i := slices.Index(names, s)
		if i < 0 {
			return *p, fmt.Errorf("choose %s", List(" or ", names))
		}
		return choices[i].Value, nil
	}, func(v T) string {
		if i := slices.IndexFunc(choices, func(c Choice[T]) bool { return c.Value == v }); i >= 0 {
			return names[i]
		}
		return ""
	}), name, help+": "+List(" or ", names))
	Complete(f.Lookup(name), func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

// Complete sets the shell completion of the value of a flag; see RegisterCompletions.
func Complete(f *pflag.Flag, by cobra.CompletionFunc) { f.Value = completed{f.Value, by} }

type completed struct {
	pflag.Value
	by cobra.CompletionFunc
}

// RegisterCompletions registers the completions of the flags of a command and its subcommands. As cobra keeps them, and thus
// the commands, until the process ends, it is called only for a line that a shell completes.
func RegisterCompletions(cmd *cobra.Command) {
	register := func(f *pflag.Flag) {
		if c, ok := f.Value.(completed); ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, c.by) // fails only if a flag is registered twice
		}
	}
	cmd.Flags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	for _, below := range cmd.Commands() {
		RegisterCompletions(below)
	}
}

// Parsed returns the value of a flag that is parsed by read and formatted by write.
func Parsed[T any](p *T, kind string, read func(string) (T, error), write func(T) string) pflag.Value {
	return &parsed{kind, func(s string) (err error) {
		*p, err = read(s)
		return err
	}, func() string { return write(*p) }}
}

type parsed struct {
	kind string
	set  func(string) error
	text func() string
}

func (v *parsed) Set(s string) error { return v.set(s) }
func (v *parsed) String() string     { return v.text() }
func (v *parsed) Type() string       { return v.kind }

// List joins words with commas, and with last before the last word.
func List(last string, words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// Size returns the value of a flag for a number of bytes (memory.ParseSize). If auto is set, 0 stands for "auto".
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

// CheckShared checks the flags that mean the same in every command that has them.
func CheckShared(cmd *cobra.Command) error {
	if n, err := cmd.Flags().GetInt("workers"); err == nil && n < 0 {
		return Usagef(cmd, "--workers %d: want 1 or more, or 0 for all processors", n)
	}
	if every, err := cmd.Flags().GetDuration("checkpoint-every"); err == nil && every < 0 {
		return Usagef(cmd, "--checkpoint-every %v: want a time, or 0 for never", every)
	}
	return nil
}

// AsksForJSON reports whether a command line that could not be parsed has --json.
func AsksForJSON(args []string) bool {
	on, err := strconv.ParseBool(lastOf(args, "json", true))
	return err == nil && on
}

// AsksForJSONLog reports whether a command line has --log-format json.
func AsksForJSONLog(args []string) bool { return lastOf(args, "log-format", false) == "json" }

// lastOf returns the value of a flag in a command line that may be invalid, or in the environment.
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
