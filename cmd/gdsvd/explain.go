package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// explanation is what --explain says: how a run would go. Passes and times are
// estimates, memory is planned.
type explanation struct {
	Rows       int64         `json:"rows"`
	Cols       int64         `json:"cols"`
	NNZ        int64         `json:"nnz"`
	K          int           `json:"k"`
	Tol        float64       `json:"tol"`
	Plan       estimate      `json:"plan"`
	Choice     *choiceRecord `json:"choice,omitempty"` // of --method auto
	FirstBytes int64         `json:"first_pass_bytes"` // of the store; later passes read plan.pass_bytes
	Workers    int           `json:"workers"`
	Budget     int64         `json:"budget"` // of memory
	Memory     []memoryPart  `json:"memory"`
	Files      int64         `json:"vector_files,omitempty"`  // bytes of vectors in files beside OUT
	Window     int64         `json:"vector_window,omitempty"` // bytes of them in memory at a time
	Reads      int           `json:"reads,omitempty"`         // of the store by a pass, if vectors are in files
	LastReads  int           `json:"last_reads,omitempty"`    // and by the finishing pass
	Measured   *probed       `json:"measured,omitempty"`      // on this machine, for the estimates
	Considered []estimate    `json:"considered,omitempty"`    // fastest first, those that fit before those that do not
}

// estimate is what a run with a method is expected to take.
type estimate struct {
	Flags     []string `json:"flags"`
	Passes    int      `json:"passes"`
	Products  int64    `json:"products"`
	PassBytes int64    `json:"pass_bytes"`
	Memory    int64    `json:"memory"` // of the method's own vectors
	Fits      bool     `json:"fits"`
	// Of vectors in files, by passes and between them, as in result.json.
	VectorsRead  int64   `json:"vectors_read,omitempty"`
	VectorsWrote int64   `json:"vectors_written,omitempty"`
	Read         float64 `json:"read"` // seconds, as are the next
	Multiply     float64 `json:"multiply"`
	Dense        float64 `json:"dense"`
	Total        float64 `json:"total"` // less than the sum: reading goes on meanwhile
}

// shownCandidates is how many rows of the table are printed.
const shownCandidates = 8

// explainSVD prints how a run would go. Nothing is written.
func (a *app) explainSVD(ctx context.Context, cmd *cobra.Command, path string, o svdOptions) (err error) {
	o.fillIn()
	a.warnOfBudget(o.memory)
	store, err := a.openFor(cmd, path, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	e, err := a.explain(ctx, store, o)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(e)
	}
	return a.printExplanation(e)
}

func (a *app) explain(ctx context.Context, store *csr.Store, o svdOptions) (*explanation, error) {
	e := &explanation{NNZ: store.NNZ(), K: o.rank, Tol: o.tol, Workers: o.workers, Budget: o.memory}
	e.Rows, e.Cols = userDims(store)
	p := o.problem(store, o.actual())
	e.FirstBytes = p.Encoded
	var before outState
	if o.out != "" {
		var err error
		if before, err = inspectOut(a.fsys, o.out); err != nil {
			return nil, err
		}
	}
	auto := o.method == autoMethod && !(o.resume && before.checkpoint)
	var err error
	if e.Choice, _, err = a.chooseMethod(ctx, store, before, &o); err != nil {
		return nil, err
	}
	method := o.solverMethod()
	here, probe, err := o.measured(ctx, store, solver.EstimateOf(p, o.machine(), method))
	if err != nil {
		return nil, err
	}
	e.Measured = probe
	e.Plan = newEstimate(solver.EstimateOf(p, here, method))
	e.Plan.Flags = o.flags()
	if auto {
		for _, other := range solver.Estimates(p, here) {
			e.Considered = append(e.Considered, newEstimate(other))
		}
	}
	mem, err := o.fit(store, method)
	if err != nil {
		return nil, err
	}
	e.Workers = mem.plan.Workers
	e.Memory = memoryParts(mem.plan)
	e.Files, e.Window = mem.files, mem.window
	if mem.files > 0 {
		e.Reads, e.LastReads = mem.reads(), mem.lastReads()
	}
	return e, nil
}

func newEstimate(e solver.Estimate) estimate {
	f := methodFlags{list: []solver.Method{e.Method}}
	f.adopt(e.Method)
	return estimate{
		Flags: f.flags(), Passes: e.Passes, Products: e.Products, PassBytes: e.PassBytes, Memory: e.Vectors, Fits: e.Fits,
		VectorsRead: e.VectorsRead, VectorsWrote: e.VectorsWritten,
		Read: e.Read.Seconds(), Multiply: e.Multiply.Seconds(), Dense: e.Dense.Seconds(), Total: e.Total.Seconds(),
	}
}

func (a *app) printExplanation(e *explanation) error {
	out := &errWriter{w: a.stdout}
	out.printf("%d × %d, %d entries: %d triplets to %.3g\n\n", e.Rows, e.Cols, e.NNZ, e.K, e.Tol)
	out.printf("%s\n", strings.Join(e.Plan.Flags, " "))
	if e.Choice != nil {
		out.printf("(%s)\n", e.Choice.Reason)
	}
	out.printf("\n")
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "passes\tabout %d, %d columns multiplied\n", e.Plan.Passes, e.Plan.Products)
	fmt.Fprintf(w, "reads\t%s in the first pass, %s in each of the others\n", memory.FormatSize(e.FirstBytes), memory.FormatSize(e.Plan.PassBytes))
	fmt.Fprintf(w, "time\tabout %s with %d threads: %s multiplying, %s between passes, %s reading\n", clock(e.Plan.Total), e.Workers,
		clock(e.Plan.Multiply), clock(e.Plan.Dense), clock(e.Plan.Read))
	fmt.Fprintf(w, "memory\t%s of %s: %s\n", memory.FormatSize(planned(e.Memory)), memory.FormatSize(e.Budget), describeMemory(e.Memory))
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

// printConsidered prints the leading candidates, and the choice if it is not among them.
func (a *app) printConsidered(e *explanation) error {
	fmt.Fprintln(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tconsidered\tpasses\tcolumns\tbytes a pass\tvectors\tmultiplying\tbetween\treading\ttotal\n")
	for i, c := range e.Considered {
		chosen := slices.Equal(c.Flags, e.Plan.Flags)
		if i >= shownCandidates && !chosen {
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
