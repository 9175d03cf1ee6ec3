package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/parquet"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// openList makes a store of a file of recommendations, for as long as they are judged.
func (a *app) openList(cmd *cobra.Command, name string, o *evalFlags) (l evaluate.List, err error) {
	l.Name = name
	options := ingest.Options{Memory: o.Memory, Workers: o.Workers, Orient: ingest.OrientRows, CheckpointEvery: -1, FS: a.fsys, Transport: a.net}
	counted := options
	counted.Events = true // so that no column has to be a value
	var ambiguity *format.AmbiguityError
	d, err := ingest.Sniff(cmd.Context(), []string{name}, counted)
	if err != nil && !errors.As(err, &ambiguity) {
		return l, err
	}
	options.Columns = make([]string, 3) // row, column, value
	if ambiguity == nil {
		for _, c := range d.Inputs[0].Columns {
			lower := strings.ToLower(c.Name)
			switch {
			case c.Role == "row":
				options.Columns[0] = c.Name
			case c.Role == "column":
				options.Columns[1] = c.Name
			case lower == "rank" || lower == "score" && !l.Ranked:
				options.Columns[2], l.Ranked = c.Name, lower == "rank"
			}
		}
	}
	if slices.Contains(options.Columns, "") {
		return l, fmt.Errorf("%s: want columns that are named row, column, and rank or score, as gdsvd recommend -o writes them", name)
	}
	path := filepath.Join(o.Dir, fmt.Sprintf("list-%d.csr", len(o.Lists)))
	_, err = a.ingest(cmd, []string{name}, path, options)
	if errors.Is(err, ingest.ErrDuplicates) {
		text, _, _ := strings.Cut(err.Error(), "; ")
		return l, fmt.Errorf("%s: want each column once for a row", text)
	}
	if err != nil {
		return l, err
	}
	l.Store, err = a.openStore(path)
	return l, err
}

// openVectors makes a store of an array of vectors with the ids that are beside it, or of a table of both.
func (a *app) openVectors(cmd *cobra.Command, name, what string, o *evalFlags) (*csr.Store, error) {
	base, ok := strings.CutSuffix(name, ".npy")
	if table := strings.HasSuffix(name, ".parquet"); table {
		base = filepath.Join(o.Dir, "vectors-"+what)
		if err := a.tableVectors(name, base); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, ui.Usagef(cmd, "--vectors: %s ends neither in .npy nor in .parquet: gdsvd export writes such files", name)
	}
	path := filepath.Join(o.Dir, what+".csr")
	options := ingest.Options{Format: "npy", RowIDs: base + ".ids", Memory: o.Memory, Workers: o.Workers, Orient: ingest.OrientRows, CheckpointEvery: -1}
	if _, err := a.ingest(cmd, []string{base + ".npy"}, path, options); err != nil {
		return nil, err
	}
	return a.openStore(path)
}

// tableVectors writes the vectors of a Parquet file, and their ids, to base.npy and base.ids.
func (a *app) tableVectors(name, base string) (err error) {
	f, err := a.fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var array *npy.Array
	n := int64(0)
	err = replaceFile(a.fsys, base+".ids", true, func(w io.Writer) error {
		ids := bufio.NewWriter(w)
		err := parquet.Vectors(&format.Input{Name: name, At: f, Size: info.Size()}, func(rows int64, k int) (err error) {
			array, err = npy.Create(a.fsys, base+".npy", rows, int64(k))
			return err
		}, func(id string, x []float64) error {
			if strings.ContainsAny(id, "\r\n") {
				return fmt.Errorf("%s: row %d: the id %q has an end of line in it", name, n+1, id)
			}
			fmt.Fprintln(ids, id) // the error stays
			n++
			return array.WriteRows(n-1, mat.NewDense(1, len(x), x))
		})
		return cmp.Or(err, ids.Flush())
	})
	if array == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, array.Discard())
	}
	_, err = array.Finish()
	return err
}
