package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
)

// app is one run of the program: its streams, what all commands have in
// common, and what tests replace.
type app struct {
	stdin  io.Reader
	stdout *ui.Output
	stderr io.Writer

	json       bool
	quiet      bool
	level      slog.Level
	configFile string
	fromConfig map[string]bool // flags that the configuration file has set

	methods  []method.Method // of the commands that factorise
	fsys     vfs.FS
	net      http.RoundTripper // makes the requests for inputs that are URLs; nil: the usual one
	terminal bool              // stderr is a terminal
	interval time.Duration     // between two log lines of progress; 0 is the default
	share    float64           // of the time of a run that checkpoints may take; 0 is the default
	display  *ui.Display

	patience time.Duration            // of linger
	doing    atomic.Pointer[activity] // what goes on after an interruption

	saying sync.Mutex  // held while shown is used
	shown  *ui.Display // display, for other goroutines
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: &ui.Output{W: stdout}, stderr: stderr, methods: all.Methods(), fsys: vfs.OS, patience: patience}
	if f, ok := stderr.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	return a
}

// run executes a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	ended, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		a.linger(ctx, ended)
	}()
	err := ui.EnoughFiles(ui.SomeFiles)
	if err == nil {
		root := a.rootCommand()
		strictly(root)
		root.SetArgs(args)
		err = root.ExecuteContext(ctx)
	}
	close(ended)
	<-quiet
	if a.display != nil {
		a.display.End()
	}
	if err == nil {
		err = a.stdout.Err // of a help text
	}
	a.report(err, args)
	return ui.ExitCode(err)
}

// say writes a line to standard error, whatever else is shown there. It may be
// called from any goroutine.
func (a *app) say(line string) {
	a.saying.Lock()
	defer a.saying.Unlock()
	if a.shown == nil {
		fmt.Fprintln(a.stderr, line)
		return
	}
	a.shown.Say(line)
}

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
` + ui.ExitHelp,
		Example: `  gdsvd ingest ratings.dat -o ratings.csr
  gdsvd svd ratings.csr -k 10 -o ratings.svd`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.readConfig(cmd); err != nil {
				return err
			}
			a.display = ui.NewDisplay(a.stderr, ui.DisplayOptions{
				Terminal: a.terminal, Quiet: a.quiet, Interval: a.interval, Level: a.level, Doing: a.beside,
			})
			a.saying.Lock()
			defer a.saying.Unlock()
			a.shown = a.display
			return nil
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(ui.FlagError)
	root.Version = readVersion().String() // printed without a template: text/template has the linker keep every method of the program
	root.SuggestionsMinimumDistance = 2

	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "print the result, or the error, as one JSON object on standard output")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no log, only results and errors")
	ui.ChoiceFlag(root, f, &a.level, "log-level", "", slog.LevelInfo, levels, "least level to log")
	f.StringVar(&a.configFile, "config", "", "read flags from the JSON object in `FILE`; flags given here win")

	root.AddCommand(
		a.sniffCommand(),
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
		a.versionCommand(),
	)
	return root
}

// unknownCommand is the Args of a command that only has subcommands.
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

// strictly has the commands that the library adds refuse what they do not know, as
// all others do: it has them print a help text.
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

// oneArgument is the Args of a command on one thing.
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

// directories completes an argument with the names of directories.
func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}
