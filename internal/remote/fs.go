package remote

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// FS is a file system in which names that begin with s3:// are read-only objects of buckets; all other names are files of
// the embedded vfs.FS. Open forgets the Info of an object after use. Map keeps parts of an object in a file: see mapping.
type FS struct {
	vfs.FS
	ctx context.Context
	c   *Client
}

var _ vfs.FS = (*FS)(nil)

// NewFS returns an FS over under. The end of ctx ends its requests.
func NewFS(ctx context.Context, under vfs.FS, c *Client) *FS { return &FS{under, ctx, c} }

// object returns the name of an object in the form that a Client uses, or "" for the name of a file. filepath.Clean and Join
// leave one slash of s3://, which is a backslash on Windows.
func object(name string) string {
	rest, ok := strings.CutPrefix(filepath.ToSlash(name), "s3:/")
	if !ok {
		return ""
	}
	return "s3://" + strings.Trim(rest, "/")
}

// Abs returns filepath.Abs of the name of a file; other names are absolute already.
func Abs(name string) (string, error) {
	if Is(name) {
		return name, nil
	}
	return filepath.Abs(name)
}

func (f *FS) Open(name string) (vfs.File, error) {
	key := object(name)
	if key == "" {
		return f.FS.Open(name)
	}
	o, err := f.c.Open(f.ctx, key)
	if err != nil {
		return nil, err
	}
	f.c.Forget(key)
	return &file{o}, nil
}

// Stat supports files and objects, but not folders of a bucket.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if object(name) == "" {
		return f.FS.Stat(name)
	}
	o, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	return o.Stat()
}

func (f *FS) Map(name string) (vfs.Mapping, error) {
	if object(name) == "" {
		return f.FS.Map(name)
	}
	o, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	m := &mapping{fs: f.FS, o: o.(*file).Object}
	if m.Size() < 0 || m.Size() > 0 && !m.o.info.Ranges {
		return nil, failed(m.o.name, errors.New("the server does not answer requests for ranges"))
	}
	m.kept = make([]bool, (m.Size()+partSize-1)/partSize)
	return m, nil
}

// ReadDir lists the objects of a folder, without the folders in it.
func (f *FS) ReadDir(name string) (all []fs.DirEntry, err error) {
	key := object(name)
	if key == "" {
		return f.FS.ReadDir(name)
	}
	names, err := f.c.Expand(f.ctx, key+"/*")
	for _, one := range names {
		i, _ := f.c.Stat(f.ctx, one) // known from the list, without a request
		f.c.Forget(one)
		all = append(all, fs.FileInfoToDirEntry(info{path.Base(one), i}))
	}
	return all, err
}

// file is an open object as a vfs.File.
type file struct{ *Object }

var errReadOnly = errors.New("buckets are read-only")

func (o *file) Name() string                       { return o.name }
func (o *file) Sync() error                        { return errReadOnly }
func (o *file) Write([]byte) (int, error)          { return 0, errReadOnly }
func (o *file) WriteAt([]byte, int64) (int, error) { return 0, errReadOnly }
func (o *file) Stat() (fs.FileInfo, error)         { return info{path.Base(o.name), o.info}, nil }

type info struct {
	name string
	of   Info
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.of.Size }
func (i info) Mode() fs.FileMode  { return 0o444 }
func (i info) ModTime() time.Time { return i.of.Modified }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
