// Package hostile ill-treats gdsvd and judges what it does: it is right, it refuses
// in one clear line, or it is counted as wrong, hung or crashed.
//
//	GDSVD_TEST_LONG=1 go test ./bench/hostile
//	go test -timeout 0 -run TestHostile ./bench/hostile -long [-seed S] [-only flips,kills,…] [-report NAME]
//
// The first takes a few trials of each attack. It builds the program of this source and drives it from outside:
// it knows the store and the results only through their documents. Every attack is a series of
// trials; a trial follows from the seed and its number alone, apart from the moment
// at which a process is killed. What a trial has done wrong is done again by
//
//	go test -v -run TestHostile ./bench/hostile -only ATTACK -seed S -trial N
//
// which also prints the commands and keeps the files. NAME.md has the table and
// NAME.json everything, with the commit and the machine. What a
// machine cannot do (mounting a small disk, a limit of memory by the kernel: both
// take Linux and root) is skipped and said.
package hostile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// options is the command line.
type options struct {
	program, dir, only, out string
	long                    bool
	seed                    uint64
	trial, trials, parallel int
	limit, late             time.Duration
}

var asked options

func TestMain(m *testing.M) {
	f, o := flag.CommandLine, &asked
	f.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to attack (none: built from this source)")
	f.StringVar(&o.dir, "dir", "", "where files are made (none: a temporary directory, removed afterwards)")
	f.StringVar(&o.only, "only", "", "attacks, separated by commas: "+strings.Join(attackNames(), ", ")+" (none: all)")
	f.StringVar(&o.out, "report", "", "`NAME` of the report (none: none is written)")
	f.BoolVar(&o.long, "long", false, "the long form: about half an hour on two cores")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all trials")
	f.IntVar(&o.trial, "trial", -1, "run trial `N` only, print its commands, keep its files")
	f.IntVar(&o.trials, "trials", 0, "trials of each attack (0: as many as the form has)")
	f.IntVar(&o.parallel, "j", runtime.NumCPU(), "trials at a time")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "a process that takes longer has hung")
	f.DurationVar(&o.late, "late", 0, "an interrupted process that takes longer to end, and does not say why, is wrong (0: none is)")
	os.Exit(m.Run())
}

// again runs one trial of each attack and shows it.
func again(ctx context.Context, e *Env, chosen []Attack, o *options) error {
	var failed []string
	for _, a := range chosen {
		v, err := e.try(ctx, a, o.seed, o.trial, o.long)
		for _, c := range v.commands {
			fmt.Println(c)
		}
		if err != nil {
			return err
		}
		fmt.Printf("%s, trial %d: %s: %s %s\nfiles: %s\n", a.Name, o.trial, v.Kind, v.Outcome, v.What, e.Dir)
		if v.Outcome.bad() {
			failed = append(failed, a.Name)
		}
	}
	if failed != nil {
		return fmt.Errorf("%s: not as it must be", strings.Join(failed, ", "))
	}
	return nil
}
