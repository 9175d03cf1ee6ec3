// Command auto measures gdsvd svd --method auto against every fixed choice of a
// grid, and says whether it is within 1.3 times of the best:
//
//	go build -o gdsvd ./cmd/gdsvd
//	go run ./bench/auto -gdsvd ./gdsvd -o auto -k 10,50 ml1m.csr mnist.csr slashdot.csr
//	go run ./bench/auto -gdsvd ./gdsvd -o auto-disk -k 10,50 -memory 134217728 -rate 250000000 large.csr
//
// The grid: krylov with 1, 2, 4, 8, 16 and 32 columns a pass and the default
// basis, the widest four of them also with a small one; block with k+10 (or
// 5k/4), 2k and 3k columns; nesterov and power, one vector at a time, only for
// -all, since they take a hundred times as long.
//
// Every round runs all of them once, auto included, in an order of its own drawn
// from -seed, each as a process of its own; what counts is the median over the
// rounds of the wall time from start to exit, measuring of the machine and all
// else included. A choice is stopped when its first run has taken -give-up times
// what the best has so far, auto never, and is not run again.
//
// With -rate a run is throttled to that number of bytes a second of reading and to
// -memory, page cache included, by a control group of its own, and begins with a
// cold cache: the store is read from the disk in every pass. That takes Linux,
// root, and a store several times as large as the memory; without them the
// program says what is missing and measures nothing. Both versions of control
// groups will do.
//
// What was measured is in results. The tables go to OUT.json and OUT.md, with -note at the top of the latter.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// within is how close to the best choice auto is meant to be.
const within = 1.3

type options struct {
	gdsvd     *harness.Program
	out, note string
	memory    int64
	rounds    int
	giveUp    float64
	rate      int64
	all       bool
	seed      uint64
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("auto: ")
	var o options
	var program, ks string
	flag.StringVar(&program, "gdsvd", "gdsvd", "the `PROGRAM` to measure")
	flag.StringVar(&o.out, "o", "auto", "write OUT.json and OUT.md to `OUT`")
	flag.StringVar(&ks, "k", "10,50", "numbers of triplets")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds")
	flag.Float64Var(&o.giveUp, "give-up", 4, "times the best after which a choice is given up")
	flag.Int64Var(&o.memory, "memory", 0, "memory budget of the runs in `BYTES` (0: as gdsvd finds it)")
	flag.Int64Var(&o.rate, "rate", 0, "bytes a second that the disk delivers")
	flag.BoolVar(&o.all, "all", false, "the methods of one vector too")
	flag.StringVar(&o.note, "note", "", "what was measured, where: the first line of OUT.md")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the orders")
	flag.Parse()
	o.gdsvd = &harness.Program{Path: program}
	var all []comparison
	for _, store := range flag.Args() {
		for text := range strings.SplitSeq(ks, ",") {
			k, err := strconv.Atoi(text)
			if err != nil {
				log.Fatal(err)
			}
			c := comparison{
				Store: filepath.Base(store), K: k, Memory: o.memory, Rate: o.rate, Runs: append([]entry{{Flags: auto}}, grid(k, o.all)...),
			}
			if err := c.compare(o, store); err != nil {
				log.Fatal(err)
			}
			all = append(all, c)
			if err := write(o, all); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// comparison is all choices on one store for one k.
type comparison struct {
	Store  string  `json:"store"`
	K      int     `json:"k"`
	Memory int64   `json:"memory,omitempty"`
	Rate   int64   `json:"rate,omitempty"`
	Chosen string  `json:"chosen"` // by auto
	Why    string  `json:"why"`
	Auto   float64 `json:"auto"`  // seconds
	Best   float64 `json:"best"`  // of the grid
	Ratio  float64 `json:"ratio"` // of the two
	Runs   []entry `json:"runs"`  // auto, and then the grid, fastest first
}

type entry struct {
	Flags   string    `json:"flags"`
	Seconds []float64 `json:"seconds"`
	Median  float64   `json:"median"`
	Passes  int       `json:"passes"`
	Given   float64   `json:"given,omitempty"` // seconds after which it was given up
	Failed  string    `json:"failed,omitempty"`
}

const auto = "--method auto"

func grid(k int, all bool) []entry {
	var g []entry
	add := func(format string, args ...any) {
		g = append(g, entry{Flags: fmt.Sprintf("--method "+format, args...)})
	}
	for b := 1; b <= 32; b *= 2 {
		add("krylov --block %d", b)
	}
	for b := 4; b <= 32; b *= 2 {
		add("krylov --block %d --basis %d", b, k+max(12, k/4)+2*b)
	}
	for _, l := range []int{k + max(10, k/4), 2 * k, 3 * k} {
		if flags := fmt.Sprintf("block --block %d", l); !slices.ContainsFunc(g, func(e entry) bool { return e.Flags == "--method "+flags }) {
			add("%s", flags)
		}
	}
	if all {
		add("nesterov")
		add("power")
	}
	return g
}

func (c *comparison) compare(o options, store string) error {
	for round := range o.rounds {
		r := rand.New(rand.NewPCG(o.seed, uint64(round)))
		for _, i := range r.Perm(len(c.Runs)) {
			e := &c.Runs[i]
			if e.Failed != "" || e.Given > 0 {
				continue
			}
			if err := c.run(o, store, e); err != nil {
				return err
			}
			log.Printf("%s k=%d round %d: %s: %.2f s, %d passes %s", c.Store, c.K, round+1, e.Flags, e.Median, e.Passes, e.Failed)
		}
	}
	c.rank()
	return nil
}

func (c *comparison) run(o options, store string, e *entry) error {
	var limit time.Duration
	if best := c.best(); best > 0 && e.Flags != auto && len(e.Seconds) == 0 {
		limit = time.Duration(o.giveUp * best * float64(time.Second))
	}
	r, err := measure(o, store, c.K, e.Flags, limit)
	switch {
	case err != nil:
		return err
	case r.late:
		e.Given = limit.Seconds()
		return nil
	case r.failed != "" && e.Flags == auto:
		return fmt.Errorf("%s k=%d: auto: %s", c.Store, c.K, r.failed)
	case r.failed != "":
		e.Failed = r.failed
		return nil
	}
	if r.choice != nil {
		c.Chosen, c.Why = strings.Join(r.choice.Flags, " "), r.choice.Why
	}
	e.Passes = r.passes
	e.Seconds = append(e.Seconds, r.seconds)
	e.Median = harness.Median(e.Seconds)
	return nil
}

// best is the least median so far; 0 if there is none.
func (c *comparison) best() (best float64) {
	for _, e := range c.Runs {
		if len(e.Seconds) > 0 && (best == 0 || e.Median < best) {
			best = e.Median
		}
	}
	return best
}

func (c *comparison) rank() {
	key := func(e entry) float64 {
		switch {
		case e.Flags == auto:
			return -1
		case e.Failed != "":
			return math.Inf(1)
		case e.Given > 0 || e.Median == 0:
			return math.MaxFloat64
		}
		return e.Median
	}
	slices.SortStableFunc(c.Runs, func(a, b entry) int { return cmp.Compare(key(a), key(b)) })
	c.Auto, c.Best = c.Runs[0].Median, c.Runs[1].Median
	c.Ratio = 0
	if c.Best > 0 {
		c.Ratio = c.Auto / c.Best
	}
}

func write(o options, all []comparison) error {
	var b strings.Builder
	if o.note != "" {
		fmt.Fprintf(&b, "%s\n\n", o.note)
	}
	b.WriteString("| store | k | auto chose | by | auto | best | best of the grid | ratio | within 1.3 |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		verdict := "yes"
		switch {
		case c.Best == 0:
			verdict = "nothing to compare with yet"
		case c.Ratio > within:
			verdict = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %d | `%s` | %s | %.2f s | %.2f s | `%s` | %.2f | %s |\n",
			c.Store, c.K, c.Chosen, c.Why, c.Auto, c.Best, c.Runs[1].Flags, c.Ratio, verdict)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s, k = %d", c.Store, c.K)
		if c.Rate > 0 {
			fmt.Fprintf(&b, ", %.3g MB of memory, %.3g MB/s", float64(c.Memory)/1e6, float64(c.Rate)/1e6)
		}
		b.WriteString("\n\n| choice | median | runs | passes |\n|---|---|---|---|\n")
		for _, e := range c.Runs {
			switch {
			case e.Failed != "":
				fmt.Fprintf(&b, "| `%s` | %s | | |\n", e.Flags, e.Failed)
			case e.Given > 0:
				fmt.Fprintf(&b, "| `%s` | more than %.2f s | | |\n", e.Flags, e.Given)
			case len(e.Seconds) > 0:
				fmt.Fprintf(&b, "| `%s` | %.2f s | %d | %d |\n", e.Flags, e.Median, len(e.Seconds), e.Passes)
			}
		}
	}
	return harness.Write(o.out, all, b.String())
}

// run is what one run has come to.
type run struct {
	seconds float64
	passes  int
	choice  *harness.Choice
	failed  string // why there is no result
	late    bool   // it was stopped
}

// measure runs a choice once, for no longer than limit if there is one. The error is for what is wrong with measuring;
// that the choice is impossible, or does not converge, is part of the run.
func measure(o options, store string, k int, flags string, limit time.Duration) (r run, err error) {
	dir, err := os.MkdirTemp("", "gdsvd-auto-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	args := []string{"svd", store, "-k", strconv.Itoa(k), "-o", filepath.Join(dir, "out"), "-q", "--json", "--vectors", "none", "--checkpoint-every", "0"}
	if o.memory > 0 {
		args = append(args, "--memory", strconv.FormatInt(o.memory, 10))
	}
	var g *cgroup.Group
	if o.rate > 0 {
		if g, err = throttle(store, o); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, g.Remove()) }()
	}
	ctx := context.Background()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	done, err := o.gdsvd.Run(ctx, g, append(args, strings.Fields(flags)...)...)
	var exit *exec.ExitError
	switch {
	case err != nil && ctx.Err() != nil:
		return run{late: true}, nil
	case errors.As(err, &exit):
		return run{failed: err.Error()}, nil
	case err != nil:
		return r, err
	}
	var result harness.Result
	err = done.Decode(&result)
	return run{seconds: done.Seconds, passes: result.Passes, choice: result.Choice}, err
}

func throttle(store string, o options) (*cgroup.Group, error) {
	s, err := harness.OpenStore(store, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Forget(); err != nil {
		return nil, err
	}
	g, err := cgroup.New("gdsvd-auto", o.memory)
	if err != nil {
		return nil, err
	}
	if err := g.LimitReads(store, o.rate); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}
