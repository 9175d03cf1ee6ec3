// Package hostile ill-treats gdsvd and judges the outcome: the program is right, it refuses
// in one clear line, or the trial counts as wrong, hung or crashed.
//
//	GDSVD_TEST_LONG=1 go test ./bench/hostile
//	go test -timeout 0 -run TestHostile ./bench/hostile -long [-seed S] [-only flips,kills,…] [-report NAME]
//
// The first command runs a few trials of each attack. It builds the program of this source and runs it from outside:
// it reads stores and results by their documentation only. Every attack is a series of
// trials; the seed and its number determine a trial, apart from the moment
// at which a process is killed. A failed trial is repeated by
//
//	go test -v -run TestHostile ./bench/hostile -only ATTACK -seed S -trial N
//
// which also prints the commands and keeps the files. NAME.md has the table and
// NAME.json everything, with the commit and the machine. Trials that a
// machine cannot run (mounting a small disk, a limit of memory by the kernel: both
// take Linux and root) are skipped and listed.
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

// options holds the command line.
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

// again runs one trial of each attack and prints its commands and outcome.
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
