package live

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// ContentType is the content type of the text of Metrics.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// metric is a family of samples.
type metric struct {
	name, help string
	of         func(s *State) float64 // NaN: the run has no sample
}

// when returns x if there is true, else NaN.
func when(there bool, x float64) float64 {
	if there {
		return x
	}
	return math.NaN()
}

// one returns 1 for true, 0 for false.
func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// known returns x, or NaN for zero.
func known[N int | int64 | float64](x N) float64 { return when(x != 0, float64(x)) }

// last returns the function of a quantity of the last pass; its value is NaN before the first pass.
func last(of func(p *factor.Event) float64) func(s *State) float64 {
	return func(s *State) float64 {
		if s.Last == nil {
			return math.NaN()
		}
		return of(s.Last)
	}
}

func ofTasks(of func(t *Tasks) float64) func(s *State) float64 {
	return func(s *State) float64 {
		if s.Tasks == nil {
			return math.NaN()
		}
		return of(s.Tasks)
	}
}

func metrics() []metric {
	return []metric{
		{"gdsvd_up", "Whether the run is going on: 1 or 0.", func(s *State) float64 { return one(s.Status == Running) }},
		{"gdsvd_start_time_seconds", "Unix time at which the run began.", func(s *State) float64 { return when(!s.Began.IsZero(), float64(s.Began.UnixMilli())/1e3) }},
		{"gdsvd_elapsed_seconds", "Time from the beginning of the run to its last sign of life.", func(s *State) float64 { return known(s.Seconds) }},
		{"gdsvd_left_seconds", "Estimate of the time that the run still takes.", func(s *State) float64 { return known(s.Remaining()) }},
		{"gdsvd_progress_ratio", "Share of the run, or of its stage, that is done.", (*State).Progress},
		{"gdsvd_stage_done", "What the stage has done, in the unit of gdsvd_run_info.", func(s *State) float64 { return known(s.Done) }},
		{"gdsvd_stage_total", "What the stage has to do, in the unit of gdsvd_run_info.", func(s *State) float64 { return known(s.Total) }},
		{"gdsvd_entries", "Entries read by an ingest.", func(s *State) float64 { return known(s.Entries) }},
		{"gdsvd_passes", "Passes over the matrix, or rounds of a completion, those before a resume included.", last(func(p *factor.Event) float64 { return float64(p.Pass) })},
		{"gdsvd_triplets_found", "Triplets found.", func(s *State) float64 {
			if s.Last == nil || s.Rank == 0 || s.Last.Objective != 0 {
				return math.NaN()
			}
			return float64(s.Last.Locked)
		}},
		{"gdsvd_triplets_wanted", "Triplets to be found, or the most of them.", func(s *State) float64 { return known(s.Rank) }},
		{"gdsvd_residual", "Largest relative residual among the triplets that are looked for.", last(func(p *factor.Event) float64 { return known(float64(p.Worst)) })},
		{"gdsvd_residual_goal", "What gdsvd_residual has to fall to.", last(func(p *factor.Event) float64 { return known(float64(p.Goal)) })},
		{"gdsvd_objective", "Objective of a completion.", last(func(p *factor.Event) float64 { return known(float64(p.Objective)) })},
		{"gdsvd_rmse", "Root mean square error of a completion on the entries that it fits.", last(func(p *factor.Event) float64 { return known(float64(p.RMSE)) })},
		{"gdsvd_read_bytes", "Bytes of the input or of the store that were read.", func(s *State) float64 { return known(s.BytesRead) }},
		{"gdsvd_read_bytes_per_second", "Bytes read per second, lately.", func(s *State) float64 { return when(s.Status == Running, known(s.BytesPerSecond)) }},
		{"gdsvd_resident_memory_bytes", "Resident memory of the process.", func(s *State) float64 { return when(s.Status == Running, known(s.RSS)) }},
		{"gdsvd_resident_memory_peak_bytes", "Largest resident memory of the process so far.", func(s *State) float64 { return known(s.PeakRSS) }},
		{"gdsvd_memory_budget_bytes", "Memory that the run is to stay within.", func(s *State) float64 { return known(s.Budget) }},
		{"gdsvd_memory_planned_bytes", "Memory that the run has planned.", func(s *State) float64 { return known(s.Planned()) }},
		{"gdsvd_tasks", "Tasks given to the engine of a run.", ofTasks(func(t *Tasks) float64 { return float64(t.Given) })},
		{"gdsvd_task_retries", "Tasks given to the engine again.", ofTasks(func(t *Tasks) float64 { return float64(t.Retries) })},
		{"gdsvd_task_workers", "Workers of the engine that have ended tasks lately.", ofTasks(func(t *Tasks) float64 { return float64(t.Workers) })},
		{"gdsvd_task_read_bytes", "Bytes of the store that tasks have read.", ofTasks(func(t *Tasks) float64 { return float64(t.Read) })},
		{"gdsvd_workers", "Threads that multiply, parse or sort.", func(s *State) float64 { return known(s.Workers) }},
	}
}

// Metrics returns the metrics of runs in the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). The names of the runs must differ.
func Metrics(runs []*State) []byte {
	if len(runs) == 0 {
		return []byte{}
	}
	var b strings.Builder
	family(&b, "gdsvd_run_info", "What the run is; always 1.")
	for _, s := range runs {
		fmt.Fprintf(&b, "gdsvd_run_info{run=%s,command=%s,stage=%s,unit=%s,method=%s,host=%s} 1\n",
			label(s.Name), label(s.Command), label(s.Stage.Name), label(s.Unit), label(s.Method), label(s.Host))
	}
	family(&b, "gdsvd_run_status", "1 for the status that the run has, 0 for the others.")
	for _, s := range runs {
		for _, status := range Statuses() {
			fmt.Fprintf(&b, "gdsvd_run_status{run=%s,status=%s} %g\n", label(s.Name), label(string(status)), one(status == s.Status))
		}
	}
	for _, m := range metrics() {
		begun := false
		for _, s := range runs {
			x := m.of(s)
			if math.IsNaN(x) {
				continue
			}
			if !begun {
				family(&b, m.name, m.help)
				begun = true
			}
			fmt.Fprintf(&b, "%s{run=%s} %s\n", m.name, label(s.Name), strconv.FormatFloat(x, 'g', -1, 64))
		}
	}
	return []byte(b.String())
}

func family(b *strings.Builder, name, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// label returns the quoted value of a label, in UTF-8, with backslashes, quotes and line feeds escaped.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"`
}

// TextfileEvery is the time between two writes of a file of metrics, which node_exporter reads at every scrape.
const TextfileEvery = 10 * time.Second

// Textfile keeps the metrics of a run in a file for the textfile collector of Prometheus' node_exporter, which reads
// *.prom. The file is replaced in one step, so that a reader never sees half of it.
// Textfile writes the file before it returns, and returns an error if that fails. A later write that fails is made up for by
// the next one, also one at the moment when another run writes the same file. end writes the file for the last time.
func Textfile(fsys vfs.FS, name string, every time.Duration, state func() *State) (end func() error, err error) {
	write := func() error {
		return durable.Publish(fsys, name, durable.Bytes(Metrics([]*State{state()})))
	}
	if info, err := fsys.Stat(name); err == nil && !info.Mode().IsRegular() { // a file would take the place of a device or a pipe
		return nil, vfs.Regular(name, info)
	}
	if err := write(); err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_ = write() // the next write repeats it, and end returns its error
			}
		}
	})
	return func() error {
		close(stop)
		done.Wait()
		return write()
	}, nil
}
