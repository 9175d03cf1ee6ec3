package main

import (
	"fmt"
	"strings"
)

func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d cores of %s. %.2f GB of text, %d million ratings in %d files, `--memory %s`, in a control group of %d MiB (page cache included).\n\n",
		r.Date, r.Cores, r.Processor, float64(r.Bytes)/1e9, r.Ratings/1e6, r.Files, r.Memory, r.Limit>>20)
	b.WriteString("| | |\n|---|---|\n")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	x := r.Resumed
	wall := x.Wall
	if r.Killed != nil {
		wall += r.Killed.Seconds
		row("killed (SIGKILL) after", "%.1f s, with %.2f GB of text saved", r.Killed.Seconds, float64(r.Killed.Saved)/1e9)
		row("resumed, to the end", "%.1f s", x.Wall)
	}
	row("in all", "%.1f s, %.0f MB/s of text", wall, float64(r.Bytes)/1e6/wall)
	if r.Again != nil {
		a := r.Again
		row("without a break", "%.1f s, %.0f MB/s of text: read %.1f s, sort %.1f s, write %.1f s", a.Wall, float64(r.Bytes)/1e6/a.Wall, a.Seconds.Read, a.Seconds.Sort, a.Seconds.Write)
		row("the two stores are equal byte by byte", "%v", r.Same)
	}
	row("matrix", "%d × %d, %d entries", x.Rows, x.Cols, x.NNZ)
	row("sorted runs", "%d, %.2f GB, %.2f bytes per entry", x.Runs, float64(x.Spool)/1e9, float64(x.Spool)/float64(x.NNZ))
	row("written to temporary files", "%.2f GB", float64(x.SpilledBytes)/1e9)
	row("estimated before", "%.2f GB of temporary files, %.2f GB of store", float64(x.Estimate.Spool)/1e9, float64(x.Estimate.Store)/1e9)
	row("store", "%.2f GB, %.2f bytes per rating", float64(x.Bytes)/1e9, float64(x.Bytes)/float64(x.NNZ))
	row("most memory of the process", "%d MiB", x.PeakRSS>>20)
	row("most memory of the group", "%d MiB, %d processes killed for want of it", r.Group.Peak>>20, r.Group.Killed)
	row("`gdsvd check`", "no problems, %.1f s", r.Check)
	return b.String()
}
