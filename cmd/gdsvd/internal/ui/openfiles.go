package ui

import (
	"fmt"

	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/vfs"
)

// How many files a run may have open at a time. The store takes one, however many
// shards it has: these are mapped.
const (
	SomeFiles = 16 // any command; with fewer than 8 Go's runtime cannot begin
	ManyFiles = 64 // a run that keeps vectors in files: each of a few dozen blocks is one
)

// EnoughFiles refuses what would end in the middle for want of file descriptors.
func EnoughFiles(need int) error {
	if limit := vfs.OpenFiles(); limit < need {
		return fmt.Errorf("this process may have %d files open at a time, it needs %d: raise the limit (ulimit -n)", limit, need)
	}
	return nil
}

// What Go's runtime takes with the threads of a run: addresses, of which next to nothing is memory, and the threads. With less than
// about half of it the runtime cannot begin, and says so in many lines.
const (
	someAddresses = 1800 << 20
	someThreads   = 16
)

// EnoughForRuntime refuses what would end in the middle in a dump of the runtime.
func EnoughForRuntime() error {
	if limit := vfs.AddressSpace(); limit < someAddresses {
		return fmt.Errorf("this process may take %s of addresses, it needs %s, and the size of the store besides: raise the limit (ulimit -v); --memory limits what it keeps in memory",
			memory.FormatSize(limit), memory.FormatSize(someAddresses))
	}
	if limit := vfs.Threads(); limit < someThreads {
		return fmt.Errorf("this user may have %d processes and threads, gdsvd needs %d besides those that run: raise the limit (ulimit -u)", limit, someThreads)
	}
	return nil
}
