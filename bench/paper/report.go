package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
)

//go:embed report.md.tmpl
var reportTemplate string

// report writes all outputs that follow from the existing records.
func (l *lab) report(tasks []task) error {
	var records []*Record
	missing := map[string]int{}
	for _, t := range tasks {
		if r := l.records[t.Key]; r != nil {
			records = append(records, r)
		} else {
			missing[t.Experiment]++
		}
	}
	s := l.summarise(records, missing)
	names, err := l.figures(records)
	s.Figures = names
	return errors.Join(err, l.write("records.json", records), l.write("paper.json", s), l.writeReport(s))
}

// Summary is paper.json: the contents of the report, for programs.
type Summary struct {
	Scale   string `json:"scale"`
	Seed    uint64 `json:"seed"`
	Commit  string `json:"commit"`
	Machine string `json:"machine"`
	Go      string `json:"go"`
	Note    string `json:"note,omitempty"`

	// Slopes of iterations over the gap, in logarithms: with the residual rule and automatic momentum; with the best momentum;
	// with the paper's rule.
	GapSlopes      map[string]float64 `json:"gap_slopes"`
	GapSlopesBest  map[string]float64 `json:"gap_slopes_best_beta"`
	GapSlopesPaper map[string]float64 `json:"gap_slopes_paper_rule"`

	Table    []Line `json:"table"`
	Real     []Line `json:"real"`
	RealAll  []Line `json:"real_all"` // over all datasets, as in the paper
	Size     []Line `json:"size"`
	Gap      []Line `json:"gap"`
	Momentum []Line `json:"momentum"`
	Passes   []Line `json:"passes"`

	Rejected int            `json:"rejected_draws"` // in draws of linear decay
	Missing  map[string]int `json:"missing_cases"`  // by experiment
	NoData   []string       `json:"datasets_not_found"`
	Figures  []string       `json:"figures"`
}

// Line holds the results of one method in one group of cases.
type Line struct {
	Group      string  `json:"group"`
	Method     string  `json:"method"`
	Cases      int     `json:"cases"`
	Passes     spread  `json:"passes"`
	Products   spread  `json:"products"`
	Seconds    spread  `json:"seconds"`
	ErrSigma   spread  `json:"err_sigma"`
	ErrVectors spread  `json:"err_vectors"`
	Wrong      int     `json:"wrong"`              // cases with ε_{U,V} above 10⁻³
	Residual   float64 `json:"residual,omitempty"` // largest certified residual
	Bytes      int64   `json:"bytes,omitempty"`
}

func line(group, method string, records []*Record) Line {
	l := Line{Group: group, Method: method, Cases: len(records)}
	l.Passes, l.Seconds = spreadOf(records, passes), spreadOf(records, seconds)
	l.Products = spreadOf(records, func(r *Record) float64 { return float64(r.Products) })
	l.ErrSigma = spreadOf(records, func(r *Record) float64 { return r.ErrSigma })
	l.ErrVectors = spreadOf(records, func(r *Record) float64 { return r.ErrVectors })
	for _, r := range records {
		l.Residual, l.Bytes = max(l.Residual, r.Residual), r.Bytes
		if r.ErrVectors > 1e-3 {
			l.Wrong++
		}
	}
	return l
}

// lines groups the records of an experiment, in the order of the first record of each group and method.
func lines(records []*Record, experiment string, group func(*Record) string) []Line {
	type key struct{ group, method string }
	var order []key
	of := map[key][]*Record{}
	for _, r := range records {
		if r.Experiment != experiment {
			continue
		}
		k := key{group(r), r.Method}
		if of[k] == nil {
			order = append(order, k)
		}
		of[k] = append(of[k], r)
	}
	all := make([]Line, 0, len(order))
	for _, k := range order {
		all = append(all, line(k.group, k.method, of[k]))
	}
	return all
}

func byMatrix(r *Record) string  { return r.Matrix }
func byGapName(r *Record) string { return fmt.Sprintf("%.3g", r.Gap) }

func (l *lab) summarise(records []*Record, missing map[string]int) *Summary {
	s := &Summary{
		Scale: l.Scale, Seed: l.Seed, Commit: l.Commit, Machine: l.Machine, Note: l.Note,
		Go: fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH), Missing: missing,
		GapSlopes: map[string]float64{}, GapSlopesBest: map[string]float64{}, GapSlopesPaper: map[string]float64{},
		Table:    lines(records, "table", byMatrix),
		Real:     lines(records, "real", byMatrix),
		Size:     lines(records, "size", func(r *Record) string { return fmt.Sprintf("%s, n = %d", r.Matrix, r.Rows) }),
		RealAll:  lines(records, "real", func(*Record) string { return "real" }),
		Gap:      lines(records, "gap", byGapName),
		Momentum: lines(records, "momentum", byGapName),
		Passes:   lines(records, "passes", byMatrix),
	}
	for _, r := range in(records, "table", "linear", "gd") {
		s.Rejected += r.Rejected
	}
	for _, family := range gapFamilies {
		for _, m := range family.methods {
			slope := gapSlope(in(records, family.name, "", m.name))
			name, best := strings.CutSuffix(m.name, ", best β")
			switch {
			case math.IsNaN(slope):
			case family.name == "gap":
				s.GapSlopesPaper[name] = slope
			case best:
				s.GapSlopesBest[name] = slope
			default:
				s.GapSlopes[name] = slope
			}
		}
	}
	_, table := l.available(inTable)
	_, passes := l.available(inPasses)
	s.NoData = append(table, passes...)
	slices.Sort(s.NoData)
	s.NoData = slices.Compact(s.NoData)
	return s
}

func (l *lab) writeReport(s *Summary) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"sci": scientific, "meanstd": meanStd, "find": findLine, "groups": groupsOf,
		"count": func(s spread) string { return fmt.Sprintf("%.0f", s.Mean) },
		"methods": func(all []Line, group string) []Line {
			return slices.DeleteFunc(slices.Clone(all), func(l Line) bool { return l.Group != group })
		},
		"has": func(name string) bool { return slices.Contains(s.Figures, name) },
		"slope": func(m map[string]float64, name string) string {
			if v, ok := m[name]; ok {
				return fmt.Sprintf("%.2f", v)
			}
			return "–"
		},
		"ratio": ratioOf, "worst": worstOf,
		"paper": func(group, method string) [3]string { return paperTable[group][method] },
		"bytes": func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) },
	}).Parse(reportTemplate)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "report.md"), []byte(b.String()), 0o666)
}

func groupsOf(all []Line) []string {
	var names []string
	for _, l := range all {
		if !slices.Contains(names, l.Group) {
			names = append(names, l.Group)
		}
	}
	return names
}

// findLine returns the line of a group and a method, nil if there is none.
func findLine(all []Line, group, method string) *Line {
	for i := range all {
		if all[i].Group == group && all[i].Method == method {
			return &all[i]
		}
	}
	return nil
}

// ratioOf returns the ratio of a quantity of methods a and b, summed over all groups in which both have been run.
func ratioOf(all []Line, quantity, a, b string) string {
	mean := func(l *Line) float64 { return l.Passes.Mean }
	if quantity == "seconds" {
		mean = func(l *Line) float64 { return l.Seconds.Mean }
	}
	var sumA, sumB float64
	for _, g := range groupsOf(all) {
		if x, y := findLine(all, g, a), findLine(all, g, b); x != nil && y != nil {
			sumA, sumB = sumA+mean(x), sumB+mean(y)
		}
	}
	if sumB == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", sumA/sumB)
}

func worstOf(all []Line, method string, groups ...string) string {
	worst := 0.0
	for _, l := range all {
		if l.Method == method && slices.Contains(groups, l.Group) {
			worst = max(worst, l.ErrVectors.Max)
		}
	}
	return scientific(worst)
}

// scientific formats a number like 1.9e-13, 0.25, or 12.
func scientific(x float64) string {
	switch a := math.Abs(x); {
	case x == 0:
		return "0"
	case a < 1e-3 || a >= 1e6:
		return strings.Replace(strings.Replace(fmt.Sprintf("%.1e", x), "e-0", "e-", 1), "e+0", "e", 1)
	default:
		return fmt.Sprintf("%.3g", x)
	}
}

func meanStd(s spread) string {
	if s.Min == s.Max {
		return scientific(s.Mean)
	}
	return scientific(s.Mean) + " (" + scientific(s.Std) + ")"
}

// paperTable holds the numbers of the table of the paper: mean (std) of run time, ε_Σ, and ε_{U,V}, for GDSVD and for the
// power method.
var paperTable = map[string]map[string][3]string{
	"exponential": {
		"gd":    {"1.884 (4.626)", "1.9e-13 (5.4e-13)", "2.8e-6 (9.0e-6)"},
		"power": {"3.598 (6.185)", "1.7e-16 (1.6e-16)", "3.4e-6 (9.2e-6)"},
	},
	"polynomial": {
		"gd":    {"5.400 (13.42)", "2.9e-16 (1.1e-16)", "6.1e-8 (9.4e-9)"},
		"power": {"6.433 (12.61)", "2.3e-16 (7.3e-17)", "1.9e-8 (4.5e-9)"},
	},
	"linear": {
		"gd":    {"10.23 (23.38)", "1.4e-14 (2.0e-14)", "6.2e-8 (1.1e-0.8, so printed)"},
		"power": {"10.56 (21.01)", "4.5e-15 (5.1e-15)", "2.5e-8 (5.6e-9)"},
	},
	"real": {
		"gd":    {"227.2 (509.6)", "1.8e-5 (3.1e-5)", "2.1e-7 (5.3e-8)"},
		"power": {"227.2 (509.6)", "1.8e-5 (3.1e-5)", "1.0e-7 (4.0e-8)"},
	},
}
