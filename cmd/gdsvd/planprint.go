package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/plan"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// printPlan prints a plan as a table of steps and the commands.
func (a *app) printPlan(r *planResult) error {
	out := &show.Printer{W: a.stdout}
	out.Printf("matrix  %s × %s, %s entries\n", howMany(r.Rows), howMany(r.Cols), howMany(r.Entries))
	out.Printf("method  %s\n", strings.Join(r.Flags[1:], " "))
	out.Printf("passes  %s\n\n", ranged(r.Passes, func(x float64) string { return fmt.Sprintf("%.0f", x) }))
	if out.Err != nil {
		return out.Err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "step\ttime\tstays on disk\tand meanwhile\tmemory\n")
	for _, s := range append(r.Steps, r.Total) {
		peak := ranged(s.Memory, sized)
		if s.Memory.High == 0 {
			peak = "as svd"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, ranged(s.Seconds, hours), ranged(s.Kept, sized), ranged(s.Temporary, sized), peak)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	budget := strings.ReplaceAll(memory.FormatSize(r.Memory), " ", "")
	out.Printf("\nmemory  --memory %s is enough; the least that works is %s\n", budget, memory.FormatSize(r.Least.All))
	if r.Free != nil {
		out.Printf("disk    %s at its fullest, of %s free\n", ranged(r.Total.Kept.Plus(r.Total.Temporary), sized), memory.FormatSize(*r.Free))
	}
	for _, text := range r.Says {
		out.Printf("%s\n", ui.Fold("warning  "+text, a.columns()))
	}
	out.Printf("\n")
	for _, s := range r.Steps {
		for _, c := range s.Commands {
			out.Printf("%s\n", shellLines(c, a.columns()))
		}
	}
	return out.Err
}

// ranged is a range in words: what is likely, and from where to where it may be.
func ranged(r plan.Range, text func(float64) string) string {
	low, likely, high := text(r.Low), text(r.Likely), text(r.High)
	if low == high {
		return likely
	}
	return low + "…" + high
}

// howMany is a number of things.
func howMany(r plan.Range) string {
	return ranged(r, func(x float64) string { return fmt.Sprintf("%.0f", x) })
}

// sized is a number of bytes.
func sized(x float64) string { return memory.FormatSize(int64(x)) }

// hours is a time as a person would say it, to the minute where it is hours.
func hours(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.1gs", max(s, 0.1))
	case s < 60:
		return fmt.Sprintf("%.0fs", s)
	case s < 3600:
		return fmt.Sprintf("%.0fm", s/60)
	}
	return fmt.Sprintf("%.1fh", s/3600)
}

// shellLines is a command as a shell takes it, over as many lines as it takes.
func shellLines(command []string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range command {
		word = quoted(word)
		switch n := len([]rune(word)); {
		case i == 0:
			at = n
		case at+1+n > width-2:
			b.WriteString(" \\\n  ")
			at = 2 + n
		default:
			b.WriteString(" ")
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
