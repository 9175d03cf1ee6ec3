// Package tenx finds the files of a folder that Cell Ranger of 10x Genomics writes: a matrix in Matrix Market
// format, the ids of its rows in features.tsv (before version 3 genes.tsv), beside names for
// people, and those of its columns in barcodes.tsv, compressed or not, and perhaps with one prefix
// for all.
package tenx

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/internal/input"
)

// known are the names of a folder by what they are, without prefix and compression.
var known = map[string]string{"matrix.mtx": "matrix", "barcodes.tsv": "barcodes", "features.tsv": "features", "genes.tsv": "features"}

// suffixes are what compression adds to names. How a file is compressed its content tells.
var suffixes = []string{"", ".gz", ".zst", ".bz2", ".xz"}

// A Listing is the names of the files of a folder, of those that begin with a prefix if there is one.
type Listing struct {
	Dir, Prefix string
	Names       []string
	Join        func(...string) string
}

type Folder struct {
	Matrix, Features, Barcodes string // "": there is none

	name, matrix, prefix string
}

func Refused(name, what string, args ...any) error {
	return &fs.PathError{Op: "read", Path: input.DisplayName(name), Err: fmt.Errorf(what, args...)}
}

func (f *Folder) Lacks(what string) error {
	return Refused(f.name, "beside %s there is no %s.tsv; a folder of 10x has features.tsv (or genes.tsv) and barcodes.tsv; name the matrix to read it without ids: %s",
		f.matrix, f.prefix+what, f.Matrix)
}

// Find finds the files in the listing of an input; nil: it is no such folder.
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

// groups sorts the files of a folder by prefix and by what they are.
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
