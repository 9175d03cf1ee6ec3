// Command hostile ill-treats gdsvd and judges what it does: it is right, it refuses
// in one clear line, or it is counted as wrong, hung or crashed.
//
//	go run ./bench/hostile [-long] [-seed S] [-only flips,kills,…] [-o NAME]
//
// It builds the program of this source and drives it from outside: it knows the
// store and the results only through their documents. Every attack is a series of
// trials; a trial follows from the seed and its number alone, apart from the moment
// at which a process is killed. What a trial has done wrong is done again by
//
//	go run ./bench/hostile -only ATTACK -seed S -trial N
//
// which also prints the commands and keeps the files. NAME.md has the table and
// NAME.json everything, with the commit and the machine; without -o the table is
// only printed. The exit code is 1 if anything was wrong, hung or crashed. What a
// machine cannot do (mounting a small disk, a limit of memory by the kernel: both
// take Linux and root) is skipped and said.
//
// go test ./bench/hostile is the short form: a few trials of each attack.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

// options is the command line.
type options struct {
	program, dir, only, out string
	long                    bool
	seed                    uint64
	trial, trials, parallel int
	limit, late             time.Duration
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("hostile: ")
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = run(ctx, o)
		stop()
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet("hostile", flag.ContinueOnError)
	f.StringVar(&o.program, "gdsvd", "", "the `PROGRAM` to attack (none: built from this source)")
	f.StringVar(&o.dir, "dir", "", "where files are made (none: a temporary directory, removed afterwards)")
	f.StringVar(&o.only, "only", "", "attacks, separated by commas: "+strings.Join(attackNames(), ", ")+" (none: all)")
	f.StringVar(&o.out, "o", "", "`NAME` of the report (none: it is printed)")
	f.BoolVar(&o.long, "long", false, "the long form: about half an hour on two cores")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all trials")
	f.IntVar(&o.trial, "trial", -1, "run trial `N` only, print its commands, keep its files")
	f.IntVar(&o.trials, "trials", 0, "trials of each attack (0: as many as the form has)")
	f.IntVar(&o.parallel, "j", runtime.NumCPU(), "trials at a time")
	f.DurationVar(&o.limit, "limit", 2*time.Minute, "a process that takes longer has hung")
	f.DurationVar(&o.late, "late", 3*time.Second, "an interrupted process that takes longer to end, and does not say why, is wrong")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || o.parallel < 1 || o.limit <= 0 {
		return nil, errors.New("want a positive -j and -limit, and no arguments")
	}
	return &o, nil
}

// run runs the attacks and writes the report.
func run(ctx context.Context, o *options) (err error) {
	chosen, err := find(o.only)
	if err != nil {
		return err
	}
	program, err := harness.Open(ctx, o.program)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, program.Close()) }()
	if program.Path, err = filepath.Abs(program.Path); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "gdsvd-hostile-")
	if err != nil {
		return err
	}
	e := &Env{Program: program, Dir: dir, Limit: o.limit, Late: o.late}
	defer func() { err = errors.Join(err, e.Close()) }()
	if o.trial >= 0 {
		e.Keep = true
		return again(ctx, e, chosen, o)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := newReport(o)
	for _, a := range chosen {
		trials := a.Short
		if o.long {
			trials = a.Long
		}
		if o.trials > 0 {
			trials = o.trials
		}
		if err := r.series(ctx, e, a, trials, o); err != nil {
			return err
		}
	}
	if o.out == "" {
		fmt.Print(r.markdown())
	} else if err := harness.Write(o.out, r, r.markdown()); err != nil {
		return err
	}
	return r.verdict()
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
