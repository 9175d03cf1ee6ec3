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
	t := &task{o: o, meter: newMeter(nil), report: &Report{Store: out, Finished: true}}
	s := &scratch.Dir{FS: o.FS, Name: out + SpoolSuffix}
	if found, err := s.Look(); o.Force && !o.inPlace(out) || err != nil || found {
		return nil, nil
	}
	in, err := identify(ctx, o, names)
	if err != nil || in.ids == nil {
		return nil, err
	}
	if o.inPlace(out) && !o.base.endsWith(in.origin(o)) {
		return nil, nil
	}
	had, made, err := sourceOf(o, out)
	if err != nil {
		return nil, nil // there is none, or something else
	}
	exists := &fs.PathError{Op: "create", Path: out, Err: fs.ErrExist}
	if err := in.sameOrigin(o, had, made); err != nil && !o.inPlace(out) {
		return nil, fmt.Errorf("%w: a finished store, but another one: %w", exists, err)
	}
	switch err := t.describe(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: a finished store, but half of a pair: %w", exists, err)
	case err != nil:
		return nil, err
	}
	if n, ok := had[combinedKey].(float64); ok {
		t.report.Duplicates = int64(n)
	} else if n, ok := had["entries"].(float64); ok && o.Graph != Undirected {
		t.report.Duplicates = int64(n) - t.report.NNZ
	}
	if n, ok := had["bad_lines"].(float64); ok {
		t.report.BadLines = int64(n)
	}
	return t.report, nil
}

// sourceOf is what a store says it was made from, and when that was.
func sourceOf(o request, path string) (map[string]any, time.Time, error) {
	s, err := csr.Open(path, csr.OpenOptions{FS: o.FS, Missing: true})
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

// sameOrigin tells why a store with the source, made at a time, is not of these inputs and options: they are the same if
// names, sizes, sums (see input.ID) and options are, and no input is younger than the store.
func (in inputs) sameOrigin(o request, had map[string]any, made time.Time) error {
	origin := in.origin(o)
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
	more := in.ids
	if o.base != nil {
		more = more[1:]
	}
	sums = sums[max(0, len(sums)-len(more)):]
	for i, one := range more {
		if one.Modified.After(made) || len(sums) == len(more) && sums[i] != one.Sum {
			return fmt.Errorf("%s has changed since", one.Name)
		}
	}
	return nil
}

// idsKey is the name of the file of ids of a side, and its sum, in the source of a store.
func idsKey(side format.Side) string { return side.String() + "_ids" }

// combinedKey is the name of the number of entries combined with others in the source of a store that does not have all.
const combinedKey = "combined"

// Inputs are what an ingest is of, and what tells whether another one is of the same.
type inputs struct {
	names  []string
	ids    []input.ID               // nil if they cannot be read again
	beside map[format.Side]input.ID // files of ids
}

func identify(ctx context.Context, o request, names []string) (in inputs, err error) {
	in = inputs{names: names, beside: map[format.Side]input.ID{}}
	files := slices.Clone(names)
	if o.base != nil {
		files[0] = filepath.Join(o.base.path, csr.ManifestName) // tells of all of it
	}
	if in.ids, err = o.files().Identify(ctx, files); err != nil {
		return in, err
	}
	for _, side := range sides {
		if name := o.file(side); name != "" {
			one, err := o.files().Identify(ctx, []string{name})
			if err != nil {
				return in, err
			}
			in.beside[side] = one[0]
		}
	}
	return in, nil
}

// size is the bytes of all inputs on disk; 0 if not known.
func (in inputs) size() (total int64) {
	for _, one := range in.ids {
		total += one.Size
	}
	return total
}

func (in inputs) files() []input.ID {
	files := slices.Clone(in.ids)
	for _, side := range sides {
		if one, ok := in.beside[side]; ok && files != nil {
			files = append(files, one)
		}
	}
	return files
}

// origin is what of the inputs and the options decides what the store is, in the
// types of decoded JSON. A store that is passed on tells no names of directories.
func (in inputs) origin(o request) map[string]any {
	var names, sizes, sums []any
	for _, name := range in.names {
		names = append(names, input.BaseName(name))
	}
	for _, one := range in.ids {
		sizes, sums = append(sizes, float64(one.Size)), append(sums, one.Sum)
	}
	options := map[string]any{}
	for i, s := range (Options{ShardSize: o.ShardSize}).shaping() { // shards are files, not the matrix
		if own := o.shaping()[i]; own != s {
			options[own[0]] = own[1]
		}
	}
	origin := map[string]any{"inputs": names, "options": options}
	for _, side := range sides {
		if one, ok := in.beside[side]; ok {
			origin[idsKey(side)] = input.BaseName(one.Name) + " " + one.Sum
		}
	}
	if sizes != nil {
		origin["input_bytes"], origin[sumsKey] = sizes, sums
	}
	if o.base != nil {
		o.base.before(origin)
	}
	return origin
}
