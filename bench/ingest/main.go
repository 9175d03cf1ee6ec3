// Command ingest makes a text of ratings larger than any memory, ingests it
// under a memory limit that the kernel enforces, kills the process midway, and
// resumes it.
//
//	go run ./bench/ingest -size 20GB -memory 512MiB -limit 640MiB -dir /var/tmp/ingest -o bench/ingest/results/20gb
//
// The text is in the format of MovieLens 10M and of its statistics, in many
// files: 10 million ratings (gdsvd generate ratings) over and over, with the users
// of eight countries and the films of one year after the other. So every user
// comes up again in each year, ids are far more than in one part, no pair of
// user and film is there twice, and runs of entries overlap: they have to be merged.
//
// With -again the text is ingested once more without a break, and the two
// stores are compared byte by byte. It writes NAME.json and NAME.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

type config struct {
	dir, out string
	gdsvd    *harness.Program
	size     int64 // of the text
	memory   string
	limit    int64   // of the group of processes
	kill     float64 // when this share of the text has been read
	part     int64   // ratings of a file
	again    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ingest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	c, program, err := parse(args)
	if err != nil {
		return err
	}
	if c.gdsvd, err = harness.Open(ctx, program); err != nil {
		return err
	}
	c.gdsvd.Log = os.Stderr
	defer func() { err = errors.Join(err, c.gdsvd.Close()) }()
	if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.clean()) }()
	r, err := c.measure(ctx)
	if err != nil {
		return err
	}
	return harness.Write(c.out, r, r.table())
}

func parse(args []string) (_ *config, program string, err error) {
	var c config
	f := flag.NewFlagSet("ingest", flag.ContinueOnError)
	harness.SizeVar(f, &c.size, "size", "20GB", "bytes of text")
	f.StringVar(&c.memory, "memory", "512MiB", "--memory of gdsvd")
	harness.SizeVar(f, &c.limit, "limit", "640MiB", "memory of the process that the kernel allows, page cache included")
	f.Float64Var(&c.kill, "kill", 0.5, "kill the ingest when so much of the text has been read (0: not)")
	f.Int64Var(&c.part, "part", 10000054, "ratings of a file, users and films in proportion")
	f.BoolVar(&c.again, "again", false, "ingest once more without a break and compare")
	f.StringVar(&c.dir, "dir", filepath.Join(os.TempDir(), "gdsvd-ingest"), "`directory` for text and store, made if it is missing")
	f.StringVar(&program, "gdsvd", "", "the `program`; built if not given")
	f.StringVar(&c.out, "o", "ingest", "`name` of the tables, without .json and .md")
	if err := f.Parse(args); err != nil {
		return nil, "", err
	}
	if f.NArg() > 0 || c.kill < 0 || c.kill >= 1 || c.part < 100000 {
		return nil, "", errors.New("no arguments, -kill from 0 to below 1, -part 100000 or more")
	}
	return &c, program, nil
}

func (c *config) clean() error {
	var err error
	for _, pattern := range []string{"part-*.dat", "killed.csr*", "again.csr*"} {
		names, _ := filepath.Glob(filepath.Join(c.dir, pattern)) // the pattern is well formed
		for _, name := range names {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	_ = os.Remove(c.dir) // unless there was something else in it
	return err
}
