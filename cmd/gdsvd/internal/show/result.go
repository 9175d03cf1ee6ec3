package show

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/percent"
)

// shown is the number of rows of a longer table that are printed.
const shown = 30

// Result prints the result of a run; dir is its directory.
func Result(out *Printer, r *factor.Result, dir string) {
	if r.Completion != nil {
		completion(out, r)
		return
	}
	out.AlignRight()
	kind := "residual"
	if !r.Certified {
		kind = "residual (estimated)"
	}
	values, file, of := r.Sigma, factor.SigmaFile, "the largest value"
	if r.Settings.Which != "" {
		values, file, of = r.Lambda, factor.LambdaFile, "the norm"
	}
	out.Printf("i\t%s\t%s\t\n", strings.TrimSuffix(file, ".npy"), kind)
	missing := 0
	for i := range min(len(values), len(r.Residual), shown) {
		if !r.Certified && r.Residual[i] >= 1 {
			missing++
			continue
		}
		out.Printf("%d\t%.10g\t%.1e\t\n", i+1, values[i], r.Residual[i])
	}
	if missing > 0 {
		out.Printf("%d values were not reached\n", missing)
	}
	if more := len(values) - shown; more > 0 {
		out.Printf("… and %d more in %s\n", more, filepath.Join(dir, file))
	}
	out.Printf("\n%s: %d of %d %s within %.3g of %s", r.Status, r.Converged, r.K, things(r.Settings.Which), r.Settings.Tol, of)
	switch {
	case r.Certified && r.View != nil:
		out.Printf(", measured on the view of the matrix")
	case r.Certified:
		out.Printf(", measured on the original matrix")
	}
	if v := r.View; v != nil {
		out.Printf("\nview: %s; norm %.10g", v.Pipeline, v.Norm)
	}
	out.Printf("\n%d × %d, %d entries; method %s, %d passes, %.2f s (%.2f s multiplying), peak memory %s\n",
		r.Rows, r.Cols, r.NNZ, r.Method, r.Passes, r.Seconds.Total, r.Seconds.Multiply, memory.FormatSize(r.PeakRSS))
	if c := r.Choice; c != nil {
		out.Printf("chosen: %s\n(%s)\n", strings.Join(c.Flags, " "), c.Reason)
	}
	if r.Certified {
		out.Printf("energy captured %s%s\n%s", captured(r), ofView(r.View), onTarget(r))
	}
	if r.Certified && r.Rank < r.K && r.Settings.Which != "" {
		out.Printf("numerical rank %d: %s within rounding of 0\n", r.Rank, Plural(r.K-r.Rank, "eigenvalue"))
	} else if r.Certified && r.Rank < r.K {
		out.Printf("numerical rank %d: the last %d values are zero, their vectors a completion\n", r.Rank, r.K-r.Rank)
	}
	if said := r.Missing(); said != "" {
		out.Printf("%s\n", said)
	}
	for _, c := range r.Clusters {
		out.Printf("values %d to %d are closer than their residuals: read their vectors as one subspace\n", c[0]+1, c[1])
	}
	out.Printf("written to %s\n", dir)
}

// captured returns the captured share of the energy. Rounding never makes it look like the requested share, or all, if it is less.
func captured(r *factor.Result) string {
	energy, other := float64(r.Energy), float64(r.Energy)
	switch t := r.Target; {
	case t != nil && !t.Reached:
		other = t.Share
	case t != nil:
		other = 1
	}
	return percent.Text(energy, other, 'f', 2)
}

// onTarget says whether the triplets are the fewest that capture the requested share.
func onTarget(r *factor.Result) string {
	t := r.Target
	if t == nil {
		return ""
	}
	asked := percent.Text(t.Share, 1, 'g', 6) + " was asked for"
	switch {
	case !t.Reached:
		return fmt.Sprintf("%s, which takes more than these %s\n", asked, Plural(r.K, "triplet"))
	case t.Smallest:
		return fmt.Sprintf("%s; with one triplet fewer it is %.6g %%\n", asked, 100*t.Before)
	}
	return fmt.Sprintf("%s; with one triplet fewer it is %.10g %%, which residuals and the bound of what may be missing do not tell from it\n", asked, 100*t.Before)
}

func things(which string) string {
	if which != "" {
		return "eigenpairs"
	}
	return "triplets"
}

// ofView says which matrix the energy refers to, unless it is the stored matrix.
func ofView(v *factor.View) string {
	switch {
	case v == nil:
		return ""
	case v.Variance != nil:
		return fmt.Sprintf(" of the view: the share that is explained of the variance of %d observations", v.Observations)
	}
	return " of the view"
}

// Measured prints the first residuals, and all that miss their tolerance.
func Measured(out *Printer, m *check.Measurement) {
	out.AlignRight()
	name, values := "sigma", m.Sigma
	if m.Lambda != nil {
		name, values = "lambda", m.Lambda
	}
	head, said := "i\t"+name+"\tresidual\t\n", func(int) string { return "" }
	if m.Stated != nil {
		head = "i\t" + name + "\tresidual\tstated\t\n"
		said = func(i int) string { return fmt.Sprintf("%.1e\t", m.Stated.Residual[i]) }
	}
	out.Printf("%s", head)
	hidden := 0
	for i := range values {
		if i >= shown && !slices.Contains(m.Misses, i) {
			hidden++
			continue
		}
		out.Printf("%d\t%.10g\t%.1e\t%s\n", i+1, values[i], m.Residual[i], said(i))
	}
	if hidden > 0 {
		out.Printf("… and %d more (--json prints all)\n", hidden)
	}
	for _, side := range []struct {
		name string
		x    factor.Number
	}{{"UᵀU", m.Orthogonality.U}, {"VᵀV", m.Orthogonality.V}} {
		if !math.IsNaN(float64(side.x)) {
			out.Printf("max|%s−I| = %.1e\n", side.name, side.x)
		}
	}
	note := ""
	if m.View != "" {
		note = "; view: " + m.View
	}
	if m.Implied != "" {
		note += fmt.Sprintf("; %s is not there and is taken as what the other vectors imply", m.Implied)
	}
	out.Printf("measured on %s, %d × %d, %d entries, in %s (%.2f s)%s\n", m.Store, m.Rows, m.Cols, m.NNZ, Plural(m.Passes, "read"), m.Time, note)
}

func completion(out *Printer, r *factor.Result) {
	c, heldOut := r.Completion, ""
	if c.Chosen {
		heldOut = fmt.Sprintf(", %.4f on the %.3g %% that were held out to choose λ", c.HeldOut, 100*c.Holdout)
	}
	out.Printf(`%d × %d, %d entries; rank %d, λ %.4g, %d rounds, %.2f s
rmse %.4f on the entries%s
σ₁ %.6g … σ_%d %.6g; UᵀU − I %.1e, VᵀV − I %.1e
objective %.6g, no matrix of any rank has less than %.6g (gap %.2g); stationary within %.2g
written to %s
`, r.Rows, r.Cols, r.NNZ, r.K, c.Lambda, c.Rounds, r.Seconds.Total, c.RMSE, heldOut, r.Sigma[0], r.K, r.Sigma[r.K-1],
		r.Orthogonality.U, r.Orthogonality.V, c.Objective, -(-c.Bound).Ceil(6), c.Gap, c.Stationarity, r.Dir())
}
