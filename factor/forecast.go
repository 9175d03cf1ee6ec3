package factor

import (
	"github.com/gdsvd/gdsvd/stream/remote"
)

// What a worker, or the driver, moves in a second through a shared folder, and through a bucket, in bytes.
const (
	folderRate = 1e9
	bucketRate = 1e8
)

// putsASecond and getsASecond are the requests a second that S3 answers for a prefix: https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html.
const (
	putsASecond = 3500
	getsASecond = 5500
)

// Forecast is what a run whose passes are tasks is expected to take. Seconds are of a pass, but for Total.
type Forecast struct {
	Workers int     `json:"workers"` // each as fast as this machine
	Groups  int     `json:"groups"`
	Width   int     `json:"width"` // columns of a pass
	Passes  int     `json:"passes"`
	Read    int64   `json:"pass_read"` // bytes of the shared folder, as is the next
	Written int64   `json:"pass_written"`
	Gets    int64   `json:"pass_gets"` // requests, as is the next, if it is in a bucket
	Puts    int64   `json:"pass_puts"`
	GetRate float64 `json:"gets_a_second"` // of at most 5,500 for a prefix
	PutRate float64 `json:"puts_a_second"` // of at most 3,500
	Fixed   float64 `json:"fixed"`
	Shared  float64 `json:"shared"`
	Work    float64 `json:"work"`
	Dense   float64 `json:"dense"`
	Left    float64 `json:"left"` // seconds of left vectors, once
	Total   float64 `json:"total"`
	Limit   string  `json:"limit"` // what takes longest: fixed, shared, work, dense, left or requests
}

// Forecast says how the run would go with a number of workers and groups.
func (e *Explanation) Forecast(workers, groups int, pass float64, bucket bool) *Forecast {
	passes := max(1, e.Plan.Passes)
	f := &Forecast{Workers: workers, Groups: groups, Passes: passes, Width: max(1, int(e.Plan.Products)/passes), Fixed: pass}
	rate := float64(folderRate)
	if bucket {
		rate = bucketRate
	}
	rows, cols := max(e.Rows, e.Cols), min(e.Rows, e.Cols)
	traffic := remote.TrafficOf(rows, cols, f.Width, groups, e.K)
	f.Read, f.Written, f.Gets, f.Puts = traffic.Read, traffic.Written, traffic.Gets, traffic.Puts
	busy := float64(min(workers, groups))
	rounds := float64((groups+workers-1)/workers) * busy / float64(groups) // how much longer the last worker has
	f.Shared = (float64(traffic.ByDriver) + rounds*float64(f.Read+f.Written-traffic.ByDriver)/busy) / rate
	f.Work = rounds * max(e.Plan.Multiply, e.Plan.Read) / float64(passes) / busy
	f.Dense = e.Plan.Dense / float64(passes)
	f.Left = float64(traffic.Left) / rate * (0.6/busy + 0.4)
	each := f.Fixed + f.Shared + f.Work + f.Dense
	if requests := max(float64(f.Gets)/getsASecond, float64(f.Puts)/putsASecond); bucket && requests > each {
		f.Limit, each = "requests", requests
	}
	f.GetRate, f.PutRate = float64(f.Gets)/each, float64(f.Puts)/each
	f.Total = float64(passes)*each + f.Left
	if f.Limit == "" {
		all := map[string]float64{"fixed": f.Fixed, "shared": f.Shared, "work": f.Work, "dense": f.Dense, "left": f.Left / float64(passes)}
		for _, what := range []string{"work", "shared", "fixed", "dense", "left"} {
			if f.Limit == "" || all[what] > all[f.Limit] {
				f.Limit = what
			}
		}
	}
	return f
}

// Best is the forecast with the number of groups that makes it shortest: from one to eight a worker, and most in all.
func (e *Explanation) Best(workers, most int, pass float64, bucket bool) (best *Forecast) {
	for _, each := range []int{1, 2, 3, 4, 8} {
		if f := e.Forecast(workers, min(each*workers, most), pass, bucket); best == nil || f.Total < best.Total {
			best = f
		}
	}
	return best
}
