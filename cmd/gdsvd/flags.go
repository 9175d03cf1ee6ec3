package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/internal/memory"
)

// flagError says what is wrong with a flag on the command line.
func flagError(cmd *cobra.Command, err error) error {
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
		}
		text, _, _ := strings.Cut(err.Error(), ": strconv.")
		err = fmt.Errorf("%s: want %s", text, want)
	}
	return usage(cmd, err)
}

// choice is one value of a flag with a fixed set of them.
type choice[T any] struct {
	name  string
	value T
}

var levels = []choice[slog.Level]{
	{"debug", slog.LevelDebug}, {"info", slog.LevelInfo}, {"warn", slog.LevelWarn}, {"error", slog.LevelError},
}

// named lists values that know their names.
func named[T fmt.Stringer](values ...T) []choice[T] {
	var all []choice[T]
	for _, v := range values {
		all = append(all, choice[T]{v.String(), v})
	}
	return all
}

// choiceFlag adds a flag that takes one of the choices, lists them in its help and completes them.
func choiceFlag[T comparable](cmd *cobra.Command, f *pflag.FlagSet, p *T, name, short string, preset T, choices []choice[T], help string) {
	*p = preset
	v := &choiceValue[T]{p, choices}
	f.VarP(v, name, short, help+": "+v.names(" or "))
	if err := cmd.RegisterFlagCompletionFunc(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(v.names(","), ","), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err) // the flag was added two lines above
	}
}

type choiceValue[T comparable] struct {
	p       *T
	choices []choice[T]
}

func (v *choiceValue[T]) Set(s string) error {
	for _, c := range v.choices {
		if c.name == s {
			*v.p = c.value
			return nil
		}
	}
	return fmt.Errorf("choose %s", v.names(" or "))
}

func (v *choiceValue[T]) String() string {
	for _, c := range v.choices {
		if c.value == *v.p {
			return c.name
		}
	}
	return ""
}

func (v *choiceValue[T]) Type() string { return "name" }

// names joins the names with commas, the last one with last.
func (v *choiceValue[T]) names(last string) string {
	var b strings.Builder
	for i, c := range v.choices {
		switch {
		case i == 0:
		case i == len(v.choices)-1:
			b.WriteString(last)
		case last == ",":
			b.WriteString(",")
		default:
			b.WriteString(", ")
		}
		b.WriteString(c.name)
	}
	return b.String()
}

// sizeValue is a flag that takes a number of bytes (memory.ParseSize); 0 stands for "auto" where that is allowed.
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

// fallbackMemory is the budget where the memory of the machine is not known.
const fallbackMemory = 1 << 30

// autoMemory is the budget of --memory auto: 60 % of what the process may have.
func autoMemory() int64 {
	if n := memory.Available(); n > 0 {
		return n / 5 * 3
	}
	return fallbackMemory
}

// warnOfBudget says so if a budget is more than there is.
func (a *app) warnOfBudget(budget int64) {
	if total := memory.Total(); total > 0 && budget > total {
		a.display.Logger().Warn("--memory is more than the machine, or the control group, has: the system may end the process",
			"memory", memory.FormatSize(budget), "has", memory.FormatSize(total))
	}
}

// limitHeap bounds Go's heap until the returned function is called.
func limitHeap(bytes int64) (restore func()) {
	before := debug.SetMemoryLimit(bytes)
	return func() { debug.SetMemoryLimit(before) }
}

// garbage is what may lie about before it is worth the while to collect it, however
// small the heap: a run of some ten milliseconds would else be interrupted several times.
const garbage = 128 << 20

// collectLate has garbage collected in a heap that is to be of so many bytes when there
// is as much of it, or garbage if that is more, until the returned function is called.
// Limits of the heap hold all the same, and so does GOGC.
func collectLate(heap int64) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const byDefault = 100
	before := debug.SetGCPercent(int(max(byDefault, byDefault*garbage/heap)))
	return func() { debug.SetGCPercent(before) }
}
