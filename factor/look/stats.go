package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream/view"
)

// StatsOptions are the options of Summarise.
type StatsOptions struct {
	Options
	Dir     string // the directory to write; "": nothing is written
	Replace bool   // replace existing statistics, in one step at the end
}

// Stats holds statistics of the user's matrix as its view makes it.
type Stats struct {
	Format  string        `json:"format"`          // name of the format
	Store   string        `json:"store"`           // the store
	View    string        `json:"view,omitempty"`  // the view
	Matrix  string        `json:"fingerprint"`     // fingerprint of the store
	Entries int64         `json:"entries"`         // number of entries that are not 0; those that centring makes of missing ones are not counted
	Sum     factor.Number `json:"sum"`             // sum of all elements
	Mean    factor.Number `json:"mean"`            // mean of all elements
	Norm    factor.Number `json:"norm"`            // square root of the sum of squares of all elements
	Rows    SideStats     `json:"rows"`            // statistics of the rows
	Cols    SideStats     `json:"cols"`            // statistics of the columns
	Dir     string        `json:"out,omitempty"`   // directory with one file for the rows and one for the columns
	Files   []string      `json:"files,omitempty"` // names of the files in the directory
}

// SideStats describes the lengths of all rows or columns, that is, their numbers of entries.
type SideStats struct {
	Number    int64       `json:"number"`    // number of rows or columns
	Empty     int64       `json:"empty"`     // number of rows or columns without an entry
	Quantiles []Quantile  `json:"quantiles"` // quantiles of the number of entries of a row or column
	Largest   []LineStats `json:"largest"`   // the ten rows or columns with the most entries; of those with equally many, the ones with lower indices
}

// Quantile is the least length that a share of the lines does not exceed: "inverted_cdf" of numpy.
type Quantile struct {
	Share  float64 `json:"share"`  // share of the rows or columns, between 0 and 1
	Length int64   `json:"length"` // number of entries that this share of the rows or columns does not exceed
}

// LineStats holds statistics of a row or column. Sum, Mean and Variance are over all its elements.
type LineStats struct {
	factor.Name
	Count    int64         `json:"count"`    // number of entries that are not 0, counted as in `entries`
	Sum      factor.Number `json:"sum"`      // sum of the elements
	Mean     factor.Number `json:"mean"`     // mean of the elements, those without an entry included
	Variance factor.Number `json:"variance"` // variance of the elements, divided by their number
}

const (
	statsFormat = "gdsvd-stats/1"
	longest     = 10
)

var shares = []float64{0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1}

// Summarise reads the store once, in addition to the reads of its view, for counts, sums, means and variances of its rows
// and columns. The results have the same bits for any number of workers.
func Summarise(ctx context.Context, store *csr.Store, o StatsOptions) (_ *Stats, err error) {
	rows, cols := csr.Orient(store, csr.RowAxis, csr.ColAxis)
	var out *statsOutput
	if o.Dir != "" {
		if out, err = newStatsOutput(store, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, out.abort()) }()
	}
	l, err := newLook(ctx, store, o.Options, 1)
	if err != nil {
		return nil, err
	}
	sides := [2]*side{{lengths: map[int64]int64{}}, {lengths: map[int64]int64{}}}
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
	r := &Stats{Format: statsFormat, Store: store.Path(), View: l.View.String(), Matrix: store.Fingerprint(), Entries: s.Count, Sum: factor.Number(s.Sum), Norm: factor.Number(norm), Dir: o.Dir}
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

// reserve returns the bytes in memory beside the read: the lengths that occur, each with a number of lines, and buffers of
// files.
func reserve(store *csr.Store) int64 {
	const length, buffers = 64, 8 << 20
	different := min(float64(store.Cols())+1, math.Sqrt(2*float64(store.NNZ()))+1) // lengths: their sum is the number of entries
	other := min(float64(store.Cols()), math.Sqrt(2*float64(store.NNZ()))+1)
	return int64(length*(different+other)) + buffers
}

// side accumulates the statistics of lines.
type side struct {
	n       int64
	lengths map[int64]int64 // number of lines of each length
	top     []numbered
}

type numbered struct {
	at int64
	view.Numbers
}

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
	r := SideStats{Number: s.n, Empty: s.lengths[0], Quantiles: Quantiles(s.lengths, shares...), Largest: []LineStats{}}
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

// Quantiles returns the quantiles at ascending shares, none if there are no lines. lengths has the number of lines of each length.
func Quantiles(lengths map[int64]int64, shares ...float64) []Quantile {
	q, passed, all := []Quantile{}, int64(0), int64(0) // lines of lengths up to the current one, and all lines
	for _, n := range lengths {
		all += n
	}
	for _, length := range slices.Sorted(maps.Keys(lengths)) {
		passed += lengths[length]
		for len(q) < len(shares) && float64(passed) >= shares[len(q)]*float64(all) {
			q = append(q, Quantile{shares[len(q)], length})
		}
	}
	return q
}

// StatsFile is the file of Stats in a directory of statistics.
const StatsFile = "stats.json"

// statsColumns names the quantities that the files of a side hold.
var statsColumns = [...]string{"count", "sum", "mean", "variance"}

// statsFiles returns the names of the files of a side.
func statsFiles(side string) (names []string) {
	for _, of := range statsColumns {
		names = append(names, side+"-"+of+".npy")
	}
	return append(names, side+".csv")
}

// statistics returns the kind of directory that is written.
func statistics() folder.Kind {
	return folder.Kind{What: "a set of statistics", File: StatsFile, Format: statsFormat, Files: slices.Concat(statsFiles("rows"), statsFiles("cols"))}
}

// statsOutput is a directory of statistics that is being written. A nil statsOutput writes nothing.
type statsOutput struct {
	*folder.Folder
	sides [2]*statsSide // by the axis of the store
}

// newStatsOutput begins a directory, with files of known sizes.
func newStatsOutput(store *csr.Store, o StatsOptions) (_ *statsOutput, err error) {
	fsys := cmp.Or(o.FS, vfs.OS())
	out := new(statsOutput)
	if out.Folder, err = statistics().New(fsys, o.Dir, o.Replace); err != nil {
		return nil, err
	}
	names := [2]string{}
	names[csr.RowAxis], names[csr.ColAxis] = csr.Orient(store, "rows", "cols")
	for axis, n := range [...]int64{csr.RowAxis: store.Rows(), csr.ColAxis: store.Cols()} {
		out.sides[axis], err = newStatsSide(fsys, out.Dir(), names[axis], store, csr.Axis(axis), n)
		if err != nil {
			return nil, errors.Join(err, out.abort())
		}
	}
	return out, nil
}

func (o *statsOutput) write(axis csr.Axis, lines []view.Numbers) error {
	if o == nil {
		return nil
	}
	return o.sides[axis].write(lines)
}

func (o *statsOutput) commit(r *Stats) (err error) {
	if o == nil {
		return nil
	}
	for _, s := range o.sides {
		if err := s.finish(); err != nil {
			return err
		}
	}
	r.Files = append([]string{StatsFile}, o.Files...)
	return o.Commit(r, nil)
}

// abort removes what was written. After commit it does nothing.
func (o *statsOutput) abort() (err error) {
	for _, s := range o.sides {
		if s != nil {
			err = errors.Join(err, s.discard())
		}
	}
	return errors.Join(err, o.Abort())
}

// statsSide writes the files of a side sequentially.
type statsSide struct {
	arrays [len(statsColumns)]*npy.Array
	file   *durable.File
	text   *tabular.Writer
	ids    *csr.IDReader
	titles *csr.Titles // nil: no titles
	n      int64
}

func newStatsSide(fsys vfs.FS, dir, name string, store *csr.Store, axis csr.Axis, n int64) (s *statsSide, err error) {
	s = new(statsSide)
	defer durable.Undo(&err, s.discard)
	if s.ids, err = store.IDs(axis); err != nil {
		return s, err
	}
	if s.titles, err = store.Titles(axis); err != nil {
		return s, err
	}
	files := statsFiles(name)
	for i := range s.arrays {
		if s.arrays[i], err = npy.Create(fsys, filepath.Join(dir, files[i]), n); err != nil {
			return s, err
		}
	}
	if s.file, err = durable.Create(fsys, filepath.Join(dir, files[len(s.arrays)])); err != nil {
		return s, err
	}
	columns := []tabular.Column{{Name: "id"}}
	if s.titles != nil {
		columns = append(columns, tabular.Column{Name: "title"})
	}
	for _, name := range statsColumns {
		columns = append(columns, tabular.Column{Name: name, Kind: tabular.Float})
	}
	columns[len(columns)-len(statsColumns)].Kind = tabular.Int // count
	s.text, err = tabular.New(s.file, "csv", false, columns...)
	return s, err
}

func (s *statsSide) write(lines []view.Numbers) error {
	for some := range slices.Chunk(lines, 1<<13) {
		for i, a := range s.arrays {
			x := make([]float64, len(some))
			for k, n := range some {
				x[k] = [...]float64{float64(n.Count), n.Sum, n.Mean, n.Variance}[i]
			}
			if err := a.WriteRows(s.n, mat.NewDense(len(x), 1, x)); err != nil {
				return err
			}
		}
		for _, n := range some {
			if err := s.writeText(n); err != nil {
				return err
			}
			s.n++
		}
	}
	return nil
}

func (s *statsSide) writeText(n view.Numbers) error {
	if !s.ids.Next() {
		return errors.Join(s.ids.Err(), fmt.Errorf("there is no id number %d", s.n))
	}
	line := []*tabular.Value{{Text: s.ids.String()}}
	if s.titles != nil {
		title, err := s.titles.At(s.n)
		if err != nil {
			return err
		}
		line = append(line, &tabular.Value{Text: title})
	}
	return s.text.Add(append(line, &tabular.Value{Int: n.Count}, &tabular.Value{Float: n.Sum}, &tabular.Value{Float: n.Mean}, &tabular.Value{Float: n.Variance})...)
}

// finish makes the files durable.
func (s *statsSide) finish() error {
	for i, a := range s.arrays {
		s.arrays[i] = nil
		if _, err := a.Finish(); err != nil {
			return err
		}
	}
	if s.ids.Next() {
		return fmt.Errorf("there are more than %d ids", s.n)
	}
	if err := errors.Join(s.text.Close(), s.ids.Err()); err != nil {
		return err
	}
	file := s.file
	s.file = nil
	return errors.Join(file.Close(), s.discard())
}

func (s *statsSide) discard() error {
	var errs []error
	for i, a := range s.arrays {
		if a != nil {
			errs = append(errs, a.Discard())
			s.arrays[i] = nil
		}
	}
	if s.file != nil {
		errs = append(errs, s.file.Discard())
		s.file = nil
	}
	if s.titles != nil {
		errs = append(errs, s.titles.Close())
		s.titles = nil
	}
	if s.ids != nil {
		errs = append(errs, s.ids.Close())
		s.ids = nil
	}
	return errors.Join(errs...)
}
