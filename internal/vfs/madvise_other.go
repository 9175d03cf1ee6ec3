//go:build !unix

package vfs

func madvise([]byte, Advice) error { return nil }
