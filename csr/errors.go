package csr

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt is what errors.Is finds in every error about a damaged store.
	ErrCorrupt = errors.New("corrupt store")
	// ErrVersion is what errors.Is finds in a [*VersionError].
	ErrVersion = errors.New("unsupported store version")
	// ErrNorm: the values are so large that ‖A‖_F is no float64.
	ErrNorm = errors.New("values so large that ‖A‖, the root of the sum of their squares, is more than the largest number (1.8e308): scale the matrix")
	// ErrNotStore: the path exists but is no store at all.
	ErrNotStore = errors.New("not a gdsvd store")
)

// CorruptError says which bytes of a store are wrong. errors.Is(err, ErrCorrupt).
type CorruptError struct {
	Store   string // path of the store
	File    string // name of the file in it
	Section string // "manifest", "header", "block 17", "footer", "trailer", "ids", "file"
	Offset  int64  // in the file, where the damage shows; −1 when it cannot be told
	Err     error  // what is wrong
}

// Error is one line: what is wrong, where, and what to do.
func (e *CorruptError) Error() string {
	at := ""
	if e.Offset >= 0 {
		at = fmt.Sprintf(" at byte %d", e.Offset)
	}
	return fmt.Sprintf("store %s: %s: %s: %v%s: the store is damaged; ingest it again", e.Store, e.File, e.Section, e.Err, at)
}

// Unwrap returns ErrCorrupt, and what is wrong.
func (e *CorruptError) Unwrap() []error { return []error{ErrCorrupt, e.Err} }

// VersionError: the store was written in a format version this program does
// not read. errors.Is(err, ErrVersion).
type VersionError struct {
	Store string
	File  string
	Found int64
}

// Error names both versions and says what to do.
func (e *VersionError) Error() string {
	do := "ingest it again"
	if e.Found > Version {
		do = "it needs a newer gdsvd, or ingest it again with this one"
	}
	return fmt.Sprintf("store %s: %s: %v %d, this program reads version %d: %s", e.Store, e.File, ErrVersion, e.Found, Version, do)
}

// Unwrap returns ErrVersion.
func (e *VersionError) Unwrap() error { return ErrVersion }

// writing is the error of writing a file of a store.
func writing(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write store: %w", err)
}
