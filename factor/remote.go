package factor

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/gdsvd/gdsvd/stream/remote"
)

// Engine describes the engine that made the passes of a result.
type Engine struct {
	Name    string `json:"name"`    // name of the engine
	Groups  int    `json:"groups"`  // number of groups that the matrix is divided into; the last digits of the result depend on it
	Tasks   int    `json:"tasks"`   // number of tasks given to the engine; 0 in a plan
	Retries int    `json:"retries"` // number of tasks that were given to the engine again; 0 in a plan
	// seconds that a pass takes in addition to its work, as given or as measured to choose the method; absent if there was no choice
	PassSeconds float64 `json:"pass_seconds,omitempty"`
}

// onEngine begins the tasks that make the passes of the run; it returns nil if this process makes the passes. If a method is
// to be chosen, it measures the time that a pass takes beside its work.
func (t *task) onEngine(ctx context.Context, before outState) (_ *remote.Matrix, err error) {
	if t.Remote == nil {
		return nil, nil
	}
	o := *t.Remote
	o.FS, o.Log = t.FS, t.Log
	s := remote.Subject{Store: t.store}
	if t.view != nil {
		s.View, s.Pipeline = t.view, t.View.String()
	}
	tasks, err := remote.New(s, o)
	if err == nil && t.Method == nil && t.PassCost == 0 && !(t.Resume && before.checkpoint) {
		if t.PassCost, err = tasks.PassCost(ctx); err != nil {
			err = errors.Join(err, tasks.Close())
		}
	}
	return tasks, err
}

// explainEngine describes the engine before a run. It measures the time that a pass takes beside its work unless that is given.
func (t *task) explainEngine(ctx context.Context, before outState) (*Engine, error) {
	if t.Remote == nil {
		return nil, nil
	}
	e := &Engine{Groups: min(t.Remote.Groups, max(1, t.store.NumBlocks()))}
	if t.PassCost == 0 {
		tasks, err := t.onEngine(ctx, before)
		if err == nil {
			err = tasks.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	if e.PassSeconds = t.PassCost.Seconds(); t.Remote.Engine != nil {
		e.Name = t.Remote.Engine.Name()
	}
	return e, nil
}

// bucketRate is the rate in bytes per second at which a worker, or the driver, moves data through a bucket.
const bucketRate = 1e8

// folderRate is the same for a folder. It is lower than the rate of reading and writing alone, as sums are made and added up, too. ofTask
// is the seconds that a task takes beside its work. Both are fitted to the runs of bench/dist/results/forecasts.md.
const folderRate, ofTask = 0.75 * remote.SharedRate, 0.003

// putsASecond and getsASecond are the requests per second that S3 serves for a prefix: https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html.
const (
	putsASecond = 3500
	getsASecond = 5500
)

// Forecast estimates a run whose passes are tasks. Seconds are of a pass, except Left, Start and Total.
type Forecast struct {
	Workers int     `json:"workers"`       // number of workers of the engine, each assumed to be as fast as this machine
	Groups  int     `json:"groups"`        // number of groups that the blocks of rows are divided into; a pass has one task for each group
	Width   int     `json:"width"`         // number of columns that a pass multiplies by the matrix
	Passes  int     `json:"passes"`        // number of passes
	Read    int64   `json:"pass_read"`     // bytes that a pass reads from the shared folder
	Written int64   `json:"pass_written"`  // bytes that a pass writes to the shared folder
	Gets    int64   `json:"pass_gets"`     // read requests to the bucket per pass
	Puts    int64   `json:"pass_puts"`     // write and delete requests to the bucket per pass
	GetRate float64 `json:"gets_a_second"` // read requests per second; a bucket serves at most 5,500 per second for a prefix
	PutRate float64 `json:"puts_a_second"` // write and delete requests per second; a bucket serves at most 3,500 per second for a prefix
	Fixed   float64 `json:"fixed"`         // seconds per pass that do not depend on the amount of work
	Shared  float64 `json:"shared"`        // seconds per pass of reading and writing the shared folder
	Work    float64 `json:"work"`          // seconds per pass of products with the matrix
	Dense   float64 `json:"dense"`         // seconds per pass of dense linear algebra between passes
	Left    float64 `json:"left"`          // seconds of computing the left vectors, once at the end
	Start   float64 `json:"start"`         // seconds until an engine that is started for the run does tasks
	Total   float64 `json:"total"`         // seconds in total
	Limit   string  `json:"limit"`         // what takes the largest part of the time: work, shared, fixed, dense, left or requests
}

// Forecast estimates the run with a number of workers and groups. pass and start are the seconds of Forecast.Fixed without
// tasks and of Forecast.Start; bucket says whether the shared folder is a bucket.
func (e *Explanation) Forecast(workers, groups int, pass, start float64, bucket bool) *Forecast {
	passes, most := max(1, e.Plan.Passes), float64((groups+workers-1)/workers) // most: largest number of tasks of a worker in a pass
	f := &Forecast{Workers: workers, Groups: groups, Passes: passes, Width: max(1, int(e.Plan.Products)/passes), Fixed: pass + ofTask*most, Start: start}
	rate, byDriver := folderRate, 0.0 // byDriver: share of the left vectors that the driver moves alone
	if bucket {
		rate, byDriver = bucketRate, 0.4
	}
	rows, cols := max(e.Rows, e.Cols), min(e.Rows, e.Cols)
	traffic := remote.TrafficOf(rows, cols, f.Width, groups, workers, e.K)
	f.Read, f.Written, f.Gets, f.Puts = traffic.Read, traffic.Written, traffic.Gets, traffic.Puts
	busy := float64(min(workers, groups))
	rounds := most * busy / float64(groups) // tasks of the busiest worker relative to the mean
	f.Shared = (float64(traffic.ByDriver) + rounds*float64(f.Read+f.Written-traffic.ByDriver)/busy) / rate
	f.Work = rounds * max(e.Plan.Multiply, e.Plan.Read) / float64(passes) / busy
	f.Dense = e.Plan.Dense / float64(passes)
	f.Left = float64(traffic.Left) / rate * ((1-byDriver)/busy + byDriver)
	each := f.Fixed + f.Shared + f.Work + f.Dense
	if requests := max(float64(f.Gets)/getsASecond, float64(f.Puts)/putsASecond); bucket && requests > each {
		f.Limit, each = "requests", requests
	}
	f.GetRate, f.PutRate = float64(f.Gets)/each, float64(f.Puts)/each
	f.Total = f.Start + float64(passes)*each + f.Left
	if f.Limit == "" {
		all := map[string]float64{"fixed": f.Fixed, "shared": f.Shared, "work": f.Work, "dense": f.Dense, "left": f.Left / float64(passes)}
		f.Limit = slices.MaxFunc([]string{"work", "shared", "fixed", "dense", "left"}, func(a, b string) int { return cmp.Compare(all[a], all[b]) })
	}
	return f
}

// Best returns the forecast of the shortest time for 1, 2, 3, 4 or 8 groups per worker, and at most most groups.
func (e *Explanation) Best(workers, most int, pass, start float64, bucket bool) (best *Forecast) {
	for _, each := range []int{1, 2, 3, 4, 8} {
		if f := e.Forecast(workers, min(each*workers, most), pass, start, bucket); best == nil || f.Total < best.Total {
			best = f
		}
	}
	return best
}
