//go:build !unix

package vfs

const openNoWait = 0
