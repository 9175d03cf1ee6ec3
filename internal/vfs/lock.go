package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

// heldLock is a lock file that is removed when it is let go.
type heldLock struct{ f *flock.Flock }

// lock takes the lock file. Because holders remove the file, the lock may have
// been taken on a file that its last holder had just removed: it counts only
// if the name still leads to the very file that is locked.
func lock(name string) (io.Closer, error) {
	for {
		f := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o666))
		ok, err := f.TryLock()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, ErrLocked), f.Close())
		}
		mine, err := f.Stat()
		if err == nil {
			err = Regular(name, mine)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		now, err := os.Stat(name)
		if err == nil && os.SameFile(mine, now) {
			return &heldLock{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

func (l *heldLock) Close() error {
	if runtime.GOOS == "windows" {
		// An open file cannot be removed there; if a process opens it between
		// the two calls the removal fails, and the file is theirs.
		err := l.f.Close()
		_ = os.Remove(l.f.Path())
		return err
	}
	return errors.Join(os.Remove(l.f.Path()), l.f.Close())
}

// Held tells whether a holder of Lock(name) lives, without making or changing a file. While it looks, a moment, a Lock of
// another process is refused.
func Held(name string) (bool, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = Regular(name, info)
	}
	if err != nil {
		return false, err
	}
	f := flock.New(name, flock.SetFlag(os.O_RDONLY))
	free, err := f.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !free, errors.Join(err, f.Close())
}
