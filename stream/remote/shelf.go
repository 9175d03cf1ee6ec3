package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gdsvd/gdsvd/csr/vfs"
	objects "github.com/gdsvd/gdsvd/internal/remote"
)

// shelf stores pieces under paths: in a file system, or in buckets of S3.
type shelf interface {
	// begin makes the folder of a run, and removes those of earlier runs if a lock shows that they have ended.
	begin(shared string) (dir string, lock io.Closer, err error)
	size(path string) (int64, error)
	open(path string) (r io.ReadCloser, size int64, err error)
	Map(path string) (vfs.Mapping, error)
	// create makes a file for a piece; publish closes it and makes it the piece in one step; discard removes it.
	create(path string) (vfs.File, error)
	publish(f vfs.File, path string) error
	discard(f vfs.File) error
	remove(path string) error // if it is there
	clear(dir string) error
}

// Names in the shared folder.
const (
	lockName  = "gdsvd.lock"
	runPrefix = "gdsvd-run-"
)

func inBucket(path string) bool { return strings.HasPrefix(path, "s3://") }

// disk is a file system that driver and workers share.
type disk struct{ vfs.FS }

func (d disk) begin(shared string) (dir string, lock io.Closer, err error) {
	if shared, err = filepath.Abs(shared); err != nil {
		return "", nil, err
	}
	if err := d.Mkdir(shared); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", nil, err
	}
	if lock, err = d.Lock(filepath.Join(shared, lockName)); err != nil {
		return "", nil, fmt.Errorf("%w: a run of its own needs a shared folder of its own", err)
	}
	left, err := d.ReadDir(shared)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), runPrefix) {
			err = errors.Join(err, d.RemoveAll(filepath.Join(shared, e.Name())))
		}
	}
	dir = filepath.Join(shared, runPrefix+rand.Text())
	if err == nil {
		err = d.Mkdir(dir)
	}
	return dir, lock, err
}

func (d disk) size(path string) (int64, error) {
	info, err := d.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (d disk) open(path string) (io.ReadCloser, int64, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (d disk) create(path string) (vfs.File, error) { return d.Create(path + "." + rand.Text()) }

func (d disk) publish(f vfs.File, path string) error {
	err := f.Close()
	if err == nil {
		err = d.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, d.Remove(f.Name()))
	}
	return nil
}

func (d disk) discard(f vfs.File) error { return errors.Join(f.Close(), d.Remove(f.Name())) }

func (d disk) remove(path string) error {
	err := d.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (d disk) clear(dir string) error { return d.RemoveAll(dir) }

// bucket is S3. Pieces are looked at and opened like files. A piece being written is a file of this machine, in the
// folder for temporary files.
type bucket struct {
	disk
	*objects.Client
	ctx context.Context
}

func newBucket(ctx context.Context, c *objects.Client) bucket {
	return bucket{disk{objects.NewFS(ctx, vfs.OS(), c)}, c, ctx}
}

// begin does not look for other runs: a bucket has no locks.
func (b bucket) begin(shared string) (dir string, lock io.Closer, err error) {
	return strings.TrimSuffix(shared, "/") + "/" + runPrefix + rand.Text(), io.NopCloser(nil), nil
}

func (b bucket) create(string) (vfs.File, error) {
	return vfs.OS().Create(filepath.Join(os.TempDir(), "gdsvd-piece-"+rand.Text()))
}

func (b bucket) publish(f vfs.File, path string) error {
	info, err := f.Stat()
	sum := sha256.New()
	if err == nil {
		_, err = io.Copy(sum, io.NewSectionReader(f, 0, info.Size()))
	}
	if err == nil {
		err = b.Put(b.ctx, path, f, info.Size(), sum.Sum(nil))
	}
	return errors.Join(err, b.discard(f))
}

func (b bucket) remove(path string) error { return b.Delete(b.ctx, path) }

func (b bucket) clear(dir string) error {
	names, err := b.Expand(b.ctx, dir+"/*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		err = errors.Join(err, b.Delete(b.ctx, name))
	}
	return err
}
