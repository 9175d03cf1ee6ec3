package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/factor/watch"
	"github.com/gdsvd/gdsvd/solver"
)

func (a *app) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch OUT|FOLDER",
		Short: "Show runs in a browser while they go on",
		Long: `watch serves a page about the run that writes OUT, in any process: the share that is done,
the time left, residuals by pass, bytes per second, memory against the budget. For a
FOLDER it lists all runs. A finished run is shown with its result; a run whose process
died is marked as died.

The page is at http://127.0.0.1:8710/ until the command is interrupted. /metrics has the same
for Prometheus, /api/runs and /api/events as JSON, /healthz whether it answers. An address
that other machines reach needs --token: the page is at /?token=TOKEN then, and programs
send "Authorization: Bearer TOKEN".

svd, eigs, ingest, append and complete serve the same page about themselves with --listen.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd watch ml-10m.svd
  gdsvd watch runs --listen 127.0.0.1:8080
  gdsvd svd ml-10m.csr -k 10 -o ml-10m.svd --listen 127.0.0.1:8710`,
		Args:              oneArgument("OUT or FOLDER"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.watch(cmd, args[0])
		},
	}
	a.watchFlags(cmd.Flags())
	cmd.Flags().Lookup("listen").DefValue = watch.DefaultListen // of this command only: all commands share the variable
	return cmd
}

func (a *app) watchFlags(f *pflag.FlagSet) {
	f.StringVar(&a.listen, "listen", a.listen, "serve a page about the run, and metrics, at `HOST:PORT`, such as "+watch.DefaultListen+"; see gdsvd watch")
	f.StringVar(&a.token, "token", a.token, "with --listen: requests need the `TOKEN`; without it only addresses of this machine are listened to")
}

// recordFlags adds the flags by which a run publishes its progress. Commands that are made to be printed keep their values.
func (a *app) recordFlags(f *pflag.FlagSet) {
	a.watchFlags(f)
	f.StringVar(&a.metrics, "metrics-file", a.metrics, "keep metrics of the run in `FILE`, a *.prom of the textfile collector of node_exporter")
}

// watch serves a page about a run, or about the runs of a folder, until the command is interrupted.
func (a *app) watch(cmd *cobra.Command, path string) error {
	source, err := live.Open(cmd.Context(), a.fsys, path)
	if err != nil {
		return err
	}
	a.listen = cmp.Or(a.listen, watch.DefaultListen)
	server, err := a.serve(cmd, source, path)
	if err != nil {
		return err
	}
	err = a.print(watched{server.URL()}, nil, func(out *show.Printer) {
		out.Printf("%s shows %s until you press Ctrl-C\n", server.URL(), path)
	})
	if err == nil {
		<-cmd.Context().Done()
	}
	return errors.Join(err, server.Close())
}

type watched struct {
	URL string `json:"url"` // address of the page
}

func (a *app) serve(cmd *cobra.Command, source watch.Source, path string) (*watch.Server, error) {
	name := path
	if abs, err := filepath.Abs(path); err == nil {
		name = filepath.Base(abs)
	}
	server, err := watch.Listen(cmd.Context(), watch.Options{Listen: a.listen, Token: a.token, Name: name, Source: source})
	if errors.Is(err, watch.ErrNoToken) {
		err = ui.Usagef(cmd, "%v: give one with --token, or listen on %s", err, watch.DefaultListen)
	}
	return server, err
}

// record records a run, and serves it if --listen is set. end must be called with the error of the run.
func (a *app) record(cmd *cobra.Command, about live.About) (rec *live.Recorder, end func(error) error, err error) {
	if a.token != "" && a.listen == "" {
		return nil, nil, ui.Usagef(cmd, "--token is for --listen")
	}
	// Records are not part of the output: errors of writing them do not fail the run, and they do not use a.fsys.
	fsys := vfs.OS()
	about.PID = os.Getpid()
	about.Host, _ = os.Hostname() // left out if unknown
	rec = live.Record(fsys, about)
	written := func() error { return nil }
	if a.metrics != "" {
		if written, err = live.Textfile(fsys, a.metrics, live.TextfileEvery, rec.State); err != nil {
			return nil, nil, fmt.Errorf("--metrics-file: %w", err)
		}
	}
	closed := func() error { return nil }
	if a.listen != "" {
		server, err := a.serve(cmd, watch.Of(rec), about.Out)
		if err != nil {
			rec.End(live.Failed, err.Error()) // else the file of metrics says for ever that the run goes on
			return nil, nil, errors.Join(err, written())
		}
		a.display.Logger().Info("the run can be watched", "url", server.URL())
		closed = server.Close
	}
	return rec, func(err error) error {
		switch {
		case err == nil, errors.Is(err, factor.ErrNotConverged):
			rec.End(live.Finished, "")
		case errors.Is(err, context.Canceled):
			rec.End(live.Interrupted, err.Error())
		default:
			rec.End(live.Failed, err.Error())
		}
		if err := written(); err != nil {
			a.display.Logger().Warn("--metrics-file could not be written at the end, and may say that the run goes on", "error", err)
		}
		return closed()
	}, nil
}

// again returns the words of the command that repeats a run on a store, for factor.Options.Command.
func again(cmd *cobra.Command, path string) []string {
	own := []string{"config", "explain", "force", "json", "listen", "partial-ok", "quiet", "resume", "token"}
	return append([]string{"gdsvd", cmd.Name(), unsigned(path)},
		givenFlags(cmd, cmd.Flags(), func(name string) bool { return slices.Contains(own, name) })...)
}

func aboutRun(cmd *cobra.Command, store *csr.Store, path string, o factor.Options) live.About {
	about := live.About{
		Command: cmd.Name(), Out: o.Dir, Store: path, NNZ: store.NNZ(), Rank: o.Rank, Tol: o.Tol, Budget: o.Memory,
		Workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0)),
	}
	about.Rows, about.Cols = factor.Dims(store)
	if o.Which != solver.Semidefinite {
		about.Which = o.Which.String()
	}
	if o.Method != nil {
		about.Method = o.Method.Traits(max(o.Rank, 1)).Name
	}
	return about
}
