// Command disk measures passes over a store larger than memory against the
// disk it lies on.
//
//	go run ./bench/disk -store X.csr -memory 256MiB -l 1,4,16 -rounds 3 -o disk
//
// A store of 4-bit values comes from gdsvd generate kron --values 1 with ratings for a base, one of
// float64 values from gdsvd generate spectrum.
//
// Each round, for each width, reads the store three times, one after the
// other so that a slow moment of the machine hits all alike: with fio (which
// must be installed), directly from the disk, in sequence; in a pass of a
// process of its own from a cold cache, under a memory cgroup of -memory where
// one may be made (as root: version 1 and 2 are tried); and in the same pass
// from a warm cache, without the cgroup, which is what decoding and computing
// take by themselves. Each pass is one product with the Gram matrix and runs
// with a planned budget of half of -memory, so that hardly any block stays
// decoded. The target is a cold pass ≤ 1.15 × the longer of fio and warm pass.
//
// It writes the table to NAME.json and NAME.md, Linux only; pages are dropped from the
// cache file by file, so that it needs no privilege and leaves other caches alone.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

// config is the command line.
type config struct {
	store, out string
	memory     int64
	widths     []int
	rounds     int
	pass       int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "disk:", err)
		os.Exit(1)
	}
}

func run() error {
	c, err := parse()
	if err != nil {
		return err
	}
	if c.pass > 0 { // the process of one pass
		p, err := onePass(c.store, c.memory/2, c.pass)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(p)
	}
	r, err := measure(c)
	if err != nil {
		return err
	}
	return r.write(c.out)
}

func parse() (*config, error) {
	var c config
	var widths string
	flag.StringVar(&c.store, "store", "", "store to read")
	harness.SizeVar(flag.CommandLine, &c.memory, "memory", "256MiB", "memory of a pass")
	flag.StringVar(&widths, "l", "1,4,16", "widths of the block of vectors")
	flag.IntVar(&c.rounds, "rounds", 3, "rounds; the table has the medians")
	flag.StringVar(&c.out, "o", "disk", "name of the tables, without .json and .md")
	flag.IntVar(&c.pass, "pass", 0, "used by the program itself: do one pass of this width")
	flag.Parse()
	for _, w := range strings.Split(widths, ",") {
		l, err := strconv.Atoi(w)
		if err != nil || l < 1 {
			return nil, fmt.Errorf("width %q", w)
		}
		c.widths = append(c.widths, l)
	}
	if c.store == "" || c.rounds < 1 || flag.NArg() > 0 {
		return nil, errors.New("want -store, at least one round, and no arguments")
	}
	return &c, nil
}
