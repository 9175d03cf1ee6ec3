package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// printedTriplets is how many rows of a longer table are printed.
const printedTriplets = 30

// printResult prints what a run has found, dir being where it lies.
func (a *app) printResult(r *factor.Result, dir string) error {
	if a.json {
		return a.printJSON(r)
	}
	if r.Completion != nil {
		return a.printCompletion(r)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	kind := "residual"
	if !r.Certified {
		kind = "residual (estimated)"
	}
	values, file, of := r.Sigma, factor.SigmaFile, "the largest value"
	if r.Settings.Which != "" {
		values, file, of = r.Lambda, factor.LambdaFile, "the norm"
	}
	fmt.Fprintf(w, "i\t%s\t%s\t\n", strings.TrimSuffix(file, ".npy"), kind)
	missing := 0
	for i := range min(len(values), len(r.Residual), printedTriplets) {
		if !r.Certified && r.Residual[i] >= 1 {
			missing++
			continue
		}
		fmt.Fprintf(w, "%d\t%.10g\t%.1e\t\n", i+1, values[i], r.Residual[i])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out := &errWriter{w: a.stdout}
	if missing > 0 {
		out.printf("%d values were not reached\n", missing)
	}
	if more := len(values) - printedTriplets; more > 0 {
		out.printf("… and %d more in %s\n", more, filepath.Join(dir, file))
	}
	out.printf("\n%s: %d of %d %s within %.3g of %s", r.Status, r.Converged, r.K, things(r.Settings.Which), r.Settings.Tol, of)
	if r.Certified {
		out.printf(", measured on %s", measuredOn(r.View != nil))
	}
	if v := r.View; v != nil {
		out.printf("\nview: %s; norm %.10g", v.Pipeline, v.Norm)
	}
	out.printf("\n%d × %d, %d entries; method %s, %d passes, %.2f s (%.2f s multiplying), peak memory %s\n",
		r.Rows, r.Cols, r.NNZ, r.Method, r.Passes, r.Seconds.Total, r.Seconds.Multiply, memory.FormatSize(r.PeakRSS))
	if c := r.Choice; c != nil {
		out.printf("chosen: %s\n(%s)\n", strings.Join(c.Flags, " "), c.Reason)
	}
	if r.Certified {
		out.printf("energy captured %s%s\n%s", captured(r), ofView(r.View), onTarget(r))
	}
	if r.Certified && r.Rank < r.K {
		out.printf("numerical rank %d: the last %d values are zero, their vectors a completion\n", r.Rank, r.K-r.Rank)
	}
	out.printf("%s", lacking(r))
	for _, c := range r.Clusters {
		out.printf("values %d to %d are closer than their residuals: read their vectors as one subspace\n", c[0]+1, c[1])
	}
	out.printf("written to %s\n", dir)
	return out.err
}

// captured is the share of the energy, which does not read as if it were the one asked for, or all, if it is less.
func captured(r *factor.Result) string {
	energy, other := float64(r.Energy), float64(r.Energy)
	switch t := r.Target; {
	case t != nil && !t.Reached:
		other = t.Share
	case t != nil:
		other = 1
	}
	return factor.Percent(energy, other, 'f', 2)
}

// onTarget says whether the triplets are the fewest that capture what was asked for.
func onTarget(r *factor.Result) string {
	t := r.Target
	if t == nil {
		return ""
	}
	asked := factor.Percent(t.Share, 1, 'g', 6) + " was asked for"
	switch {
	case !t.Reached:
		return fmt.Sprintf("%s, which takes more than these %s\n", asked, plural(r.K, "triplet"))
	case t.Smallest:
		return fmt.Sprintf("%s; with one triplet fewer it is %.6g %%\n", asked, 100*t.Before)
	}
	return fmt.Sprintf("%s; with one triplet fewer it is %.10g %%, which the residuals do not tell from it\n", asked, 100*t.Before)
}

// things are what a result has.
func things(which string) string {
	if which != "" {
		return "eigenpairs"
	}
	return "triplets"
}

// measuredOn names the matrix that residuals are of.
func measuredOn(view bool) string {
	if view {
		return "the view of the matrix"
	}
	return "the original matrix"
}

// ofView says what the energy is of, if not of the stored matrix.
func ofView(v *factor.View) string {
	switch {
	case v == nil:
		return ""
	case v.Variance != nil:
		return fmt.Sprintf(" of the view: the share that is explained of the variance of %d observations", v.Observations)
	}
	return " of the view"
}

// lacking says what singular values a certified result can lack.
func lacking(r *factor.Result) string {
	if !r.Certified {
		return ""
	}
	values, beyond := r.Sigma, "value is above %.5g"
	if r.Settings.Which != "" {
		values = r.Lambda
		beyond = map[string]string{"LM": "eigenvalue is above %.5g in magnitude", "LA": "eigenvalue is above %.5g", "SA": "eigenvalue is below %.5g"}[r.Settings.Which]
	}
	text := fmt.Sprintf("no other "+beyond, r.Outside.Bound)
	if p := r.Outside.Probability; p > 0 {
		text += fmt.Sprintf(", with a probability of error of %.0e", p)
	}
	least := values[len(values)-1]
	if r.Settings.Which == "LM" {
		least = max(least, -least)
	}
	beyondIt := r.Outside.Bound > least
	if r.Settings.Which == "SA" {
		beyondIt = r.Outside.Bound < least
	}
	if !r.Outside.Leading && beyondIt {
		text += fmt.Sprintf(": between that and %.5g one may be missing", least)
	}
	return text + "\n"
}

// printMeasured prints the residuals, those that miss what they should be in any case.
func (a *app) printMeasured(m *check.Measurement) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	name, values := "sigma", m.Sigma
	if m.Lambda != nil {
		name, values = "lambda", m.Lambda
	}
	head, said := "i\t"+name+"\tresidual\t\n", func(int) string { return "" }
	if m.Stated != nil {
		head = "i\t" + name + "\tresidual\tstated\t\n"
		said = func(i int) string { return fmt.Sprintf("%.1e\t", m.Stated.Residual[i]) }
	}
	fmt.Fprint(w, head)
	missed := map[int]bool{}
	for _, i := range m.Misses {
		missed[i] = true
	}
	hidden := 0
	for i := range values {
		if i >= printedTriplets && !missed[i] {
			hidden++
			continue
		}
		fmt.Fprintf(w, "%d\t%.10g\t%.1e\t%s\n", i+1, values[i], m.Residual[i], said(i))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out := &errWriter{w: a.stdout}
	if hidden > 0 {
		out.printf("… and %d more (--json prints all)\n", hidden)
	}
	for _, side := range []struct {
		name string
		x    factor.Number
	}{{"UᵀU", m.Orthogonality.U}, {"VᵀV", m.Orthogonality.V}} {
		if !math.IsNaN(float64(side.x)) {
			out.printf("max|%s−I| = %.1e\n", side.name, side.x)
		}
	}
	note := ""
	if m.View != "" {
		note = "; view: " + m.View
	}
	if m.Implied != "" {
		note += fmt.Sprintf("; %s is not there and is taken as what the other vectors imply", m.Implied)
	}
	out.printf("measured on %s, %d × %d, %d entries, in %s (%.2f s)%s\n", m.Store, m.Rows, m.Cols, m.NNZ, plural(m.Passes, "read"), m.Time, note)
	return out.err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ratio is a/b, and no number where b is 0.
func ratio(a, b float64) factor.Number {
	if b == 0 {
		return factor.Number(math.NaN())
	}
	return factor.Number(a / b)
}

// errWriter prints until the first error and keeps it.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) printf(format string, args ...any) {
	if e.err == nil {
		_, e.err = fmt.Fprintf(e.w, format, args...)
	}
}
