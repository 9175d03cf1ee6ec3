package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
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

// openVectors makes a store of an array of vectors, with the ids that are beside it.
func (a *app) openVectors(cmd *cobra.Command, name, what string, o *evalFlags) (*csr.Store, error) {
	base, ok := strings.CutSuffix(name, ".npy")
	if !ok {
		return nil, ui.Usagef(cmd, "--vectors: %s does not end in .npy: gdsvd export writes such arrays", name)
	}
	path := filepath.Join(o.Dir, what+".csr")
	options := ingest.Options{Format: "npy", RowIDs: base + ".ids", Memory: o.Memory, Workers: o.Workers, Orient: ingest.OrientRows, CheckpointEvery: -1}
	if _, err := a.ingest(cmd, []string{name}, path, options); err != nil {
		return nil, err
	}
	return a.openStore(path)
}
