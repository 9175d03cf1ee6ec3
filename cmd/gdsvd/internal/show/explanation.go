package show

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/percent"
	"github.com/gdsvd/gdsvd/stream"
)

// shownOptions is how many rows of the table are printed.
const shownOptions = 8

// Explanation prints how a run would go.
func Explanation(to io.Writer, e *factor.Explanation) error {
	out := &Printer{W: to}
	out.Printf("%d × %d, %d entries: %s to %.3g\n\n", e.Rows, e.Cols, e.NNZ, wanted(e), e.Tol)
	out.Printf("%s\n", strings.Join(e.Plan.Flags, " "))
	if e.Choice != nil {
		out.Printf("(%s)\n", e.Choice.Reason)
	}
	out.Printf("\n")
	if err := viewPlan(to, e.View); err != nil {
		return err
	}
	heap, other := e.Memory.Heap()
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if one := e.Least; one != nil {
		fmt.Fprintf(w, "at least\tabout %d passes, %d columns multiplied, %s: if one triplet is enough\n", one.Passes, one.Products, Clock(one.Total))
		fmt.Fprintf(w, "at most\twhat follows, for %d triplets; how many it takes is not known before\n", e.K)
	}
	fmt.Fprintf(w, "passes\tabout %d, %d columns multiplied\n", e.Plan.Passes, e.Plan.Products)
	fmt.Fprintf(w, "reads\t%s in the first pass, %s in each of the others\n", memory.FormatSize(e.FirstBytes), memory.FormatSize(e.Plan.PassBytes))
	fmt.Fprintf(w, "time\tabout %s with %s: %s multiplying, %s between passes, %s reading\n", Clock(e.Plan.Total), Plural(e.Workers, "thread"),
		Clock(e.Plan.Multiply), Clock(e.Plan.Dense), Clock(e.Plan.Read))
	fmt.Fprintf(w, "memory\t%s of %s: %s\n", memory.FormatSize(heap+other), memory.FormatSize(e.Budget), describeMemory(e.Parts))
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
		fmt.Fprintf(w, " (in %s)\n", Clock(m.Seconds))
	}
	if err := errors.Join(out.Err, w.Flush()); err != nil || len(e.Considered) == 0 {
		return err
	}
	return considered(to, e)
}

// wanted says what triplets a run is for.
func wanted(e *factor.Explanation) string {
	if e.Energy == 0 {
		return fmt.Sprintf("%d %s", e.K, things(e.Which))
	}
	return fmt.Sprintf("as few triplets as capture %s of the energy, %d at most,", percent.Text(e.Energy, 1, 'g', 6), e.K)
}

// viewPlan prints what the steps of a view do.
func viewPlan(to io.Writer, v *factor.ViewPlan) error {
	if v == nil {
		return nil
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
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
	_, err := fmt.Fprintf(to, "%s of the store for statistics and the norm of the view, before the passes\n\n", Plural(v.Reads, "read"))
	return err
}

// considered prints the leading options, and the choice if it is not among them.
func considered(to io.Writer, e *factor.Explanation) error {
	fmt.Fprintln(to)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tconsidered\tpasses\tcolumns\tbytes a pass\tvectors\tmultiplying\tbetween\treading\ttotal\n")
	for i, c := range e.Considered {
		chosen := slices.Equal(c.Flags, e.Plan.Flags)
		if i >= shownOptions && !chosen {
			continue
		}
		mark, total := "", Clock(c.Total)
		if chosen {
			mark = "*"
		}
		if !c.Fits {
			total = "does not fit"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, strings.Join(c.Flags[1:], " "), c.Passes, c.Products,
			memory.FormatSize(c.PassBytes), memory.FormatSize(c.Memory), Clock(c.Multiply), Clock(c.Dense), Clock(c.Read), total)
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
