package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
)

// methodFlags are --method and the parameters of the methods. One that is 0 is
// found by the method.
type methodFlags struct {
	method             methodName
	eta, beta, mu, rho float64
	block, oversample  int
	basis              int
	operator           solver.Form
}

// methodName is the name of one of methods.
type methodName string

func (m methodName) String() string { return string(m) }

const (
	autoMethod methodName = "auto" // chooses one of the others
	defaultEta            = 0.5
)

// methods are the algorithms, in the order in which help lists them, with the
// parameters that each takes.
var methods = []struct {
	name  methodName
	takes []string
	build func(f *methodFlags) solver.Method
}{
	{"gd", []string{"eta"}, func(f *methodFlags) solver.Method {
		return solver.GradientDescent{Eta: f.eta}
	}},
	{"polyak", []string{"eta", "beta"}, func(f *methodFlags) solver.Method {
		return solver.Polyak{Eta: f.eta, Beta: f.beta}
	}},
	{"nesterov", []string{"eta", "beta"}, func(f *methodFlags) solver.Method {
		return solver.Nesterov{Eta: f.eta, Beta: f.beta}
	}},
	{"nesterov-general", []string{"mu", "rho"}, func(f *methodFlags) solver.Method {
		return solver.NesterovGeneral{Mu: f.mu, Rho: f.rho} // its step size belongs to the theorem
	}},
	{"block", []string{"block", "oversample"}, func(f *methodFlags) solver.Method {
		return solver.Block{Columns: f.block, Oversample: f.oversample}
	}},
	{"krylov", []string{"block", "basis"}, func(f *methodFlags) solver.Method {
		return solver.Krylov{Columns: f.block, Basis: f.basis}
	}},
	{"power", nil, func(*methodFlags) solver.Method {
		return solver.Power{}
	}},
}

// parameters are the numeric flags of which every method takes some.
var parameters = []parameter{
	{"eta", quantity(func(f *methodFlags) *float64 { return &f.eta }), defaultEta, 0, 1, "step size"},
	{"beta", quantity(func(f *methodFlags) *float64 { return &f.beta }), 0, 0, 1, "momentum"},
	{"mu", quantity(func(f *methodFlags) *float64 { return &f.mu }), 0, 0, 0.25, "strong convexity relative to the leading eigenvalue"},
	{"rho", quantity(func(f *methodFlags) *float64 { return &f.rho }), 0, 1, math.Inf(1), "condition number of the accelerated scheme"},
	{"block", count(func(f *methodFlags) *int { return &f.block }), 0, 0, 1e6, "number of columns of a pass"},
	{"oversample", count(func(f *methodFlags) *int { return &f.oversample }), 0, 0, 1e6, "number of columns beyond K"},
	{"basis", count(func(f *methodFlags) *int { return &f.basis }), 0, 0, 1e6, "largest number of columns of the basis"},
}

type parameter struct {
	name      string
	kind      kind
	preset    float64 // 0: found automatically
	low, high float64 // values lie between them
	help      string
}

// kind is how a parameter is kept: as a real number or as a count.
type kind struct {
	add   func(f *pflag.FlagSet, o *methodFlags, p parameter, help string)
	value func(o *methodFlags) float64
}

func quantity(at func(*methodFlags) *float64) kind {
	return kind{
		func(f *pflag.FlagSet, o *methodFlags, p parameter, help string) {
			f.Float64Var(at(o), p.name, p.preset, help)
		},
		func(o *methodFlags) float64 { return *at(o) },
	}
}

func count(at func(*methodFlags) *int) kind {
	return kind{
		func(f *pflag.FlagSet, o *methodFlags, p parameter, help string) {
			f.IntVar(at(o), p.name, int(p.preset), help)
		},
		func(o *methodFlags) float64 { return float64(*at(o)) },
	}
}

// addMethodFlags adds --method and the parameters.
func addMethodFlags(cmd *cobra.Command, f *pflag.FlagSet, o *methodFlags) {
	names := []choice[methodName]{{autoMethod.String(), autoMethod}}
	for _, m := range methods {
		names = append(names, choice[methodName]{m.name.String(), m.name})
	}
	choiceFlag(cmd, f, &o.method, "method", "", autoMethod, names, "algorithm")
	choiceFlag(cmd, f, &o.operator, "operator", "", solver.Gram, named(solver.Gram, solver.Dilation, solver.Symmetric),
		"what the method multiplies by: AᵀA, [0 A; Aᵀ 0], or A itself if it is symmetric and semidefinite")
	for _, p := range parameters {
		help := p.help + " of " + takers(p.name)
		if p.preset == 0 {
			help += " (0: found automatically)"
		}
		p.kind.add(f, o, p, help)
	}
}

// order is the length of the vectors the method works with on a store.
func (o *methodFlags) order(store *csr.Store) int64 {
	if o.operator == solver.Dilation {
		return store.Rows() + store.Cols()
	}
	return store.Cols()
}

// takers lists the methods that take a parameter.
func takers(parameter string) string {
	var names []string
	for _, m := range methods {
		if slices.Contains(m.takes, parameter) {
			names = append(names, m.name.String())
		}
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// check finds parameters that are out of range or belong to another method.
// Those that a config file gives to another method wait for it.
func (o *methodFlags) check(cmd *cobra.Command, fromConfig map[string]bool) error {
	for _, p := range parameters {
		v := p.kind.value(o)
		switch {
		case v == p.preset:
		case !(v > p.low && v < p.high):
			return usagef(cmd, "--%s %v: the %s lies between %v and %v, both excluded", p.name, v, p.help, p.low, p.high)
		case o.method == autoMethod && !fromConfig[p.name]:
			return usagef(cmd, "--%s is the %s of %s; --method auto finds what it needs: name the method", p.name, p.help, takers(p.name))
		case !slices.Contains(o.takes(), p.name) && !fromConfig[p.name]:
			return usagef(cmd, "--%s is the %s of %s; --method %s has none", p.name, p.help, takers(p.name), o.method)
		}
	}
	if o.method == autoMethod {
		return nil
	}
	if o.operator == solver.Dilation && !solver.CanDilate(o.solverMethod()) {
		return usagef(cmd, "--operator dilation has negative eigenvalues, which --method %s cannot work with; take one that finds one vector at a time", o.method)
	}
	if o.method == "nesterov" && (2*o.eta-1)*(1+2*o.beta) >= 1 {
		return usagef(cmd, "--eta %v --beta %v: too large together for nesterov, which needs (2η−1)(1+2β) < 1", o.eta, o.beta)
	}
	return nil
}

func (o *methodFlags) takes() []string {
	for _, m := range methods {
		if m.name == o.method {
			return m.takes
		}
	}
	return nil
}

// adopt makes the flags those of a method.
func (o *methodFlags) adopt(m solver.Method) {
	*o = methodFlags{method: methodName(m.Name()), eta: defaultEta, operator: o.operator}
	switch m := m.(type) {
	case solver.GradientDescent:
		o.eta = cmp.Or(m.Eta, defaultEta)
	case solver.Polyak:
		o.eta, o.beta = cmp.Or(m.Eta, defaultEta), m.Beta
	case solver.Nesterov:
		o.eta, o.beta = cmp.Or(m.Eta, defaultEta), m.Beta
	case solver.NesterovGeneral:
		o.mu, o.rho = m.Mu, m.Rho
	case solver.Block:
		o.block, o.oversample = m.Columns, m.Oversample
	case solver.Krylov:
		o.block, o.basis = m.Columns, m.Basis
	}
}

// inRange tells whether all parameters are what the flags allow.
func (o *methodFlags) inRange() bool {
	return !slices.ContainsFunc(parameters, func(p parameter) bool {
		v := p.kind.value(o)
		return v != p.preset && !(v > p.low && v < p.high)
	})
}

// flags are --method and the parameters as a command line has them.
func (o *methodFlags) flags() []string {
	all := []string{"--method", o.method.String()}
	for _, p := range parameters {
		if v := p.kind.value(o); v != p.preset && slices.Contains(o.takes(), p.name) {
			all = append(all, "--"+p.name, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return all
}

// solverMethod is the algorithm that the flags describe.
func (o *methodFlags) solverMethod() solver.Method {
	for _, m := range methods {
		if m.name == o.method {
			return m.build(o)
		}
	}
	panic("gdsvd: a method without a row") // --method takes the names of the rows only
}

// parameter is the value of a parameter for result.json: nil if the method
// has no such thing or finds it itself.
func (o *methodFlags) parameter(name string) *float64 {
	for _, p := range parameters {
		if v := p.kind.value(o); p.name == name && v != 0 && slices.Contains(o.takes(), name) {
			return &v
		}
	}
	return nil
}
