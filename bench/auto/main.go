// Command auto measures gdsvd svd --method auto against every fixed choice of a
// grid, and says whether it is within 1.3 times of the best:
//
//	go build -o gdsvd ./cmd/gdsvd
//	go run ./bench/auto -gdsvd ./gdsvd -o auto -k 10,50 ml1m.csr mnist.csr slashdot.csr
//	go run ./bench/auto -gdsvd ./gdsvd -o auto-disk -k 10,50 -memory 67108864 -rate 20000000 large.csr
//
// The grid: krylov with 1, 2, 4, 8, 16 and 32 columns a pass and the default
// basis, the widest four of them also with a small one; block with k+10 (or
// 5k/4), 2k and 3k columns; nesterov and power, one vector at a time, only for
// -all, since they take a hundred times as long.
//
// Every round runs all of them once, auto included, each as a process of its
// own; what counts is the median over the rounds of the wall time from start to
// exit, measuring of the machine and all else included. A choice that takes
// more than -give-up times the best of the first round is not run again.
//
// With -rate a run is throttled to so many bytes a second of reading and to
// -memory, page cache included, by a control group of its own, and begins with a
// cold cache: the store is read from the disk in every pass. That takes Linux,
// root, and a store several times as large as the memory; without them the
// program says what is missing and measures nothing. Both versions of control
// groups will do.
//
// The tables go to OUT.json and OUT.md.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// within is how close to the best choice auto is meant to be.
const within = 1.3

type options struct {
	program, out string
	memory       int64
	rounds       int
	giveUp       float64
	rate         int64
	all          bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("auto: ")
	var o options
	var ks string
	flag.StringVar(&o.program, "gdsvd", "gdsvd", "the `PROGRAM` to measure")
	flag.StringVar(&o.out, "o", "auto", "write OUT.json and OUT.md to `OUT`")
	flag.StringVar(&ks, "k", "10,50", "numbers of triplets")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds")
	flag.Float64Var(&o.giveUp, "give-up", 4, "times the best after which a choice is given up")
	flag.Int64Var(&o.memory, "memory", 0, "memory budget of the runs in `BYTES` (0: as gdsvd finds it)")
	flag.Int64Var(&o.rate, "rate", 0, "bytes a second that the disk delivers")
	flag.BoolVar(&o.all, "all", false, "the methods of one vector too")
	flag.Parse()
	var all []comparison
	for _, store := range flag.Args() {
		for text := range strings.SplitSeq(ks, ",") {
			k, err := strconv.Atoi(text)
			if err != nil {
				log.Fatal(err)
			}
			c, err := compare(o, store, k)
			if err != nil {
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
	Runs   []entry `json:"runs"`  // fastest first
}

// entry is one choice.
type entry struct {
	Flags   string    `json:"flags"`
	Seconds []float64 `json:"seconds"`
	Median  float64   `json:"median"`
	Passes  int       `json:"passes"`
	Failed  string    `json:"failed,omitempty"`
	given   bool      // up
}

// grid are the fixed choices.
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

func compare(o options, store string, k int) (comparison, error) {
	c := comparison{Store: filepath.Base(store), K: k, Memory: o.memory, Rate: o.rate}
	runs := append([]entry{{Flags: "--method auto"}}, grid(k, o.all)...)
	for round := range o.rounds {
		best := 0.0
		for i := range runs {
			e := &runs[i]
			if e.Failed != "" || e.given {
				continue
			}
			r, err := measure(o, store, k, e.Flags)
			if err != nil {
				return c, err
			}
			if r.failed != "" {
				e.Failed = r.failed
				continue
			}
			if r.choice != nil {
				c.Chosen, c.Why = strings.Join(r.choice.Flags, " "), r.choice.Why
			}
			e.Passes = r.passes
			e.Seconds = append(e.Seconds, r.seconds)
			e.Median = median(e.Seconds)
			if best == 0 || e.Median < best {
				best = e.Median
			}
			log.Printf("%s k=%d round %d: %s: %.2f s, %d passes", c.Store, k, round+1, e.Flags, r.seconds, r.passes)
		}
		for i := 1; i < len(runs); i++ {
			runs[i].given = runs[i].Median > o.giveUp*best
		}
	}
	c.Auto = runs[0].Median
	if runs[0].Failed != "" {
		return c, fmt.Errorf("%s k=%d: auto: %s", c.Store, k, runs[0].Failed)
	}
	c.Runs = runs[1:]
	slices.SortStableFunc(c.Runs, func(a, b entry) int {
		switch {
		case (a.Failed == "") != (b.Failed == ""):
			return strings.Compare(a.Failed, b.Failed)
		case a.Median < b.Median:
			return -1
		case a.Median > b.Median:
			return 1
		}
		return 0
	})
	c.Best = c.Runs[0].Median
	c.Ratio = c.Auto / c.Best
	return c, nil
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func write(o options, all []comparison) error {
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out+".json", append(data, '\n'), 0o666); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("| store | k | auto chose | by | auto | best | best of the grid | ratio | within 1.3 |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		verdict := "yes"
		if c.Ratio > within {
			verdict = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %d | `%s` | %s | %.2f s | %.2f s | `%s` | %.2f | %s |\n",
			c.Store, c.K, c.Chosen, c.Why, c.Auto, c.Best, c.Runs[0].Flags, c.Ratio, verdict)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n%s, k = %d", c.Store, c.K)
		if c.Rate > 0 {
			fmt.Fprintf(&b, ", %.3g MB of memory, %.3g MB/s", float64(c.Memory)/1e6, float64(c.Rate)/1e6)
		}
		fmt.Fprintf(&b, "\n\n| choice | median | runs | passes |\n|---|---|---|---|\n| auto | %.2f s | | |\n", c.Auto)
		for _, e := range c.Runs {
			if e.Failed != "" {
				fmt.Fprintf(&b, "| `%s` | %s | | |\n", e.Flags, e.Failed)
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %.2f s | %d | %d |\n", e.Flags, e.Median, len(e.Seconds), e.Passes)
		}
	}
	return os.WriteFile(o.out+".md", []byte(b.String()), 0o666)
}
