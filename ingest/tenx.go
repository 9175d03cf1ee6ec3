package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/remote"
)

// A folder that Cell Ranger of 10x Genomics writes is an input: a matrix in Matrix Market
// format, the ids of its rows in features.tsv (before version 3 genes.tsv), beside names for
// people, and those of its columns in barcodes.tsv, compressed or not, and perhaps with one prefix
// for all. It stands for its matrix, with the files of ids beside it.

// tenXFiles are the names of a folder by what they are, without prefix and compression.
var tenXFiles = map[string]string{"matrix.mtx": "matrix", "barcodes.tsv": "barcodes", "features.tsv": "features", "genes.tsv": "features"}

// tenXSuffixes are what compression adds to names. How a file is compressed its content tells.
var tenXSuffixes = []string{"", ".gz", ".zst", ".bz2", ".xz"}

// expand is that of input.Files, and takes a folder of 10x for its matrix, and the store appended to as it is.
func (o *Options) expand(ctx context.Context, inputs []string) ([]string, error) {
	if o.base != nil {
		names, err := o.files().Expand(ctx, inputs[1:])
		return append([]string{o.base.path}, names...), err
	}
	for i, name := range inputs {
		matrix, err := o.tenX(ctx, name)
		if err != nil {
			return nil, err
		}
		if matrix == "" {
			continue
		}
		if len(inputs) > 1 {
			return nil, refusedFolder(name, "a folder of 10x stands alone: ingest each into a store of its own")
		}
		inputs = slices.Clone(inputs)
		inputs[i] = matrix
	}
	return o.files().Expand(ctx, inputs)
}

func refusedFolder(name, what string, args ...any) error {
	return &fs.PathError{Op: "read", Path: input.DisplayName(name), Err: fmt.Errorf(what, args...)}
}

// A listing is the names of the files of a folder, of those that begin with a prefix if there is one.
type listing struct {
	dir, prefix string
	names       []string
	join        func(...string) string
}

// list lists what an input may name as a folder, or as one with a prefix behind it; nil: it names something else.
func (o *Options) list(ctx context.Context, name string) (*listing, error) {
	l := &listing{dir: name, join: filepath.Join}
	switch fi, err := o.FS.Stat(name); {
	case name == "-" || remote.Is(name) && !remote.IsFolder(name):
		return nil, nil
	case remote.Is(name):
		l.join = func(parts ...string) string { return strings.Join(parts, "") }
		objects, err := o.net.Expand(ctx, name+"*")
		for _, object := range objects {
			l.names = append(l.names, input.BaseName(object))
		}
		return l, err
	case err == nil && !fi.IsDir():
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		l.dir, l.prefix = filepath.Split(name)
		l.dir = filepath.Clean(l.dir)
	case err != nil:
		return nil, fmt.Errorf("read input: %w", err)
	}
	entries, err := o.FS.ReadDir(l.dir)
	if l.prefix != "" && err != nil {
		return nil, nil // told by what opens it
	}
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			l.names = append(l.names, e.Name())
		}
	}
	return l, nil
}

// tenX looks for the files of a folder, or of a path with a prefix behind it, and takes those of ids
// as Options.RowIDs and ColIDs. It gives the matrix; "": it is no such folder.
func (o *Options) tenX(ctx context.Context, name string) (string, error) {
	l, err := o.list(ctx, name)
	if l == nil || err != nil {
		return "", err
	}
	found, err := l.groups(name)
	if err != nil {
		return "", err
	}
	var prefixes []string
	for p, files := range found {
		if files["matrix"] != "" {
			prefixes = append(prefixes, p)
		}
	}
	switch len(prefixes) {
	case 0:
		return "", nil
	case 1:
	default:
		slices.Sort(prefixes)
		return "", refusedFolder(name, "it has %d matrices; name one by what its files begin with: %s or %s",
			len(prefixes), l.join(l.dir, prefixes[0]), l.join(l.dir, prefixes[1]))
	}
	files := found[prefixes[0]]
	for side, what := range []string{format.RowSide: "features", format.ColSide: "barcodes"} {
		ids := [...]*string{format.RowSide: &o.RowIDs, format.ColSide: &o.ColIDs}[side]
		if *ids != "" {
			continue // given
		}
		if files[what] == "" {
			return "", refusedFolder(name, "beside %s there is no %s.tsv; a folder of 10x has features.tsv (or genes.tsv) and barcodes.tsv; name the matrix to read it without ids: %s",
				files["matrix"], prefixes[0]+what, l.join(l.dir, files["matrix"]))
		}
		*ids = l.join(l.dir, files[what])
		o.tabbed[side] = true
	}
	return l.join(l.dir, files["matrix"]), nil
}

// groups sorts the files of a folder by prefix and by what they are.
func (l *listing) groups(name string) (map[string]map[string]string, error) {
	found := map[string]map[string]string{}
	for _, file := range l.names {
		for base, what := range tenXFiles {
			for _, suffix := range tenXSuffixes {
				p, ok := strings.CutSuffix(file, base+suffix)
				if !ok || l.prefix != "" && p != l.prefix {
					continue
				}
				if found[p] == nil {
					found[p] = map[string]string{}
				}
				if other := found[p][what]; other != "" {
					return nil, refusedFolder(name, "it has both %s and %s; take one away", other, file)
				}
				found[p][what] = file
			}
		}
	}
	return found, nil
}

// fields are which fields of the file of ids of a side, as tabs separate them, are the id and
// the title; −1: the whole line, none.
func (o Options) fields(side format.Side) (id, title int) {
	switch {
	case !o.tabbed[side]:
		return -1, -1
	case side == format.RowSide:
		return 0, 1
	}
	return 0, -1
}
