// Package tenx finds the files of a folder that Cell Ranger of 10x Genomics has written: a matrix in Matrix Market format, the
// ids and names of its rows in features.tsv (genes.tsv before version 3), and the ids of its columns in barcodes.tsv,
// compressed or not, and possibly with one prefix for all.
package tenx

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/internal/input"
)

// known maps the names of the files, without prefix and compression, to their kinds.
var known = map[string]string{"matrix.mtx": "matrix", "barcodes.tsv": "barcodes", "features.tsv": "features", "genes.tsv": "features"}

// suffixes are added to names by compression. The compression itself is recognised by content.
var suffixes = []string{"", ".gz", ".zst", ".bz2", ".xz"}

// A Listing holds the names of the files of a folder. Files with another prefix than Prefix, unless "", are ignored.
type Listing struct {
	Dir, Prefix string
	Names       []string
	Join        func(...string) string
}

type Folder struct {
	Matrix, Features, Barcodes string // paths; "": no such file

	name, matrix, prefix string
}

func Refused(name, what string, args ...any) error {
	return &fs.PathError{Op: "read", Path: input.DisplayName(name), Err: fmt.Errorf(what, args...)}
}

func (f *Folder) Lacks(what string) error {
	return Refused(f.name, "beside %s there is no %s.tsv; a folder of 10x has features.tsv (or genes.tsv) and barcodes.tsv; name the matrix to read it without ids: %s",
		f.matrix, f.prefix+what, f.Matrix)
}

// Find finds the files of 10x in the listing of an input; nil: the input is no folder of 10x.
func Find(name string, l *Listing) (*Folder, error) {
	found, err := l.groups(name)
	if err != nil {
		return nil, err
	}
	var prefixes []string
	for p, files := range found {
		if files["matrix"] != "" {
			prefixes = append(prefixes, p)
		}
	}
	switch len(prefixes) {
	case 0:
		return nil, nil
	case 1:
	default:
		slices.Sort(prefixes)
		return nil, Refused(name, "it has %d matrices; name one by what its files begin with: %s or %s",
			len(prefixes), l.Join(l.Dir, prefixes[0]), l.Join(l.Dir, prefixes[1]))
	}
	files := found[prefixes[0]]
	path := func(what string) string {
		if files[what] == "" {
			return ""
		}
		return l.Join(l.Dir, files[what])
	}
	return &Folder{path("matrix"), path("features"), path("barcodes"), name, files["matrix"], prefixes[0]}, nil
}

// groups maps prefixes and kinds to the files of a folder.
func (l *Listing) groups(name string) (map[string]map[string]string, error) {
	found := map[string]map[string]string{}
	for _, file := range l.Names {
		for base, what := range known {
			for _, suffix := range suffixes {
				p, ok := strings.CutSuffix(file, base+suffix)
				if !ok || l.Prefix != "" && p != l.Prefix {
					continue
				}
				if found[p] == nil {
					found[p] = map[string]string{}
				}
				if other := found[p][what]; other != "" {
					return nil, Refused(name, "it has both %s and %s; take one away", other, file)
				}
				found[p][what] = file
			}
		}
	}
	return found, nil
}
