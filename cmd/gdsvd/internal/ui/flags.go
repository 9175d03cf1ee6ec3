package ui

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/internal/memory"
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

// ChoiceFlag adds a flag that takes one of the choices, lists them in its help and completes them.
func ChoiceFlag[T comparable](cmd *cobra.Command, f *pflag.FlagSet, p *T, name string, preset T, choices []Choice[T], help string) {
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
	if err := cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names, cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err) // the flag was added above
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
			return strings.ReplaceAll(memory.FormatSize(n), " ", "")
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
