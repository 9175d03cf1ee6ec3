package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/gofrs/flock"
)

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
			return nil, errors.Join(held(name), f.Close())
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
			sign(name)
			return &heldLock{f}, nil
		}
		if closed := f.Close(); closed != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, closed)
		}
	}
}

// sign writes the process number, program and command of the holder into the lock file, for the message of a process that
// finds it locked. Without them the message is shorter. The target of a symbolic link is not changed.
func sign(name string) {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	text := fmt.Sprintf("%d, %s", os.Getpid(), filepath.Base(os.Args[0]))
	if len(os.Args) > 1 {
		text += " " + os.Args[1]
	}
	_ = os.WriteFile(name, []byte(text+"\n"), 0o666)
}

// held returns ErrLocked with the text that the holder has written about itself.
func held(name string) error {
	f, err := OS().Open(name)
	if err != nil {
		return ErrLocked
	}
	defer f.Close()
	b := make([]byte, 200)
	n, _ := io.ReadFull(f, b)
	holder := regexp.MustCompile(`^\d{1,10}, [\w.-]{1,80}( [a-z]{1,40}\b)?`) // the part of sign's text that is shown
	by := holder.Find(b[:n])
	if by == nil {
		return ErrLocked
	}
	return fmt.Errorf("%w (%s)", ErrLocked, by)
}

func (l *heldLock) Close() error {
	if runtime.GOOS == "windows" {
		// An open file cannot be removed there; if another process opens it between
		// the two calls the removal fails, and the file is that process's.
		err := l.f.Close()
		_ = os.Remove(l.f.Path())
		return err
	}
	return errors.Join(os.Remove(l.f.Path()), l.f.Close())
}

// Held reports whether Lock(name) has a holder, without creating or changing a file. During the call a Lock by another
// process fails.
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
