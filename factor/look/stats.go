package look

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream/view"
)

// StatsOptions of Summarise.
type StatsOptions struct {
	Options
	Dir     string // the directory to write; "": nothing is written
	Replace bool   // replace statistics that are there, in one step at the end
}

// Stats is what Summarise has found, of the user's matrix as its view makes it.
type Stats struct {
	Format string `json:"format"`
	Store  string `json:"store"`
	View   string `json:"view,omitempty"`
	Matrix string `json:"fingerprint"` // of the store
	// Entries are those that are not 0, Sum and Mean are of all elements.
	Entries int64         `json:"entries"`
	Sum     factor.Number `json:"sum"`
	Mean    factor.Number `json:"mean"`
	Norm    factor.Number `json:"norm"`
	Rows    SideStats     `json:"rows"`
	Cols    SideStats     `json:"cols"`
	Dir     string        `json:"out,omitempty"`
	Files   []string      `json:"files,omitempty"`
}

// SideStats describe the lengths of all rows or columns: how many entries they have.
type SideStats struct {
	Number    int64       `json:"number"`
	Empty     int64       `json:"empty"` // of them have no entry
	Quantiles []Quantile  `json:"quantiles"`
	Largest   []LineStats `json:"largest"` // the ten longest; of equals, those that come first
}

// Quantile is the least length that a share of the lines does not exceed: "inverted_cdf" of numpy.
type Quantile struct {
	Share  float64 `json:"share"`
	Length int64   `json:"length"`
}

// LineStats are the numbers of a row or column, Sum, Mean and Variance those of all its elements.
type LineStats struct {
	factor.Name
	Count    int64         `json:"count"` // of entries that are not 0
	Sum      factor.Number `json:"sum"`
	Mean     factor.Number `json:"mean"`
	Variance factor.Number `json:"variance"` // divided by the number of elements
}

const (
	statsFormat = "gdsvd-stats/1"
	longest     = 10
)

var shares = []float64{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1}

// Summarise reads the store once, besides what its view takes, for counts, sums, means and
// variances of its rows and columns. They have the same bits for any number of workers.
func Summarise(ctx context.Context, store *csr.Store, o StatsOptions) (_ *Stats, err error) {
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	var out *statsOutput
	if o.Dir != "" {
		if out, err = newStatsOutput(store, o); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, out.abort())
			}
		}()
	}
	l, err := newLook(ctx, store, o.Options, 1)
	if err != nil {
		return nil, err
	}
	sides := [2]*side{newSide(), newSide()}
	long, short := sides[csr.RowAxis], sides[csr.ColAxis]
	s, err := l.view.Summarise(ctx, l.options(reserve(store)), func(x []view.Numbers) error {
		long.add(x)
		return out.write(csr.RowAxis, x)
	})
	if err != nil {
		return nil, l.told(ctx, err)
	}
	short.add(s.Columns)
	if err := out.write(csr.ColAxis, s.Columns); err != nil {
		return nil, err
	}
	norm, _ := l.view.Norm()
	r := &Stats{Format: statsFormat, Store: store.Path(), View: l.pipeline(), Matrix: store.Fingerprint(), Entries: s.Count, Sum: factor.Number(s.Sum), Norm: factor.Number(norm), Dir: o.Dir}
	if elements := float64(store.Rows()) * float64(store.Cols()); elements > 0 {
		r.Mean = factor.Number(s.Sum / elements)
	}
	if r.Rows, err = sides[rows].stats(store, rows); err != nil {
		return nil, err
	}
	if r.Cols, err = sides[cols].stats(store, cols); err != nil {
		return nil, err
	}
	return r, out.commit(r)
}

// reserve is what is in memory beside the read: the lengths that occur, each with a number of
// lines, and buffers of files.
func reserve(store *csr.Store) int64 {
	const length, buffers = 64, 8 << 20
	different := min(float64(store.Cols())+1, math.Sqrt(2*float64(store.NNZ()))+1) // their sum is the number of entries
	other := min(float64(store.Cols()), math.Sqrt(2*float64(store.NNZ()))+1)
	return int64(length*(different+other)) + buffers
}

// side sums up the numbers of lines as they come.
type side struct {
	n       int64
	lengths map[int64]int64 // how many lines have a length
	top     []numbered
}

type numbered struct {
	at int64
	view.Numbers
}

func newSide() *side { return &side{lengths: map[int64]int64{}} }

func (s *side) add(lines []view.Numbers) {
	for _, x := range lines {
		s.lengths[x.Count]++
		if x.Count > 0 && (len(s.top) < longest || x.Count > s.top[longest-1].Count) {
			at := sort.Search(len(s.top), func(i int) bool { return s.top[i].Count < x.Count })
			s.top = slices.Insert(s.top, at, numbered{s.n, x})
			s.top = s.top[:min(len(s.top), longest)]
		}
		s.n++
	}
}

func (s *side) stats(store *csr.Store, axis csr.Axis) (SideStats, error) {
	r := SideStats{Number: s.n, Empty: s.lengths[0], Quantiles: s.quantiles(), Largest: []LineStats{}}
	var at []int64
	for _, x := range s.top {
		at = append(at, x.at)
	}
	names, err := namesOf(store, axis, at)
	for _, x := range s.top {
		r.Largest = append(r.Largest, LineStats{names[x.at], x.Count, factor.Number(x.Sum), factor.Number(x.Mean), factor.Number(x.Variance)})
	}
	return r, err
}

func (s *side) quantiles() []Quantile {
	q, passed := []Quantile{}, int64(0) // lines of lengths up to this one
	for _, length := range slices.Sorted(maps.Keys(s.lengths)) {
		passed += s.lengths[length]
		for len(q) < len(shares) && float64(passed) >= shares[len(q)]*float64(s.n) {
			q = append(q, Quantile{shares[len(q)], length})
		}
	}
	return q
}
