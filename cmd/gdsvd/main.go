// Command gdsvd computes the k leading singular triplets of a sparse matrix
// that may be far larger than memory, with a certificate of their accuracy.
//
//	gdsvd ingest ratings.dat -o ratings.csr
//	gdsvd svd ratings.csr -k 10 -o ratings.svd
//
// gdsvd -h lists all commands, gdsvd COMMAND -h shows an example of each.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs unsolicited responses of servers with it
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	a.process = true
	go func() {
		<-signals
		time.AfterFunc(time.Second, cancel) // standard error may be a full pipe: the line is then never written
		go func() {
			a.say("gdsvd: interrupted, cleaning up (once more to stop at once)")
			cancel()
		}()
		<-signals
		os.Exit(ui.ExitInterrupted)
	}()
	os.Exit(a.run(ctx, os.Args[1:]))
}

// app is one run of the program: its streams, the options that all commands share, and what tests replace.
type app struct {
	stdin  io.Reader
	stdout *ui.Output
	stderr io.Writer

	json       bool
	quiet      bool
	level      slog.Level
	jsonLog    bool
	partialOK  bool
	listen     string // address at which a run is served; "": none
	token      string // token that requests to listen must have
	metrics    string // file for the metrics of a run; "": none
	configFile string
	standing   ui.Standing // flags set by the environment or a configuration file

	began   time.Time
	process bool // this is the only run of the process, whose heap has not been used before

	methods  []method.Method // of the commands that factorise
	fsys     vfs.FS
	buckets  *remote.Client    // client for the URLs of fsys; nil before a command runs
	net      http.RoundTripper // transport of the requests for inputs that are URLs; nil: the default one
	terminal bool              // stderr is a terminal
	interval time.Duration     // between two log lines of progress; 0: the default
	share    float64           // share of the time of a run that checkpoints may take; 0: the default
	display  *ui.Display

	patience time.Duration // patience of ui.Doing.Linger
	doing    ui.Doing      // activity that goes on after an interruption

	shown atomic.Pointer[ui.Display] // copy of display for other goroutines
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: &ui.Output{W: stdout}, stderr: stderr, methods: all.Methods(), fsys: vfs.OS(), patience: ui.Patience, began: time.Now()}
	a.show(ui.DisplayOptions{})
	a.terminal = ui.IsTerminal(stderr)
	if ui.IsTerminal(stdout) {
		a.stdout.Width = ui.Width(stdout)
	}
	return a
}

func (a *app) show(o ui.DisplayOptions) {
	a.display = ui.NewDisplay(a.stderr, o)
	a.shown.Store(a.display)
}

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.standing = ui.Standing{}
	a.listen, a.token, a.metrics = "", "", ""
	a.show(ui.DisplayOptions{JSON: ui.AsksForJSONLog(args)}) // until the flags are parsed
	ended, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		a.doing.Linger(ctx, ended, a.patience, a.say)
	}()
	err := cmp.Or(ui.EnoughFiles(ui.SomeFiles), ui.EnoughForRuntime())
	if err == nil {
		root := a.rootCommand()
		strictly(root)
		if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
			ui.RegisterCompletions(root)
		}
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	close(ended)
	<-quiet
	a.buckets.Close()
	a.stdout.End()
	a.display.End()
	if err == nil {
		err = a.stdout.Err // error of printing a help text
	}
	code := ui.ExitCode(err)
	if a.partialOK && onlyPartial(err) {
		code = ui.ExitOK
	}
	a.report(err, code, args)
	return code
}

// onlyPartial reports whether the only error is that a result falls short of its tolerance.
func onlyPartial(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !onlyPartial(e) })
	}
	return errors.Is(err, factor.ErrNotConverged)
}

// columns returns the width of standard output.
func (a *app) columns() int { return cmp.Or(a.stdout.Width, ui.Columns) }

// say writes a line to standard error, with the bar out of its way. It may be called from any goroutine.
func (a *app) say(line string) { a.shown.Load().Say(line) }

var levels = []ui.Choice[slog.Level]{
	{Name: "debug", Value: slog.LevelDebug}, {Name: "info", Value: slog.LevelInfo}, {Name: "warn", Value: slog.LevelWarn}, {Name: "error", Value: slog.LevelError},
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "gdsvd",
		Short: "Leading singular values and vectors of sparse matrices larger than memory",
		Long: `gdsvd computes the k leading singular triplets of a sparse matrix that may be
far larger than memory, with a certificate of their accuracy. Entries that are
not given are zeros: it decomposes the zero-filled matrix.

Every flag has a variable of the environment, GDSVD_ and its long name: GDSVD_MEMORY
for --memory, GDSVD_MIN_PER_ROW for --min-per-row. A flag that is given wins over the
variable, the variable over the file of --config.
` + ui.ExitHelp,
		Example: `  gdsvd ingest ratings.dat -o ratings.csr
  gdsvd svd ratings.csr -k 10 -o ratings.svd`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				return nil // the line that a shell completes has flags of its own
			}
			if err := a.standing.ReadEnvironment(cmd); err != nil {
				return err
			}
			if err := a.standing.ReadConfig(cmd, a.fsys, a.configFile); err != nil {
				return err
			}
			a.show(ui.DisplayOptions{
				Terminal: a.terminal, Quiet: a.quiet, JSON: a.jsonLog, Interval: a.interval, Level: a.level, Doing: a.doing.Beside,
			})
			a.buckets = remote.New(remote.Options{Transport: a.net, Log: a.display.Logger()})
			a.fsys = remote.NewFS(cmd.Context(), a.fsys, a.buckets)
			said, meant := ui.Misspelt(os.Environ(), ui.Flags(cmd.Root()))
			for i, name := range said {
				a.display.Logger().Warn("a variable of the environment sets no flag", "variable", name, "meant", ui.Variable(meant[i]))
			}
			if out := cmd.Flag("out"); out != nil && remote.Is(out.Value.String()) || cmd.Name() == "append" && remote.Is(args[0]) {
				return ui.Usagef(cmd, "buckets are read-only: write to a folder of this machine and copy that, for example with rclone copy")
			}
			// PreferHuge takes addresses. In a heap that has been used it would also clear memory.
			if m := cmd.Flag("memory"); a.process && m != nil && !m.Changed && vfs.AddressSpace() == math.MaxInt64 {
				heap.PreferHuge(factor.DefaultMemory())
			}
			return ui.CheckShared(cmd)
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(ui.FlagError)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(a.stdout)
		_, _ = io.WriteString(a.stdout, ui.Prose(text.String(), min(a.columns(), ui.Columns))) // stdout keeps the error
	})
	root.Version = ui.ReadVersion().String() // printed without a template: text/template makes the linker keep every method of the program
	root.SuggestionsMinimumDistance = 2

	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print the result, or the error, as one JSON object on standard output")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no log, only results and errors")
	ui.ChoiceFlag(f, &a.level, "log-level", slog.LevelInfo, levels, "least level to log")
	ui.ChoiceFlag(f, &a.jsonLog, "log-format", false, []ui.Choice[bool]{{Name: "text", Value: false}, {Name: "json", Value: true}},
		"progress, warnings and errors, on standard error, as text or one JSON object a line")
	f.StringVar(&a.configFile, "config", "", "read flags from the JSON object in `FILE`; flags given here win")

	root.AddCommand(
		a.sniffCommand(),
		a.planCommand(),
		a.ingestCommand(),
		a.appendCommand(),
		a.svdCommand(),
		a.eigsCommand(),
		a.completeCommand(),
		a.infoCommand(),
		a.viewCommand(),
		a.statsCommand(),
		a.checkCommand(),
		a.reportCommand(),
		a.watchCommand(),
		a.exportCommand(),
		a.projectCommand(),
		a.alignCommand(),
		a.recommendCommand(),
		a.similarCommand(),
		a.topicsCommand(),
		a.queryCommand(),
		a.evalCommand(),
		a.demoCommand(),
		a.generateCommand(),
		a.workerCommand(),
		a.manCommand(),
		a.versionCommand(),
	)
	return root
}

// unknownCommand is the Args of a command that has only subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if args[0] == "" {
		return ui.Usagef(cmd, "an empty word stands where a command is wanted")
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	return ui.Usagef(cmd, "unknown command %q%s", args[0], hint)
}

// strictly makes the commands that cobra adds refuse unknown arguments, as all other commands do. By default they print a
// help text.
func strictly(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err != nil || len(rest) == 0 {
					return err
				}
				return unknownCommand(about, rest)
			}
		case "completion":
			cmd.Args = unknownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// oneArgument returns the Args of a command that takes one argument.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return ui.Usagef(cmd, "want one %s, not %d arguments", what, len(args))
		}
		if args[0] == "" {
			return ui.Usagef(cmd, "the name of the %s is empty", what)
		}
		return nil
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return ui.Usagef(cmd, "%q: no argument is wanted", args[0])
	}
	return nil
}

func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// print returns err if it is not nil. Otherwise it prints v under --json, and calls text without --json.
func (a *app) print(v any, err error, text func(out *show.Printer)) error {
	switch {
	case err != nil:
		return err
	case a.json:
		return a.stdout.PrintJSON(v)
	}
	out := show.NewPrinter(a.stdout)
	text(out)
	return out.End()
}

// failure is printed under --json when a command has no result to print.
type failure struct {
	Error string `json:"error"` // error message
	Exit  int    `json:"exit"`  // exit code
}

// report writes the error of a run to standard error, and under --json to standard output if nothing has been printed there.
// It says nothing if the error is that the reader of standard output is gone.
func (a *app) report(err error, code int, args []string) {
	text := ""
	if err != nil && !(errors.Is(a.stdout.Err, syscall.EPIPE) && errors.Is(err, a.stdout.Err)) {
		text = ui.Message(err)
		if code == ui.ExitUsage {
			text += a.standing.Whose(text)
		}
	}
	a.display.Final(text, code, time.Since(a.began))
	if text != "" && (a.json || ui.AsksForJSON(args)) && !a.stdout.Begun {
		_ = a.stdout.PrintJSON(failure{text, code}) // an error of printing cannot change the exit code
	}
}

// budget returns the memory budget of a command, the default one if bytes is 0. It warns if the budget exceeds the memory of
// the machine.
func (a *app) budget(bytes int64) int64 {
	if bytes == 0 {
		return factor.DefaultMemory()
	}
	if total := memory.Total(); total > 0 && bytes > total {
		a.display.Logger().Warn("--memory is more than the machine, or the control group, has: the system may end the process",
			"memory", memory.FormatSize(bytes), "has", memory.FormatSize(total))
	}
	return bytes
}

// within replaces a memory budget of 0 by the default, and limits the heap to the budget until undo is called.
func (a *app) within(memory *int64) (undo func()) {
	*memory = a.budget(*memory)
	return heap.Limit(heap.Unplanned(*memory))
}

// printResult prints the result of a run; dir is its directory.
func (a *app) printResult(r *factor.Result, dir string) error {
	return a.print(r, nil, func(out *show.Printer) { show.Result(out, r, dir) })
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  gdsvd version --json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := ui.ReadVersion()
			return a.print(v, nil, func(out *show.Printer) {
				out.Printf("gdsvd version %v\n%s %s/%s, store format %d\n", v, v.Go, v.OS, v.Arch, v.StoreFormat)
			})
		},
	}
}
