package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/remote"
)

func (a *app) infoCommand() *cobra.Command {
	var ids, titles string // sides of the user's matrix; "": none
	cmd := &cobra.Command{
		Use:   "info STORE|OUT",
		Short: "Describe a store or a result",
		Long: `info describes a store or a result directory. With --ids it prints the ids
of the rows or columns of a store, one a line in the order of the rows of U or
V (from 0 on where the input had no ids of its own, as Matrix Market and IDX).
With --titles each id is followed by a tab and its title, if it has one.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd info ml-10m.csr
  gdsvd info ml-10m.csr --ids cols > movies.txt
  gdsvd info ml-10m.csr --titles cols`,
		Args:              oneArgument("STORE or OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			if ids != "" && titles != "" {
				return ui.Usagef(cmd, "--titles prints the ids as well: leave out --ids")
			}
			done, err := a.holds(path, factor.ResultFile)
			if err != nil {
				return err
			}
			if done {
				if ids != "" || titles != "" {
					return ui.Usagef(cmd, "--ids wants the STORE, %s is a result", path)
				}
				r, err := factor.OpenFS(a.fsys, path)
				if err != nil {
					return err
				}
				return a.print(r, nil, func(out *show.Printer) {
					show.Result(out, r, path)
					if line := r.Continue(); line != "" {
						out.Printf("%s\n", line)
					}
				})
			}
			store, err := csr.Open(path, csr.OpenOptions{FS: a.fsys, Missing: true})
			if errors.Is(err, csr.ErrNotStore) && !errors.Is(err, fs.ErrNotExist) {
				if standing := a.runOf(cmd.Context(), path); standing != "" {
					return fmt.Errorf("%s holds no result: %s", path, standing)
				}
				return fmt.Errorf("%s is neither a store nor a result: %w", path, err)
			}
			if err != nil {
				return err
			}
			switch {
			case titles != "":
				err = a.printTitles(cmd.Context(), store, titles)
			case ids != "":
				err = a.printIDs(cmd.Context(), store, ids, nil)
			default:
				err = a.printStore(store)
			}
			return errors.Join(err, store.Close())
		},
	}
	sides := ui.Words([]string{"rows", "cols"})
	ui.ChoiceFlag(cmd.Flags(), &ids, "ids", "", sides, "print the ids of one side of the matrix")
	ui.ChoiceFlag(cmd.Flags(), &titles, "titles", "", sides, "print the ids and titles of one side of the matrix")
	return cmd
}

// storeInfo is the output of gdsvd info for a store, in the user's orientation.
type storeInfo struct {
	Format        string         `json:"format"`            // name of the format
	Version       int            `json:"version"`           // version of the format
	Path          string         `json:"path"`              // path of the store
	Rows          int64          `json:"rows"`              // number of rows of the matrix
	Cols          int64          `json:"cols"`              // number of columns of the matrix
	NNZ           int64          `json:"nnz"`               // number of stored entries
	Density       factor.Number  `json:"density"`           // stored entries divided by rows × columns
	Transposed    bool           `json:"transposed"`        // whether the columns of the matrix are stored as rows
	Coding        string         `json:"coding"`            // how the values are coded
	Values        []float64      `json:"values"`            // the distinct values of the entries, if they are few
	Missing       *float64       `json:"missing,omitempty"` // the value that stands for missing entries; absent if there is none
	RowIDs        string         `json:"row_ids"`           // kind of the ids of the rows: "int", "string" or "index"
	ColIDs        string         `json:"col_ids"`           // kind of the ids of the columns
	Norm          factor.Number  `json:"norm"`              // ‖A‖_F; null if it is not known
	Squares       factor.Number  `json:"sum_squares"`       // ‖A‖²_F; null if it over- or underflows
	Bytes         int64          `json:"bytes"`             // size of the store in bytes
	BytesPerEntry factor.Number  `json:"bytes_per_entry"`   // bytes of the store per entry
	Shards        int            `json:"shards"`            // number of files of entries
	Blocks        int            `json:"blocks"`            // number of blocks of rows; one block is decoded at a time
	Fingerprint   string         `json:"fingerprint"`       // fingerprint of the matrix, 64 hex digits
	Source        map[string]any `json:"source"`            // what the store was made from
}

func newStoreInfo(s *csr.Store) *storeInfo {
	m := s.Manifest()
	rows, cols := factor.Dims(s)
	i := &storeInfo{
		Format: m.Format, Version: m.Version, Path: s.Path(), Rows: rows, Cols: cols, NNZ: s.NNZ(),
		Density:    show.Ratio(float64(s.NNZ()), float64(rows)*float64(cols)),
		Transposed: s.Transposed(), Coding: string(s.Values().Coding), Values: append([]float64{}, s.Values().Table...), Missing: m.Missing,
		RowIDs: idsName(m.IDs.Rows), ColIDs: idsName(m.IDs.Cols), Norm: factor.Number(math.Ldexp(s.Norm())), Squares: squares(m),
		Bytes: s.Size(), BytesPerEntry: show.Ratio(float64(s.Size()), float64(s.NNZ())),
		Shards: len(m.Shards), Blocks: s.NumBlocks(), Fingerprint: s.Fingerprint(), Source: m.Source,
	}
	i.RowIDs, i.ColIDs = csr.Orient(s, i.RowIDs, i.ColIDs)
	if i.NNZ == 0 {
		i.Values = []float64{} // the table holds 0, which is the value of no entry
	}
	return i
}

// squares returns ‖A‖²_F: +Inf if it overflows, NaN if it underflows.
func squares(m csr.Manifest) factor.Number {
	x := math.Ldexp(m.SumSquares, m.SumExponent)
	if x == 0 && m.SumSquares > 0 {
		return factor.Number(math.NaN())
	}
	return factor.Number(x)
}

// known returns x in a format, or "" if x is NaN.
func known(format string, x factor.Number) string {
	if math.IsNaN(float64(x)) {
		return ""
	}
	return fmt.Sprintf(format, x)
}

func idsName(f *csr.IDFile) string {
	if f == nil {
		return "index"
	}
	return string(f.Kind)
}

func (a *app) printStore(s *csr.Store) error {
	i := newStoreInfo(s)
	return a.print(i, nil, func(out *show.Printer) {
		out.Printf("store\t%s (format %d)\n", i.Path, i.Version)
		out.Printf("shape\t%d × %d, %d entries%s\n", i.Rows, i.Cols, i.NNZ, known(", density %.3g %%", 100*i.Density))
		out.Printf("ids\trows %s, columns %s\n", i.RowIDs, i.ColIDs)
		different := ""
		if n := len(i.Values); n > 0 {
			different = fmt.Sprintf(": %d different, from %g to %g", n, i.Values[0], i.Values[n-1])
		}
		out.Printf("values\t%s%s\n", i.Coding, different)
		if i.Missing != nil {
			out.Printf("missing\tentries stored as %g\n", *i.Missing)
		}
		out.Printf("size\t%s in %d shards of %d blocks%s\n", memory.FormatSize(i.Bytes), i.Shards, i.Blocks, perEntry(i.Bytes, i.NNZ))
		first, _ := csr.Orient(s, "rows", "columns")
		out.Printf("stored\t%s first\nfingerprint\t%s\nmade from\t%s\n", first, i.Fingerprint, sourceText(i.Source))
	})
}

// sourceText describes the origin of a store for people: inputs and how they were read, without checksums and internal keys.
func sourceText(source map[string]any) string {
	const shown = 3
	var parts []string
	inputs, _ := source["inputs"].([]any)
	for _, name := range inputs[:min(shown, len(inputs))] {
		parts = append(parts, fmt.Sprint(name))
	}
	if more := len(inputs) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	for _, key := range slices.Sorted(maps.Keys(source)) {
		if key == "roles" {
			continue
		}
		switch v := source[key].(type) {
		case []any:
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				parts = append(parts, fmt.Sprintf("%s %v", name, v[name]))
			}
		case float64:
			parts = append(parts, fmt.Sprintf("%s %s", key, strconv.FormatFloat(v, 'f', -1, 64)))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", strings.ReplaceAll(key, "_", " "), v))
		}
	}
	return strings.Join(parts, ", ")
}

// perEntry returns the bytes per entry as text, or "" below 10,000 entries, where the fixed parts of a store dominate.
func perEntry(bytes, entries int64) string {
	if entries < 10_000 {
		return ""
	}
	return fmt.Sprintf(", %.2f bytes per entry", show.Ratio(float64(bytes), float64(entries)))
}

// axisOf returns the axis of the store for a side of the user's matrix.
func axisOf(s *csr.Store, side string) csr.Axis {
	rows, cols := csr.Orient(s, csr.RowAxis, csr.ColAxis)
	return map[string]csr.Axis{"rows": rows, "cols": cols}[side]
}

func (a *app) printTitles(ctx context.Context, s *csr.Store, side string) error {
	titles, err := s.Titles(axisOf(s, side))
	if err != nil {
		return err
	}
	if titles == nil {
		return fmt.Errorf("%s has no titles of %s; gdsvd ingest --resume --titles FILE, beside what it was made with, adds them", s.Path(), side)
	}
	return errors.Join(a.printIDs(ctx, s, side, titles), titles.Close())
}

// printIDs prints the ids of one side of the user's matrix, with titles unless nil: one a line, or as a JSON array.
func (a *app) printIDs(ctx context.Context, s *csr.Store, side string, titles *csr.Titles) error {
	if err := a.stdout.Wanted(); err != nil {
		return err
	}
	r, err := s.IDs(axisOf(s, side))
	if err != nil {
		return err
	}
	to := io.Writer(a.stdout)
	if a.json {
		to = a.stdout.Raw()
	}
	w, n := bufio.NewWriter(to), int64(0)
	for ; err == nil && ctx.Err() == nil && r.Next(); n++ {
		err = a.printID(w, r, n, titles)
	}
	if failed := errors.Join(r.Err(), r.Close()); failed != nil {
		return errors.Join(w.Flush(), failed)
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil || !a.json:
	case n == 0:
		w.WriteString("[]\n")
	default:
		w.WriteString("\n]\n")
	}
	return errors.Join(err, w.Flush())
}

// printID prints the current id of r, number n, and its title.
func (a *app) printID(w *bufio.Writer, r *csr.IDReader, n int64, titles *csr.Titles) error {
	id := r.String()
	if a.json && r.Kind() == csr.StringIDs {
		id = jsonText(id)
	}
	if titles != nil {
		title, err := titles.At(n)
		if err != nil {
			return err
		}
		if a.json {
			id = fmt.Sprintf(`{"id": %s, "title": %s}`, id, jsonText(title))
		} else {
			id += "\t" + title
		}
	}
	switch {
	case !a.json && strings.Contains(id, "\n"):
		return fmt.Errorf("%q, number %d from 0, has a line break, so that lines would not be ids: --json prints them", id, n)
	case !a.json:
		id += "\n"
	case n == 0:
		id = "[\n" + id
	default:
		id = ",\n" + id
	}
	_, err := w.WriteString(id)
	return err
}

func jsonText(s string) string {
	b, _ := json.Marshal(s) // every string has a JSON form
	return string(b)
}

// holds reports whether a directory has a file with the given name. If dir is not a directory the answer is no.
func (a *app) holds(dir, name string) (bool, error) {
	_, err := a.fsys.Stat(filepath.Join(dir, name))
	if remote.Is(dir) && errors.Is(err, fs.ErrPermission) { // S3 answers so for missing objects if the caller may not list
		return false, nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) {
		return false, nil
	}
	return err == nil, err
}
