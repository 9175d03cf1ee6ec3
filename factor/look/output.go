package look

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
)

// StatsFile is the file of Stats in a directory of statistics.
const StatsFile = "stats.json"

// statsColumns are what the files of a side are of.
var statsColumns = [...]string{"count", "sum", "mean", "variance"}

// statsFiles are the files of a side.
func statsFiles(side string) (names []string) {
	for _, of := range statsColumns {
		names = append(names, side+"-"+of+".npy")
	}
	return append(names, side+".csv")
}

// ofStats tells whether a directory of statistics has a file with that name.
func ofStats(name string) bool {
	return name == StatsFile || slices.Contains(statsFiles("rows"), name) || slices.Contains(statsFiles("cols"), name)
}

// statsOutput is a directory of statistics that is being written. Nil writes nothing.
type statsOutput struct {
	fsys  vfs.FS
	stage *vfs.Staging
	sides [2]*statsSide // by the axis of the store
}

// newStatsOutput begins a directory, with files of known sizes.
func newStatsOutput(store *csr.Store, o StatsOptions) (_ *statsOutput, err error) {
	out := &statsOutput{fsys: o.FS}
	if out.fsys == nil {
		out.fsys = vfs.OS()
	}
	out.stage, err = vfs.Stage(out.fsys, o.Dir, o.Replace,
		func(path string) error { return isStats(out.fsys, path) },
		func(stage string) (bool, error) { return false, onlyStats(out.fsys, stage) })
	if err != nil {
		return nil, err
	}
	names := [2]string{}
	names[csr.RowAxis], names[csr.ColAxis] = csr.Orient(store, "rows", "cols")
	for axis, n := range [...]int64{csr.RowAxis: store.Rows(), csr.ColAxis: store.Cols()} {
		out.sides[axis], err = newStatsSide(out.fsys, out.stage.Dir(), names[axis], store, csr.Axis(axis), n)
		if err != nil {
			return nil, errors.Join(err, out.abort())
		}
	}
	return out, nil
}

// isStats tells whether a directory holds statistics: only such a one is ever replaced.
func isStats(fsys vfs.FS, dir string) error {
	const most = 1 << 20
	text, err := vfs.ReadFile(fsys, filepath.Join(dir, StatsFile), most)
	var head struct {
		Format string `json:"format"`
	}
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	if err == nil && head.Format != statsFormat {
		err = fmt.Errorf("%s: format %q, want %q", StatsFile, head.Format, statsFormat)
	}
	if err != nil {
		return fmt.Errorf("it is not a directory of statistics and is left alone: %w", err)
	}
	return onlyStats(fsys, dir)
}

// onlyStats makes sure that a directory, if there is one, has no file but those of statistics.
func onlyStats(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !ofStats(e.Name()) {
			return says("%s holds %s, which is not of statistics: remove it, or give another %v", dir, e.Name(), factor.Option("Dir"))
		}
	}
	return err
}

func (o *statsOutput) write(axis csr.Axis, lines []view.Numbers) error {
	if o == nil {
		return nil
	}
	return o.sides[axis].write(lines)
}

// commit publishes the directory.
func (o *statsOutput) commit(r *Stats) (err error) {
	if o == nil {
		return nil
	}
	for _, s := range o.sides {
		if err := s.finish(); err != nil {
			return err
		}
	}
	r.Files = slices.Concat([]string{StatsFile}, statsFiles("rows"), statsFiles("cols"))
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(o.fsys, filepath.Join(o.stage.Dir(), StatsFile), durable.Bytes(append(text, '\n'))); err != nil {
		return err
	}
	return o.stage.Commit()
}

// abort removes what was written. After commit it does nothing.
func (o *statsOutput) abort() error {
	var errs []error
	for _, s := range o.sides {
		if s != nil {
			errs = append(errs, s.discard())
		}
	}
	return errors.Join(append(errs, o.stage.Abort())...)
}

// statsSide writes the files of a side forward.
type statsSide struct {
	arrays [len(statsColumns)]*npy.Array
	text   *durable.File
	csv    *csv.Writer
	ids    *csr.IDReader
	titles *csr.Titles // nil: there are none
	n      int64
	record []string
}

func newStatsSide(fsys vfs.FS, dir, name string, store *csr.Store, axis csr.Axis, n int64) (s *statsSide, err error) {
	s = new(statsSide)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.discard())
		}
	}()
	if s.ids, err = store.IDs(axis); err != nil {
		return s, err
	}
	if s.titles, err = store.Titles(axis); err != nil {
		return s, err
	}
	files := statsFiles(name)
	for i := range s.arrays {
		if s.arrays[i], err = npy.CreateVector(fsys, filepath.Join(dir, files[i]), n); err != nil {
			return s, err
		}
	}
	if s.text, err = durable.Create(fsys, filepath.Join(dir, files[len(s.arrays)])); err != nil {
		return s, err
	}
	s.csv = csv.NewWriter(s.text)
	s.record = []string{"id"}
	if s.titles != nil {
		s.record = append(s.record, "title")
	}
	return s, s.csv.Write(append(s.record, statsColumns[:]...))
}

// write adds lines.
func (s *statsSide) write(lines []view.Numbers) error {
	const part = 1 << 13
	for len(lines) > part {
		if err := s.write(lines[:part]); err != nil {
			return err
		}
		lines = lines[part:]
	}
	if len(lines) == 0 {
		return nil
	}
	for i, a := range s.arrays {
		x := make([]float64, len(lines))
		for k, n := range lines {
			x[k] = [...]float64{float64(n.Count), n.Sum, n.Mean, n.Variance}[i]
		}
		if err := a.WriteRows(s.n, mat.NewDense(len(x), 1, x)); err != nil {
			return err
		}
	}
	for _, n := range lines {
		if err := s.writeText(n); err != nil {
			return err
		}
		s.n++
	}
	return nil
}

// writeText adds a line to the table.
func (s *statsSide) writeText(n view.Numbers) error {
	if !s.ids.Next() {
		return errors.Join(s.ids.Err(), fmt.Errorf("there is no id number %d", s.n))
	}
	s.record = append(s.record[:0], s.ids.String())
	if s.titles != nil {
		title, err := s.titles.At(s.n)
		if err != nil {
			return err
		}
		s.record = append(s.record, title)
	}
	s.record = append(s.record, strconv.FormatInt(n.Count, 10))
	for _, x := range []float64{n.Sum, n.Mean, n.Variance} {
		s.record = append(s.record, strconv.FormatFloat(x, 'g', -1, 64))
	}
	return s.csv.Write(s.record)
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
	s.csv.Flush()
	if err := errors.Join(s.csv.Error(), s.ids.Err()); err != nil {
		return err
	}
	text := s.text
	s.text = nil
	return errors.Join(text.Close(), s.discard())
}

// discard closes what is open.
func (s *statsSide) discard() error {
	var errs []error
	for i, a := range s.arrays {
		if a != nil {
			errs = append(errs, a.Discard())
			s.arrays[i] = nil
		}
	}
	if s.text != nil {
		errs = append(errs, s.text.Discard())
		s.text = nil
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
