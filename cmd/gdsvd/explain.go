package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream"
)

// shownOptions is how many rows of the table are printed.
const shownOptions = 8

func (a *app) printExplanation(e *factor.Explanation) error {
	out := &errWriter{w: a.stdout}
	out.printf("%d × %d, %d entries: %s to %.3g\n\n", e.Rows, e.Cols, e.NNZ, wanted(e), e.Tol)
	out.printf("%s\n", strings.Join(e.Plan.Flags, " "))
	if e.Choice != nil {
		out.printf("(%s)\n", e.Choice.Reason)
	}
	out.printf("\n")
	if err := a.printView(e.View); err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if one := e.Least; one != nil {
		fmt.Fprintf(w, "at least\tabout %d passes, %d columns multiplied, %s: if one triplet is enough\n", one.Passes, one.Products, clock(one.Total))
		fmt.Fprintf(w, "at most\twhat follows, for %d triplets; how many it takes is not known before\n", e.K)
	}
	fmt.Fprintf(w, "passes\tabout %d, %d columns multiplied\n", e.Plan.Passes, e.Plan.Products)
	fmt.Fprintf(w, "reads\t%s in the first pass, %s in each of the others\n", memory.FormatSize(e.FirstBytes), memory.FormatSize(e.Plan.PassBytes))
	fmt.Fprintf(w, "time\tabout %s with %s: %s multiplying, %s between passes, %s reading\n", clock(e.Plan.Total), plural(e.Workers, "thread"),
		clock(e.Plan.Multiply), clock(e.Plan.Dense), clock(e.Plan.Read))
	fmt.Fprintf(w, "memory\t%s of %s: %s\n", memory.FormatSize(planned(e.Parts)), memory.FormatSize(e.Budget), describeMemory(e.Parts))
	if e.Files > 0 {
		fmt.Fprintf(w, "vectors\t%s in files beside OUT, %s of them in memory at a time; a pass reads the store %s, the last one %s\n",
			memory.FormatSize(e.Files), memory.FormatSize(e.Window), times(e.Reads), times(e.LastReads))
		fmt.Fprintf(w, "moved\tabout %s of vectors read and %s written\n", memory.FormatSize(e.Plan.VectorsRead), memory.FormatSize(e.Plan.VectorsWrote))
		fmt.Fprintf(w, "checkpoint\tup to %s more on the disk, none in memory\n", memory.FormatSize(e.Files))
	}
	if m := e.Measured; m != nil {
		fmt.Fprintf(w, "measured\t%.2g ns an entry to decode; %v ns to multiply with %v columns", m.Decode, rounded(m.Multiply), m.Widths)
		if m.Bandwidth > 0 {
			fmt.Fprintf(w, "; reading %s/s", memory.FormatSize(int64(m.Bandwidth)))
		}
		fmt.Fprintf(w, " (in %s)\n", clock(m.Seconds))
	}
	if err := errors.Join(out.err, w.Flush()); err != nil || len(e.Considered) == 0 {
		return err
	}
	return a.printConsidered(e)
}

// wanted says what triplets a run is for.
func wanted(e *factor.Explanation) string {
	if e.Energy == 0 {
		return fmt.Sprintf("%d %s", e.K, things(e.Which))
	}
	return fmt.Sprintf("as few triplets as capture %s of the energy, %d at most,", factor.Percent(e.Energy, 1, 'g', 6), e.K)
}

// printView prints what the steps of a view do.
func (a *app) printView(v *factor.ViewPlan) error {
	if v == nil {
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "step of the view\treads\tvalues of entries\tentries\tnot 0\n")
	for _, s := range v.Steps {
		values := "not known"
		if !math.IsInf(float64(s.Low), 0) || !math.IsInf(float64(s.High), 0) {
			values = fmt.Sprintf("%.4g … %.4g", float64(s.Low), float64(s.High))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", s.Step, s.Reads, values, s.Entries, s.Pattern)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s of the store for statistics and the norm of the view, before the passes\n\n", plural(v.Reads, "read"))
	return err
}

// printConsidered prints the leading options, and the choice if it is not among them.
func (a *app) printConsidered(e *factor.Explanation) error {
	fmt.Fprintln(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tconsidered\tpasses\tcolumns\tbytes a pass\tvectors\tmultiplying\tbetween\treading\ttotal\n")
	for i, c := range e.Considered {
		chosen := slices.Equal(c.Flags, e.Plan.Flags)
		if i >= shownOptions && !chosen {
			continue
		}
		mark, total := "", clock(c.Total)
		if chosen {
			mark = "*"
		}
		if !c.Fits {
			total = "does not fit"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, strings.Join(c.Flags[1:], " "), c.Passes, c.Products,
			memory.FormatSize(c.PassBytes), memory.FormatSize(c.Memory), clock(c.Multiply), clock(c.Dense), clock(c.Read), total)
	}
	return w.Flush()
}

// rounded writes numbers to two digits.
func rounded(x []float64) (text []string) {
	for _, v := range x {
		text = append(text, fmt.Sprintf("%.2g", v))
	}
	return text
}

// times writes how often.
func times(n int) string {
	if n <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// clock writes seconds as a person would.
func clock(s float64) string {
	switch {
	case s < 9.995:
		return fmt.Sprintf("%.2g s", s)
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// planned is the sum of the parts.
func planned(parts []stream.Part) (total int64) {
	for _, p := range parts {
		total += p.Bytes
	}
	return total
}

// describeMemory lists the parts, those of the heap together.
func describeMemory(parts []stream.Part) string {
	var inside, outside []string
	var heap int64
	for _, p := range parts {
		text := fmt.Sprintf("%s %s", p.Name, memory.FormatSize(p.Bytes))
		if p.Heap {
			heap += p.Bytes
			inside = append(inside, text)
		} else {
			outside = append(outside, text)
		}
	}
	return fmt.Sprintf("%s; heap %s (%s)", strings.Join(outside, ", "), memory.FormatSize(heap), strings.Join(inside, ", "))
}
