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

// complete looks at out for a finished store of the same inputs and options, without files of an unfinished ingest beside it,
// and describes it. A finished store of other inputs or options is an error that names the difference. The report is nil if
// there is neither.
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
		return nil, nil // there is no store, or something else
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
	bad, _ := had["bad_lines"].(float64)
	t.report.BadLines = int64(bad)
	return t.report, nil
}

// sourceOf returns the source in the manifest of a store, and the time of its last change.
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

// sameOrigin returns an error that names the difference unless a store, made at a time from the source had, is of these inputs
// and options: names, sizes, sums (see input.ID) and options must be equal, and no input be younger than the store.
func (in inputs) sameOrigin(o request, had map[string]any, made time.Time) error {
	origin := in.origin(o)
	for _, side := range sides {
		if key := idsKey(side); origin[key] == nil && had[key] != nil {
			return fmt.Errorf("it had %s %v, this one has none", key, had[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(origin)) {
		if key == sumsKey {
			continue // sums of files: compared below, to name the file
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

// idsKey is the key, in the source of a store, of the name and sum of the file of ids of a side.
func idsKey(side format.Side) string { return side.String() + "_ids" }

// combinedKey is the key, in the source of a store that was filtered or held out from, of the number of combined entries.
const combinedKey = "combined"

// inputs identifies the inputs of an ingest, so that another ingest can tell whether it has the same inputs.
type inputs struct {
	names  []string
	ids    []input.ID               // nil if they cannot be read again
	beside map[format.Side]input.ID // files of ids, by side
}

func identify(ctx context.Context, o request, names []string) (in inputs, err error) {
	in = inputs{names: names, beside: map[format.Side]input.ID{}}
	files := slices.Clone(names)
	if o.base != nil {
		files[0] = filepath.Join(o.base.path, csr.ManifestName) // its manifest identifies the store
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
			if one == nil { // nor can the ingest be resumed
				in.ids, one = nil, []input.ID{{Name: input.DisplayName(name)}}
			}
			in.beside[side] = one[0]
		}
	}
	return in, nil
}

// size returns the bytes of all inputs on disk; 0: not known.
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

// origin returns the inputs and options that determine the store, in the types of decoded JSON. It has base names only, so
// that a store that is passed on does not reveal directories.
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
