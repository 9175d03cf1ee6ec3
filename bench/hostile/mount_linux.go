package main

import (
	"fmt"
	"os"
	"syscall"
)

// mount makes a directory with a disk of size bytes.
func mount(dir string, size int64) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := syscall.Mount("gdsvd-hostile", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		return skipf("a small disk cannot be mounted here: %v", err)
	}
	return nil
}

// remount changes the size of the disk.
func remount(dir string, size int64) error {
	return os.NewSyscallError("remount", syscall.Mount("gdsvd-hostile", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)))
}

func unmount(dir string) error {
	return os.NewSyscallError("unmount", settle(func() error { return syscall.Unmount(dir, 0) }))
}

// inMemory reports whether the files of a directory lie in memory.
func inMemory(dir string) bool {
	var s syscall.Statfs_t
	return syscall.Statfs(dir, &s) != nil || s.Type == 0x01021994 || s.Type == 0x858458f6 // TMPFS_MAGIC, RAMFS_MAGIC of linux/magic.h
}
