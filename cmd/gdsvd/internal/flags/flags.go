// Package flags defines the flags of gdsvd that set more than one value, or whose errors need explanation: the method and its
// settings, the number of triplets or their energy, and the filters and hold-out of an ingest.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Method is --method and the settings of the methods. The method itself determines a setting that is 0.
type Method struct {
	list   []method.Method // the available methods, in the order of the help text
	name   string
	values map[string]*float64 // of all settings
}

const autoMethod = "auto" // chooses one of the other methods

// settings returns the settings of all methods. A setting that several methods have is that of the first one.
func (o *Method) settings() (all []method.Setting) {
	for _, m := range o.list {
		for _, s := range m.Traits(1).Settings {
			if !slices.ContainsFunc(all, func(other method.Setting) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Add adds --method and the settings of the methods in list.
func (o *Method) Add(cmd *cobra.Command, list []method.Method) {
	o.list = list
	f := cmd.Flags()
	names := []string{autoMethod}
	for _, m := range o.list {
		names = append(names, m.Traits(1).Name)
	}
	ui.ChoiceFlag(f, &o.name, "method", autoMethod, ui.Words(names), "algorithm")
	o.values = map[string]*float64{}
	for _, s := range o.settings() {
		help := s.Help + " of " + o.takers(s.Name)
		if s.Default == 0 {
			help += " (0: found automatically)"
		}
		kind, read := "float64", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
		if s.Whole {
			kind, read = "int", func(text string) (float64, error) {
				n, err := strconv.ParseInt(text, 0, 64)
				return float64(n), err
			}
		}
		value := s.Default
		o.values[s.Name] = &value
		f.Var(ui.Parsed(&value, kind, read, func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }), s.Name, help)
	}
}

// takers returns the names of the methods that have a setting.
func (o *Method) takers(setting string) string {
	var names []string
	for _, m := range o.list {
		if t := m.Traits(1); takes(t, setting) {
			names = append(names, t.Name)
		}
	}
	return ui.List(" and ", names)
}

func takes(t method.Traits, setting string) bool {
	return slices.ContainsFunc(t.Settings, func(s method.Setting) bool { return s.Name == setting })
}

// Check returns an error for settings that are out of range or belong to another method, else the method, nil for auto.
// Settings of other methods are allowed if the environment or a configuration file sets them.
func (o *Method) Check(cmd *cobra.Command, operator solver.OperatorKind, standing ui.Standing) (method.Method, error) {
	for _, s := range o.settings() {
		v := *o.values[s.Name]
		_, waits := standing[s.Name]
		switch {
		case v == s.Default:
		case v == 0 || !s.Allows(v):
			return nil, ui.Usagef(cmd, "--%s %v: the %s lies between %v and %v, both excluded", s.Name, v, s.Help, s.Low, s.High)
		case o.name == autoMethod && !waits:
			return nil, ui.Usagef(cmd, "--%s is the %s of %s; --method auto finds what it needs: name the method", s.Name, s.Help, o.takers(s.Name))
		case o.name != autoMethod && !takes(o.named().Traits(1), s.Name) && !waits:
			return nil, ui.Usagef(cmd, "--%s is the %s of %s; --method %s has none", s.Name, s.Help, o.takers(s.Name), o.name)
		}
	}
	if o.name == autoMethod {
		return nil, nil
	}
	t := o.named().Traits(1)
	values := make([]float64, len(t.Settings))
	for i, s := range t.Settings {
		values[i] = *o.values[s.Name]
	}
	made := t.With(values)
	t = made.Traits(1)
	if operator == solver.Dilation && !t.Indefinite {
		return nil, ui.Usagef(cmd, "--operator dilation has negative eigenvalues, which --method %s cannot work with; take one that finds one vector at a time", o.name)
	}
	if t.Wrong != nil {
		var given []string
		for _, s := range t.Settings {
			if s.Value != s.Default {
				given = append(given, fmt.Sprintf("--%s %v", s.Name, s.Value))
			}
		}
		return nil, ui.Usagef(cmd, "%s: %v", strings.Join(given, " "), t.Wrong)
	}
	return made, nil
}

// named returns the method that --method names.
func (o *Method) named() method.Method {
	i := slices.IndexFunc(o.list, func(m method.Method) bool { return m.Traits(1).Name == o.name })
	if i < 0 {
		panic(fmt.Sprintf("gdsvd: no method %q", o.name)) // --method accepts only names of the list
	}
	return o.list[i]
}

// Triplets is the flag -k: a number of triplets, or the share of the energy that the triplets must capture.
type Triplets struct{ Of *factor.Options }

func (t Triplets) String() string {
	if t.Of.Energy > 0 {
		return strconv.FormatFloat(t.Of.Energy, 'g', -1, 64)
	}
	return strconv.Itoa(t.Of.Rank)
}

func (Triplets) Type() string { return "K" }

func (t Triplets) Set(text string) error {
	if n, err := strconv.ParseInt(text, 0, 0); err == nil || errors.Is(err, strconv.ErrRange) {
		t.Of.Rank, t.Of.Energy = int(n), 0
		return err // ui.FlagError rewords it
	}
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	all := 1.0
	if percent {
		all = 100
	}
	switch share := x / all; {
	case err != nil:
		return errors.New("want a whole number of triplets, or the share of the energy to capture, such as 0.9 or 90%")
	case share > 0 && share < 1:
		t.Of.Rank, t.Of.Energy = 0, share
		return nil
	case x == 1:
		return errors.New("it may be one triplet, which is -k 1, or all of the energy, which takes every triplet whose value is not 0: give their number, or a share below 1, such as 0.9999")
	case share == 1:
		return errors.New("all of the energy takes every triplet whose value is not 0: give their number, or a share below 100%, such as 99.99%")
	}
	return fmt.Errorf("it is neither a whole number of triplets nor a share of the energy, which is between 0 and %v", all)
}

// CheckTriplets checks -k and --max-k; most is the value of --max-k.
func CheckTriplets(cmd *cobra.Command, o *factor.Options, most int) error {
	bounded := cmd.Flags().Changed("max-k")
	switch {
	case !cmd.Flags().Changed("rank"):
		return ui.Usagef(cmd, "the number of triplets is missing: give it with -k, or the share of the energy to capture, such as -k 0.9")
	case o.Energy == 0 && o.Rank < 1:
		return ui.Usagef(cmd, "-k %d: at least 1 triplet is wanted", o.Rank)
	case bounded && most < 1:
		return ui.Usagef(cmd, "--max-k %d: at least 1 triplet is wanted", most)
	case bounded && o.Energy == 0:
		return ui.Usagef(cmd, "--max-k %d is for a share of the energy, such as -k 0.9; -k %d is the number of triplets", most, o.Rank)
	case o.Energy > 0:
		o.Rank = most
	}
	return nil
}

// Sift adds the flags that filter a matrix and hold out entries.
func Sift(f *pflag.FlagSet, o *ingest.Options) {
	f.Int64Var(&o.Filter.MinPerRow, "min-per-row", 0, "remove rows with fewer than `N` entries, repeatedly, until all remaining rows and columns have enough")
	f.Int64Var(&o.Filter.MinPerCol, "min-per-col", 0, "remove columns with fewer than `N` entries, likewise")
	f.Var(ui.Parsed(&o.Filter.MinValue, "X", parseNumber, writeNumber), "min-value", "leave out entries below `X`, after duplicates are combined")
	moment := func(p *time.Time) pflag.Value { return ui.Parsed(p, "TIME", ingest.ParseTime, writeTime) }
	f.Var(moment(&o.Filter.Since), "since", "leave out lines before a `TIME`: a date, a datetime of ISO 8601, or seconds since 1970")
	f.Var(moment(&o.Filter.Until), "until", "leave out lines from a `TIME` on")
	seed := ui.Parsed(&o.Holdout.Seed, "S", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, func(n uint64) string { return strconv.FormatUint(n, 10) })
	holdout := ui.Parsed(&o.Holdout, "WHICH", func(s string) (ingest.Holdout, error) {
		h, err := ingest.ParseHoldout(s)
		h.Seed = o.Holdout.Seed
		return h, err
	}, ingest.Holdout.String)
	f.Var(holdout, "holdout", "write a second store, STORE.test, of entries held out: `WHICH` is random:0.2 (of all), last:1 (the newest of each row), time:0.1 (the newest of all) or after:2019-07-28")
	f.Var(seed, "holdout-seed", "seed `S` of a random hold-out")
}

func parseNumber(s string) (*float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	return &x, err
}

func writeNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
