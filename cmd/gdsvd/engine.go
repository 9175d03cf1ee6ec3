package main

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// engineOptions are the flags about an engine, which does the work in other processes.
type engineOptions struct {
	name      string
	shared    string
	groups    int
	processes int
	timeout   time.Duration
	pass      time.Duration
}

// making holds the kinds of tasks that workers do besides passes.
var making = map[string]remote.Make{recommend.Kind: recommend.Make, check.Kind: check.Make, readKind: readShares}

const readKind = "read"

// readShares does tasks of an ingest. Each task yields a row of one number.
func readShares(ctx context.Context, w *remote.Worker, job remote.Job, _ []float64, rows int, write func(row []float64) error) error {
	for i := range rows {
		made, err := ingest.Do(ctx, job.Spec, int(job.First)+i, ingest.Options{FS: w.FS, Memory: w.Memory - w.Reserve, Workers: w.Workers})
		if err == nil {
			err = write([]float64{made})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reading returns the tasks of an ingest by an engine.
func reading(by *remote.Options) *ingest.Tasks {
	return &ingest.Tasks{Groups: by.Groups, Run: func(ctx context.Context, work any, n int, ended func(), take func(made float64)) error {
		by.Told = func(remote.Stats) { ended() }
		return remote.Rows(ctx, *by, readKind, work, nil, int64(n), 1, func(_ int64, rows *mat.Dense) error {
			for _, made := range rows.RawMatrix().Data {
				take(made)
			}
			return nil
		})
	}}
}

// engineModules are the engines that are driven by a Python module. Their names stand before "://" in --engine, or before "-local".
var engineModules = map[string]engineCost{"dask": {0.02, 2.4}, "ray": {0.005, 7}, "spark": {0.15, 20}}

// engineCost is the time in seconds that an engine takes besides its tasks: for a pass (bench/dist), and to start on this machine.
type engineCost struct{ pass, start float64 }

// engineModule returns the module of an engine, "" if it needs none, and whether the run starts the engine on this machine.
func engineModule(name string) (module string, starts bool) {
	module, _, runs := strings.Cut(name, "://")
	if !runs {
		module, starts = strings.CutSuffix(name, "-local")
	}
	if _, known := engineModules[module]; !known || !runs && !starts {
		return "", false
	}
	return module, starts
}

// forecast returns the costs that plan assumes for an engine, and the threads of each worker. Workers of an engine that the run
// starts, and of local and command:, are assumed to share the processors of this machine. Workers of a running engine are
// assumed to have as many processors each: threads is 0.
func (o *engineOptions) forecast(workers int) (cost engineCost, threads int) {
	module, starts := engineModule(o.name)
	cost = engineModules[module]
	if !starts {
		cost.start = 0
	}
	if starts || module == "" {
		threads = max(1, runtime.GOMAXPROCS(0)/workers)
	}
	return cost, threads
}

func (o *engineOptions) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.name, "engine", "", "have tasks of `ENGINE` do the work: local, dask-local, dask://HOST:PORT, ray-local, ray://HOST:PORT, spark-local, spark://HOST:PORT, or command:PROGRAM, which is run with its arguments and speaks as gdsvd worker does")
	f.StringVar(&o.shared, "shared", "", "with --engine: a folder `DIR` that this machine and all workers see under the same path, as they do STORE, or s3://BUCKET/PREFIX, as which STORE may be given, too; it holds the numbers that tasks make")
	f.IntVar(&o.groups, "groups", 0, "with --engine: cut the matrix into `N` groups of rows, a task each, 2 to 4 a worker (0: 16); the last digits of vectors depend on N and on nothing else of the engine")
	f.IntVar(&o.processes, "processes", 1, "with --engine command: start `N` of the program")
	f.DurationVar(&o.timeout, "task-timeout", 30*time.Minute, "with --engine: a worker that completes no task for this time is killed, and its tasks run again (0: no limit)")
}

// usualPassCost is about that of Dask. It is the same for all engines, so that they choose the same method.
const usualPassCost = 32 * time.Millisecond

// defaultGroups suffices for a handful of workers.
const defaultGroups = 16

// known returns an error if no engine has the name, or the number of groups is negative.
func (o *engineOptions) known(cmd *cobra.Command) error {
	kind, rest, _ := strings.Cut(o.name, ":")
	module, starts := engineModule(o.name)
	switch {
	case o.groups < 0:
		return ui.Usagef(cmd, "--groups %d: want a number of groups, or 0 for as many as is usual", o.groups)
	case kind == "command" && strings.TrimSpace(rest) == "":
		return ui.Usagef(cmd, "--engine %s: name the program, as in command:gdsvd worker", o.name)
	case kind != "command" && o.name != "local" && (module == "" || !starts && rest == "//"):
		return ui.Usagef(cmd, "--engine %s: choose local, dask-local, dask://HOST:PORT, ray-local, ray://HOST:PORT, spark-local, spark://HOST:PORT or command:PROGRAM", o.name)
	}
	return nil
}

// options returns the options of the engine that the flags name; nil: no engine.
func (o *engineOptions) options(cmd *cobra.Command, fsys vfs.FS) (*remote.Options, error) {
	if o.name == "" {
		for _, flag := range []string{"shared", "groups", "processes", "task-timeout", "pass-cost"} {
			if f := cmd.Flags().Lookup(flag); f != nil && f.Changed {
				return nil, ui.Usagef(cmd, "--%s is for a run with --engine", flag)
			}
		}
		return nil, nil
	}
	kind, rest, _ := strings.Cut(o.name, ":")
	switch {
	case o.shared == "":
		return nil, ui.Usagef(cmd, "--engine %s needs a folder or bucket that all workers see: give it with --shared", o.name)
	case o.processes < 1, o.processes > 1 && kind != "command":
		return nil, ui.Usagef(cmd, "--processes %d: want one or more, with --engine command", o.processes)
	case o.timeout < 0:
		return nil, ui.Usagef(cmd, "--task-timeout %v: want a time, or 0 for none", o.timeout)
	}
	if err := o.known(cmd); err != nil {
		return nil, err
	}
	all := &remote.Options{Shared: o.shared, Groups: cmp.Or(o.groups, defaultGroups)}
	command := &remote.Command{Label: kind, Processes: o.processes, Window: 1, Timeout: o.timeout}
	switch kind {
	case "local":
		all.Engine = &remote.Local{Worker: &remote.Worker{FS: fsys, Make: making}}
		return all, nil
	case "command":
		command.Args = strings.Fields(rest)
	default:
		args, err := moduleArgs(o.name)
		if err != nil {
			return nil, err
		}
		command.Args, command.Window = args, 0
	}
	if _, err := exec.LookPath(command.Args[0]); err != nil {
		return nil, ui.Usagef(cmd, "--engine %s: %v", o.name, err)
	}
	all.Engine = command
	return all, nil
}

// moduleArgs returns the command that drives an engine in Python: the module, the address of the engine, and this program,
// which workers start unless they have their own.
func moduleArgs(name string) ([]string, error) {
	module, _ := engineModule(name)
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return nil, err
	}
	python := cmp.Or(os.Getenv("GDSVD_PYTHON"), "python3") // the interpreter that started this program, if any
	return []string{python, "-m", "gdsvd.engines", module, name, self}, nil
}

func (a *app) workerCommand() *cobra.Command {
	w := &remote.Worker{Make: making}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Do the tasks of a run with --engine",
		Long: `worker does tasks that come on standard input, a line of JSON each, and answers each with a line
on standard output, until standard input ends. A task is a part of a pass over a store, rows of
gdsvd recommend, shards to check, or inputs to read, for a run with --engine; engines start workers. A
worker reads inputs, store and the shared folder under the same names as the run, and
keeps no state between tasks that another worker would need.`,
		Example: `  gdsvd worker --memory 4GiB --workers 2`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.FS = a.fsys
			defer a.within(&w.Memory)()
			return w.Serve(cmd.Context(), a.stdin, a.stdout)
		},
	}
	addBudgetFlags(cmd.Flags(), &w.Memory, &w.Workers)
	return cmd
}
