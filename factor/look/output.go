package look

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
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

// statistics is the kind of directory that is written.
func statistics() folder.Kind {
	return folder.Kind{What: "a set of statistics", File: StatsFile, Format: statsFormat, Files: slices.Concat(statsFiles("rows"), statsFiles("cols"))}
}

// statsOutput is a directory of statistics that is being written. Nil writes nothing.
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
	r.Files = append([]string{StatsFile}, o.Files...)
	return o.Commit(r, nil)
}

// abort removes what was written. After commit it does nothing.
func (o *statsOutput) abort() error {
	var errs []error
	for _, s := range o.sides {
		if s != nil {
			errs = append(errs, s.discard())
		}
	}
	return errors.Join(append(errs, o.Abort())...)
}

// statsSide writes the files of a side forward.
type statsSide struct {
	arrays [len(statsColumns)]*npy.Array
	file   *durable.File
	text   *tabular.Writer
	ids    *csr.IDReader
	titles *csr.Titles // nil: there are none
	n      int64
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
