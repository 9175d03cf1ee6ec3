package csr

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt is what errors.Is finds in every error about a damaged store.
	ErrCorrupt = errors.New("corrupt store")
	// ErrVersion is what errors.Is finds in every error about a store of another format version.
	ErrVersion = errors.New("unsupported store version")
	// errNorm: the values are so large that ‖A‖_F is no float64.
	errNorm = errors.New("values so large that ‖A‖, the root of the sum of their squares, is more than the largest number (1.8e308): scale the matrix")
	// ErrNotStore: the path exists but is no store at all.
	ErrNotStore = errors.New("not a gdsvd store")
)

// corruptError says which bytes of a store are wrong. errors.Is(err, ErrCorrupt).
type corruptError struct {
	Store   string // path of the store
	File    string // name of the file in it
	Section string // "manifest", "header", "block 17", "footer", "trailer", "ids", "file"
	Offset  int64  // in the file, where the damage shows; −1 when it cannot be told
	Err     error  // what is wrong
}

// Error is one line: what is wrong, where, and what to do.
func (e *corruptError) Error() string {
	at := ""
	if e.Offset >= 0 {
		at = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("store %s: %s: %s: %v%s: the store is damaged; ingest it again", e.Store, e.File, e.Section, e.Err, at)
}

// Unwrap returns ErrCorrupt, and what is wrong.
func (e *corruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// wrongVersion says that a file of a store was written in a format version this program does
// not read, and what to do.
func wrongVersion(store, file string, found int64) error {
	do := "ingest it again"
	if found > Version {
		do = "it needs a newer gdsvd, or ingest it again with this one"
	}
	return fmt.Errorf("store %s: %s: %w %d, this program reads version %d: %s", store, file, ErrVersion, found, Version, do)
}

// writing is the error of writing a file of a store.
func writing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write store: %w", err)
}
