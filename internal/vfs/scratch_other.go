//go:build !linux

package vfs

import "os"

func allocate(f *os.File, size int64) error { return fill(f, size) }

func writeError(f *os.File) error { return bare(f.Sync()) }

func writeBack(*os.File, int64, int64) {}
