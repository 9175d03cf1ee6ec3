package live

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream"
)

// TestMetrics compares the metrics of three runs, as parsed reads them, with their quantities.
func TestMetrics(t *testing.T) {
	began := time.Unix(1700000000, 250e6)
	run := &State{
		Name: "a.svd", Status: Running, Seconds: 20, told: 15, RSS: 5 << 20, PeakRSS: 6 << 20, BytesRead: 1 << 30, BytesPerSecond: 12.5e6,
		About: About{Command: "svd", Began: began, Rank: 10, Workers: 4, Budget: 1 << 28, Parts: []stream.Part{{Name: "x", Bytes: 7}, {Name: "y", Bytes: 8}}},
		Stage: Stage{Name: "passes", Unit: "passes", Left: 30, Share: 0.25},
		Last:  &factor.Event{Pass: 12, Locked: 3, Worst: 1e-5, Goal: 1e-8},
	}
	ingest := &State{
		Name: `o"d\d` + "\n\xff", Status: Died, Seconds: 3, RSS: 9,
		About: About{Command: "ingest"}, Stage: Stage{Name: "read", Unit: "bytes", Done: 50, Total: 200, Entries: 77},
	}
	fit := &State{
		Name: "fit", Status: Finished, About: About{Command: "complete", Rank: 5}, Last: &factor.Event{Pass: 40, Objective: 12.5, RMSE: 0.8, Worst: factor.Number(math.NaN())},
	}
	got := parsed(t, Metrics([]*State{run, ingest, fit}))
	odd := "|run=o\"d\\d\n\uFFFD"
	for key, want := range map[string]float64{
		"gdsvd_up|run=a.svd": 1, "gdsvd_up" + odd: 0, "gdsvd_up|run=fit": 0,
		"gdsvd_run_status|run=a.svd|status=running": 1, "gdsvd_run_status|run=a.svd|status=died": 0, "gdsvd_run_status" + odd + "|status=died": 1,
		"gdsvd_start_time_seconds|run=a.svd": 1700000000.25,
		"gdsvd_elapsed_seconds|run=a.svd":    20, "gdsvd_elapsed_seconds" + odd: 3,
		"gdsvd_left_seconds|run=a.svd":   25, // 30 s, written 5 s ago
		"gdsvd_progress_ratio|run=a.svd": 0.25, "gdsvd_progress_ratio" + odd: 0.25, "gdsvd_progress_ratio|run=fit": 1,
		"gdsvd_stage_done" + odd: 50, "gdsvd_stage_total" + odd: 200, "gdsvd_entries" + odd: 77,
		"gdsvd_passes|run=a.svd": 12, "gdsvd_passes|run=fit": 40, "gdsvd_triplets_found|run=a.svd": 3, "gdsvd_triplets_wanted|run=a.svd": 10,
		"gdsvd_residual|run=a.svd": 1e-5, "gdsvd_residual_goal|run=a.svd": 1e-8,
		"gdsvd_read_bytes|run=a.svd": 1 << 30, "gdsvd_read_bytes_per_second|run=a.svd": 12.5e6,
		"gdsvd_resident_memory_bytes|run=a.svd": 5 << 20, "gdsvd_resident_memory_peak_bytes|run=a.svd": 6 << 20,
		"gdsvd_memory_budget_bytes|run=a.svd": 1 << 28, "gdsvd_memory_planned_bytes|run=a.svd": 15, "gdsvd_workers|run=a.svd": 4,
		"gdsvd_objective|run=fit": 12.5, "gdsvd_rmse|run=fit": 0.8,
	} {
		if x, there := got[key]; !there || x != want {
			t.Errorf("%s is %v (%v), want %v", key, x, there, want)
		}
	}
	for _, key := range []string{"gdsvd_triplets_found|run=fit", "gdsvd_residual|run=fit", "gdsvd_resident_memory_bytes" + odd, "gdsvd_start_time_seconds" + odd} {
		if x, there := got[key]; there {
			t.Errorf("%s is %v, and is not known", key, x)
		}
	}
	if text := Metrics(nil); len(text) > 0 {
		t.Errorf("of no run there is %q", text)
	}
}

// TestMetricsOfAnyName: metrics of runs with any names are parsed, and each family occurs once.
func TestMetricsOfAnyName(t *testing.T) {
	named := regexp.MustCompile(`(?m)^# TYPE (\w+) gauge$`)
	rapid.Check(t, func(r *rapid.T) {
		var runs []*State
		for _, name := range rapid.SliceOfNDistinct(rapid.String(), 1, 4, rapid.ID).Draw(r, "names") {
			runs = append(runs, &State{
				Name: name, Status: rapid.SampledFrom(Statuses()).Draw(r, "status"), Seconds: rapid.Float64().Draw(r, "seconds"),
				About: About{Command: rapid.String().Draw(r, "command"), Host: rapid.String().Draw(r, "host")},
				Stage: Stage{Name: rapid.String().Draw(r, "stage"), Done: rapid.Int64().Draw(r, "done"), Total: rapid.Int64().Draw(r, "total")},
			})
		}
		text := Metrics(runs)
		families := map[string]bool{}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if families[string(m[1])] {
				r.Fatalf("%s is there twice", m[1])
			}
			families[string(m[1])] = true
		}
		n := 0
		for key := range parsed(t, text) {
			if strings.HasPrefix(key, "gdsvd_up|") {
				n++
			}
		}
		if n != len(runs) {
			r.Fatalf("%d of %d runs are there", n, len(runs))
		}
	})
}
