// Package flags has the flags of gdsvd that stand for more than one value, or say more than a number does when they are wrong:
// the method and its settings, the number of triplets or their energy, and what an ingest leaves out.
package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Method is --method and the settings of the methods. One that is 0 is
// found by the method.
type Method struct {
	list   []method.Method // there are, in the order in which help lists them
	name   methodName
	values map[string]*float64 // of all settings
}

type methodName string

func (m methodName) String() string { return string(m) }

const autoMethod methodName = "auto" // chooses one of the others

// settings are the flags of all methods: each once, as the first method has it.
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

// Add adds --method and the settings of the methods of a list.
func (o *Method) Add(cmd *cobra.Command, list []method.Method) {
	o.list = list
	f := cmd.Flags()
	names := ui.Named(autoMethod)
	for _, m := range o.list {
		names = append(names, ui.Named(methodName(m.Traits(1).Name))...)
	}
	ui.ChoiceFlag(cmd, f, &o.name, "method", autoMethod, names, "algorithm")
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

// takers lists the methods that have a setting.
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

// Check finds settings that are out of range or belong to another method, and returns the
// method, nil for auto.
// Those that the environment or a file sets for another method wait for it.
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

// named is the method of the list that --method names.
func (o *Method) named() method.Method {
	i := slices.IndexFunc(o.list, func(m method.Method) bool { return m.Traits(1).Name == o.name.String() })
	if i < 0 {
		panic(fmt.Sprintf("gdsvd: no method %q", o.name)) // --method takes the names of the list only
	}
	return o.list[i]
}
