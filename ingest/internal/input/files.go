package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/vfs"
)

// Files is where inputs are: files, and objects named by URLs.
type Files struct {
	FS  vfs.FS
	Net *remote.Client
}

// DisplayName is what errors and reports call an input: a URL without what may be secret.
func DisplayName(input string) string {
	if input == "-" {
		return "standard input"
	}
	return remote.Display(input)
}

func BaseName(input string) string {
	if remote.Is(input) {
		return remote.Base(input)
	}
	return filepath.Base(DisplayName(input))
}

// Expand resolves globs; a name that exists is taken as it is. Two inputs of one name are refused: the entries of
// both would be added up, where duplicates are.
func (f Files) Expand(ctx context.Context, inputs []string) ([]string, error) {
	var names []string
	had := map[string]bool{}
	for _, in := range inputs {
		var some []string
		var err error
		switch {
		case in == "-":
			some = []string{in}
		case remote.Is(in):
			some, err = f.Net.Expand(ctx, in)
		default:
			some, err = f.glob(in)
		}
		if err != nil {
			return nil, err
		}
		for _, name := range some {
			if !remote.Is(name) {
				name = filepath.Clean(name)
			}
			if had[name] {
				return nil, fmt.Errorf("read %s: named twice", DisplayName(name))
			}
			had[name] = true
		}
		names = append(names, some...)
	}
	if len(names) == 0 {
		return nil, errors.New("read input: no input named")
	}
	return names, nil
}

func (f Files) glob(in string) ([]string, error) {
	fi, err := f.FS.Stat(in)
	if err == nil {
		return []string{in}, regular(in, fi)
	}
	if i := strings.Index(in, "://"); i > 1 {
		return nil, &fs.PathError{Op: "read", Path: DisplayName(in), Err: errors.New("URLs of https and s3 are read; fetch this one first, as by curl -L URL | gdsvd ingest -")}
	}
	if !strings.ContainsAny(in, "*?[") {
		return nil, fmt.Errorf("read input: %w", err)
	}
	found, err := filepath.Glob(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", in, err)
	}
	if !strings.HasPrefix(filepath.Base(in), ".") { // as of a shell
		found = slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") })
	}
	if len(found) == 0 {
		return nil, &fs.PathError{Op: "read", Path: in, Err: fmt.Errorf("no file matches: %w", fs.ErrNotExist)}
	}
	return found, nil // Glob sorts
}

// Size is the bytes of an input that is not standard input; −1: not known.
func (f Files) Size(ctx context.Context, name string) (int64, error) {
	if remote.Is(name) {
		info, err := f.Net.Stat(ctx, name)
		return info.Size, err
	}
	fi, err := f.FS.Stat(name)
	if err != nil {
		return 0, fmt.Errorf("read input: %w", err)
	}
	return fi.Size(), nil
}

type opened struct {
	io.Reader
	io.Closer
	random // nil: it can only be read from its beginning to its end
}

type random interface {
	io.ReaderAt
	Size() (int64, error)
}

type localFile struct{ vfs.File }

func (f localFile) Size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func (f Files) open(ctx context.Context, name string) (*opened, error) {
	if remote.Is(name) {
		o, err := f.Net.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		in := &opened{Reader: o, Closer: o}
		if o.Info().Ranges {
			in.random = o
		}
		return in, nil
	}
	file, err := f.FS.Open(name)
	if errors.Is(err, vfs.ErrNotRegular) {
		return nil, notRegular(err)
	}
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	return &opened{file, file, localFile{file}}, nil
}
