package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// complete looks for the finished store of the same inputs and options at out,
// without anything unfinished beside it, and describes it. Another finished store
// there is an error that says what is different.
func complete(ctx context.Context, o request, names []string, out string) (*Report, error) {
	g := &ingestion{o: o, names: names, meter: newMeter(nil), report: &Report{Store: out, Finished: true}}
	s := &scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}
	if found, err := s.Look(); o.Force && !o.inPlace(out) || err != nil || found {
		return nil, nil
	}
	var err error
	if err = g.identify(ctx); err != nil || g.inputs == nil {
		return nil, err
	}
	if o.inPlace(out) && !o.base.endsWith(g.origin()) {
		return nil, nil
	}
	had, made, err := sourceOf(o, out)
	if err != nil {
		return nil, nil // there is none, or something else
	}
	exists := &fs.PathError{Op: "create", Path: out, Err: fs.ErrExist}
	if err := g.sameOrigin(had, made); err != nil && !o.inPlace(out) {
		return nil, fmt.Errorf("%w: a finished store, but another one: %w", exists, err)
	}
	switch err := g.describe(out); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: a finished store, but half of a pair: %w", exists, err)
	case err != nil:
		return nil, err
	}
	if n, ok := had[combinedKey].(float64); ok {
		g.report.Duplicates = int64(n)
	} else if n, ok := had["entries"].(float64); ok && o.Graph != Undirected {
		g.report.Duplicates = int64(n) - g.report.NNZ
	}
	if n, ok := had["bad_lines"].(float64); ok {
		g.report.BadLines = int64(n)
	}
	return g.report, s.Remove() // a kill may have left its scratch with nothing, or no journal, in it
}

// sourceOf is what a store says it was made from, and when that was.
func sourceOf(o request, path string) (map[string]any, time.Time, error) {
	s, err := csr.Open(path, csr.OpenOptions{FS: o.FS})
	if err != nil {
		return nil, time.Time{}, err
	}
	source := s.Manifest().Source
	if err := s.Close(); err != nil {
		return nil, time.Time{}, err
	}
	fi, err := o.FS.Stat(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	return source, fi.ModTime(), nil
}

// sameOrigin tells why a store with the source, made at a time, is not of these
// inputs and options: they are the same if names, sizes, sums (see input.ID) and
// options are, and no input is younger than the store. Stores of before there were
// sums have none.
func (g *ingestion) sameOrigin(had map[string]any, made time.Time) error {
	origin := g.origin()
	for _, side := range sides {
		if key := idsKey(side); origin[key] == nil && had[key] != nil {
			return fmt.Errorf("it had %s %v, this one has none", key, had[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(origin)) {
		if key == sumsKey {
			continue // of files, told by name below
		}
		if old := had[key]; !reflect.DeepEqual(old, origin[key]) {
			return fmt.Errorf("it had %s %v, this one has %v", key, old, origin[key])
		}
	}
	sums, _ := had[sumsKey].([]any)
	inputs := g.inputs
	if g.o.base != nil {
		inputs = inputs[1:]
	}
	sums = sums[max(0, len(sums)-len(inputs)):]
	for i, in := range inputs {
		if in.Modified.After(made) || len(sums) == len(inputs) && sums[i] != in.Sum {
			return fmt.Errorf("%s has changed since", in.Name)
		}
	}
	return nil
}

// idsKey is the name of the file of ids of a side, and its sum, in the source of a store.
func idsKey(side format.Side) string { return side.String() + "_ids" }

// combinedKey is the name of the number of entries combined with others in the source of a store that does not have all.
const combinedKey = "combined"

// sumsKey is the name of the sums of the inputs in the source of a store.
const sumsKey = "input_sums"

// identify looks at the inputs and the files beside them.
func (g *ingestion) identify(ctx context.Context) (err error) {
	names := slices.Clone(g.names)
	if g.o.base != nil {
		names[0] = filepath.Join(g.o.base.path, csr.ManifestName) // tells of all of it
	}
	if g.inputs, err = g.o.files().Identify(ctx, names); err != nil {
		return err
	}
	g.beside = map[format.Side]input.ID{}
	for _, side := range sides {
		if name := g.o.file(side); name != "" {
			one, err := g.o.files().Identify(ctx, []string{name})
			if err != nil {
				return err
			}
			g.beside[side] = one[0]
		}
	}
	return nil
}

// files are the inputs and those beside them, for a journal.
func (g *ingestion) files() []input.ID {
	files := slices.Clone(g.inputs)
	for _, side := range sides {
		if in, ok := g.beside[side]; ok && files != nil {
			files = append(files, in)
		}
	}
	return files
}

// origin is what of the inputs and the options decides what the store is, in the
// types of decoded JSON. A store that is passed on tells no names of directories.
func (g *ingestion) origin() map[string]any {
	var inputs, sizes, sums []any
	for _, name := range g.names {
		inputs = append(inputs, input.BaseName(name))
	}
	for _, in := range g.inputs {
		sizes, sums = append(sizes, float64(in.Size)), append(sums, in.Sum)
	}
	options := map[string]any{}
	for i, s := range (Options{ShardSize: g.o.ShardSize}).shaping() { // shards are files, not the matrix
		if own := g.o.shaping()[i]; own != s {
			options[own[0]] = own[1]
		}
	}
	origin := map[string]any{"inputs": inputs, "options": options}
	for _, side := range sides {
		if in, ok := g.beside[side]; ok {
			origin[idsKey(side)] = input.BaseName(in.Name) + " " + in.Sum
		}
	}
	if sizes != nil {
		origin["input_bytes"], origin[sumsKey] = sizes, sums
	}
	if g.o.base != nil {
		g.o.base.before(origin)
	}
	return origin
}
