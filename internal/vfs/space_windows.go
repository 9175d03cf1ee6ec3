package vfs

import (
	"os"

	"golang.org/x/sys/windows"
)

func freeSpace(name string) (int64, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	var free uint64 // for this user
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	return int64(free), nil
}
