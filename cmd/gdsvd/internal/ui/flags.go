package ui

import (
	"errors"
	"fmt"
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
func ChoiceFlag[T comparable](cmd *cobra.Command, f *pflag.FlagSet, p *T, name, short string, preset T, choices []Choice[T], help string) {
	*p = preset
	v := &choiceValue[T]{p, choices}
	f.VarP(v, name, short, help+": "+v.names(" or "))
	if err := cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(v.names(", "), ", "), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err) // the flag was added two lines above
	}
}

type choiceValue[T comparable] struct {
	p       *T
	choices []Choice[T]
}

func (v *choiceValue[T]) Set(s string) error {
	for _, c := range v.choices {
		if c.Name == s {
			*v.p = c.Value
			return nil
		}
	}
	return fmt.Errorf("choose %s", v.names(" or "))
}

func (v *choiceValue[T]) String() string {
	for _, c := range v.choices {
		if c.Value == *v.p {
			return c.Name
		}
	}
	return ""
}

func (v *choiceValue[T]) Type() string { return "name" }

// names joins the names with commas, the last one with last.
func (v *choiceValue[T]) names(last string) string {
	var all []string
	for _, c := range v.choices {
		all = append(all, c.Name)
	}
	return List(last, all)
}

// List joins words with commas, the last one with last.
func List(last string, words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + last + words[n-1]
	}
	return strings.Join(words, "")
}

// Size is the value of a flag that takes a number of bytes (memory.ParseSize); 0 stands for
// "auto" where that is allowed.
func Size(bytes *int64, auto bool) pflag.Value { return sizeValue{bytes, auto} }

type sizeValue struct {
	p    *int64
	auto bool
}

func (v sizeValue) Set(s string) error {
	if v.auto && s == "auto" {
		*v.p = 0
		return nil
	}
	n, err := memory.ParseSize(s)
	if err == nil {
		*v.p = n
	}
	return err
}

func (v sizeValue) String() string {
	switch {
	case *v.p != 0:
		return strings.ReplaceAll(memory.FormatSize(*v.p), " ", "")
	case v.auto:
		return "auto"
	}
	return ""
}

func (v sizeValue) Type() string { return "size" }

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
