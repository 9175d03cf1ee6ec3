// Package show prints results, and descriptions of runs, for people, as aligned tables and lines.
package show

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/percent"
	"github.com/gdsvd/gdsvd/stream"
)

// Plural returns n and the noun what, in the plural unless n is 1.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Ratio returns a/b, or NaN if b is 0.
func Ratio(a, b float64) factor.Number {
	if b == 0 {
		return factor.Number(math.NaN())
	}
	return factor.Number(a / b)
}

// Printer prints up to the first error. It aligns text between tabs in columns.
type Printer struct {
	to  io.Writer
	w   tabwriter.Writer
	err error
}

func NewPrinter(to io.Writer) *Printer {
	p := &Printer{to: to}
	p.w.Init(to, 0, 0, 2, ' ', 0)
	return p
}

// AlignRight aligns the following text at the right of its columns.
func (p *Printer) AlignRight() {
	p.err = p.End()
	p.w.Init(p.to, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// Printf prints unless an error has occurred.
func (p *Printer) Printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(&p.w, format, args...)
	}
}

// End prints the buffered text and returns the first error.
func (p *Printer) End() error { return cmp.Or(p.err, p.w.Flush()) }

// Clock returns seconds as text for people.
func Clock(s float64) string {
	switch {
	case s < 9.995:
		return fmt.Sprintf("%.2g s", s)
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// shownOptions is the number of rows of the table of options that are printed.
const shownOptions = 8

// Explanation prints the plan of a run.
func Explanation(out *Printer, e *factor.Explanation) {
	out.Printf("%d × %d, %d entries: %s to %.3g\n\n", e.Rows, e.Cols, e.NNZ, wanted(e), e.Tol)
	out.Printf("%s\n", strings.Join(e.Plan.Flags, " "))
	if e.Choice != nil {
		out.Printf("(%s)\n", e.Choice.Reason)
	}
	out.Printf("\n")
	viewPlan(out, e.View)
	heap, other := e.Memory.Heap()
	if one := e.Least; one != nil {
		out.Printf("at least\tabout %d passes, %d columns multiplied, %s: if one triplet is enough\n", one.Passes, one.Products, Clock(one.Total))
		out.Printf("at most\tthe following, for %d triplets; the number needed is not known in advance\n", e.K)
	}
	out.Printf("passes\tabout %d, %d columns multiplied\n", e.Plan.Passes, e.Plan.Products)
	if e.Start != "" {
		out.Printf("start\t%s\n", e.Start)
	}
	out.Printf("reads\t%s in the first pass, %s in each of the others\n", memory.FormatSize(e.FirstBytes), memory.FormatSize(e.Plan.PassBytes))
	out.Printf("time\tabout %s with %s: %s multiplying, %s between passes, %s reading\n", Clock(e.Plan.Total), Plural(e.Workers, "thread"),
		Clock(e.Plan.Multiply), Clock(e.Plan.Dense), Clock(e.Plan.Read))
	if g := e.Engine; g != nil {
		out.Printf("engine\t%s, %s: passes take %s beside their work, each %s and what its columns take in the shared folder\n",
			g.Name, Plural(g.Groups, "group"), Clock(e.Plan.Beside), Clock(g.PassSeconds))
	}
	out.Printf("memory\t%s of %s: %s\n", memory.FormatSize(heap+other), memory.FormatSize(e.Budget), describeMemory(e.Parts))
	if e.Files > 0 {
		out.Printf("vectors\t%s in files beside OUT, %s of them in memory at a time; a pass reads the store %s, the last one %s\n",
			memory.FormatSize(e.Files), memory.FormatSize(e.Window), times(e.Reads), times(e.LastReads))
		out.Printf("moved\tabout %s of vectors read and %s written\n", memory.FormatSize(e.Plan.VectorsRead), memory.FormatSize(e.Plan.VectorsWrote))
		out.Printf("checkpoint\tup to %s more on the disk, none in memory\n", memory.FormatSize(e.Files))
	}
	if m := e.Measured; m != nil {
		out.Printf("measured\t%.2g ns an entry to decode; %.2g ns to multiply with %v columns", m.Decode, m.Multiply, m.Widths)
		if m.Bandwidth > 0 {
			out.Printf("; reading %s/s", memory.FormatSize(int64(m.Bandwidth)))
		}
		out.Printf(" (in %s)\n", Clock(m.Seconds))
	}
	considered(out, e)
}

// wanted describes the triplets that a run computes.
func wanted(e *factor.Explanation) string {
	if e.Energy == 0 {
		return fmt.Sprintf("%d %s", e.K, things(e.Which))
	}
	return fmt.Sprintf("as few triplets as capture %s of the energy, %d at most,", percent.Text(e.Energy, 1, 'g', 6), e.K)
}

func viewPlan(out *Printer, v *factor.ViewPlan) {
	if v == nil {
		return
	}
	out.Printf("step of the view\treads\tvalues of entries\tentries\tnot 0\n")
	for _, s := range v.Steps {
		values := "not known"
		if !math.IsInf(float64(s.Low), 0) || !math.IsInf(float64(s.High), 0) {
			values = fmt.Sprintf("%.4g … %.4g", float64(s.Low), float64(s.High))
		}
		out.Printf("%s\t%d\t%s\t%s\t%s\n", s.Step, s.Reads, values, s.Entries, s.Pattern)
	}
	out.Printf("%s of the store for statistics and the norm of the view, before the passes\n\n", Plural(v.Reads, "read"))
}

// considered prints the first options, and the chosen one if it is not among them.
func considered(out *Printer, e *factor.Explanation) {
	if len(e.Considered) == 0 {
		return
	}
	out.Printf("\n\tconsidered\tpasses\tcolumns\tbytes a pass\tvectors\tmultiplying\tbetween\treading\ttotal\n")
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
		out.Printf("%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", mark, strings.Join(c.Flags[1:], " "), c.Passes, c.Products,
			memory.FormatSize(c.PassBytes), memory.FormatSize(c.Memory), Clock(c.Multiply), Clock(c.Dense), Clock(c.Read), total)
	}
}

func times(n int) string {
	if n <= 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

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
