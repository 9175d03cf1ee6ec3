package flags

import (
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/ingest"
)

// Sift adds the flags of what is left out of a matrix and held out of it.
func Sift(f *pflag.FlagSet, o *ingest.Options) {
	f.Int64Var(&o.Filter.MinPerRow, "min-per-row", 0, "leave out rows with fewer than `N` entries, and so on until all that is left has enough")
	f.Int64Var(&o.Filter.MinPerCol, "min-per-col", 0, "leave out columns with fewer than `N` entries, likewise")
	f.Var(ui.Parsed(&o.Filter.MinValue, "X", parseNumber, writeNumber), "min-value", "leave out entries below `X`, duplicates combined")
	moment := func(p *time.Time) pflag.Value { return ui.Parsed(p, "TIME", ingest.ParseTime, writeTime) }
	f.Var(moment(&o.Filter.Since), "since", "leave out lines before a `TIME`: a date, a datetime of ISO 8601, or seconds since 1970")
	f.Var(moment(&o.Filter.Until), "until", "leave out lines from a `TIME` on")
	seed := ui.Parsed(&o.Holdout.Seed, "S", func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, func(n uint64) string { return strconv.FormatUint(n, 10) })
	holdout := ui.Parsed(&o.Holdout, "WHICH", func(s string) (ingest.Holdout, error) {
		h, err := ingest.ParseHoldout(s)
		h.Seed = o.Holdout.Seed
		return h, err
	}, ingest.Holdout.String)
	f.Var(holdout, "holdout", "write a second store, STORE.test, of entries held out: `WHICH` is random:0.2 (of all), last:1 (the newest of each row), time:0.1 (the newest of all) or after:2019-07-28")
	f.Var(seed, "holdout-seed", "seed `S` of a random hold-out")
}

func parseNumber(s string) (*float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	return &x, err
}

func writeNumber(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

func writeTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
