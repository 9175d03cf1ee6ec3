//go:build !linux

package vfs

import (
	"errors"
	"io/fs"
	"os"
)

// Buffer is memory outside of the heap that direct reads go to: see
// [Mapping.ReadDirect].
type Buffer struct{}

// NewBuffer makes a buffer. errors.ErrUnsupported where there are no direct reads.
func NewBuffer() (*Buffer, error) { return nil, errors.ErrUnsupported }

// Bytes returns the contents, BufferSize bytes. They must not be used until Wait has returned.
func (b *Buffer) Bytes() []byte { return nil }

// Wait waits for the read that was begun last, and returns the number of bytes read:
// fewer than asked for only at the end of the file.
func (b *Buffer) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Empty gives the memory back to the system until the next read.
func (b *Buffer) Empty() {}

// Close releases the memory.
func (b *Buffer) Close() error { return nil }

func readDirect(string, fs.FileInfo, *Buffer, int, int64) error { return errors.ErrUnsupported }

func tellsCached(fs.FileInfo, string) bool { return false }

func cached([]byte) (bool, error) { return false, errors.ErrUnsupported }

func populate(b []byte) error { return madvise(b, Ahead) }

func allocate(f *os.File, size int64) error { return fill(f, size) }

func writeError(f *os.File) error { return bare(f.Sync()) }

func writeBack(*os.File, int64, int64) {}
