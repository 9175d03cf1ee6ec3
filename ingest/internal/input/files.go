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
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/remote"
)

// Files gives access to inputs: files, and objects named by URLs.
type Files struct {
	FS  vfs.FS
	Net *remote.Client
}

// DisplayName returns the name of an input for errors and reports: a URL without its password and query.
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

// Expand resolves globs; the name of an existing file is not a glob. It refuses two inputs of one name, whose entries would be
// taken twice.
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
	if !strings.HasPrefix(filepath.Base(in), ".") { // as a shell does
		found = slices.DeleteFunc(found, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") })
	}
	if len(found) == 0 {
		return nil, &fs.PathError{Op: "read", Path: in, Err: fmt.Errorf("no file matches: %w", fs.ErrNotExist)}
	}
	return found, nil // Glob sorts
}

// Size returns the bytes of an input other than standard input; −1: not known.
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
	random // nil: no random access
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

// An ID identifies the content of an input by its size, the time of its last change, and a sum.
//
// The sum of a file up to sumWhole bytes covers all of it. That of a larger file covers sumSamples pieces of sumPiece bytes,
// evenly spread, including its beginning and end: rewriting, shifting or compressing the file changes the sum. A change
// between the pieces does not; it goes unnoticed if size and time are unchanged, too. The sum of an object named by a URL is
// its ETag, if any.
type ID struct {
	Name     string
	Size     int64
	Modified time.Time
	Sum      string `json:",omitempty"` // absent without an ETag and without random access
}

const (
	sumSamples = 64
	sumPiece   = 16 << 10
	sumWhole   = sumSamples * sumPiece
)

// Identify returns the IDs of the inputs; nil if an input cannot be read again from a place within, such as standard input or
// a URL of unknown size.
func (f Files) Identify(ctx context.Context, names []string) ([]ID, error) {
	var ids []ID
	for _, name := range names {
		if name == "-" {
			return nil, nil
		}
		id, err := f.identify(ctx, name)
		if id == nil || err != nil {
			return nil, err
		}
		ids = append(ids, *id)
	}
	return ids, nil
}

func (f Files) identify(ctx context.Context, name string) (_ *ID, err error) {
	id := &ID{Name: DisplayName(name)}
	if remote.Is(name) {
		info, err := f.Net.Stat(ctx, name)
		if err != nil || info.Size < 0 || !info.Ranges && !info.Identified() {
			return nil, err
		}
		id.Size, id.Modified = info.Size, info.Modified
		if info.ETag != "" {
			id.Sum = "ETag " + info.ETag
			return id, nil
		}
		if !info.Ranges {
			return id, nil
		}
	} else {
		fi, err := f.FS.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
		id.Size, id.Modified = fi.Size(), fi.ModTime().UTC()
	}
	if id.Sum, err = f.contentSum(ctx, name, id.Size); err != nil {
		return nil, err
	}
	return id, nil
}

func (in Files) contentSum(ctx context.Context, name string, size int64) (_ string, err error) {
	f, err := in.open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc.New()
	add := func(at, n int64) {
		if err == nil {
			_, err = io.CopyN(sum, io.NewSectionReader(f, at, n), n)
		}
	}
	if size <= sumWhole {
		add(0, size)
	} else {
		for i := range int64(sumSamples) {
			add(i*((size-sumPiece)/(sumSamples-1)), sumPiece)
		}
		add(size-sumSamples, sumSamples) // covers the end: the division leaves some bytes behind the last piece
	}
	if err == io.EOF {
		return "", fmt.Errorf("read %s: it ends before its %d bytes: it has changed while it was read, or the disk did not deliver it; try again", DisplayName(name), size)
	}
	if err != nil {
		return "", (&File{Name: DisplayName(name)}).failed(err)
	}
	return fmt.Sprintf("%08x", sum.Sum32()), nil
}

func (id ID) Changed(before ID) bool {
	return id.Size != before.Size || !id.Modified.Equal(before.Modified) || before.Sum != "" && id.Sum != before.Sum
}
