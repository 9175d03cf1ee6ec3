package csr

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/durable"
)

const (
	truthName = "truth.json"
	maxTruth  = 64 << 20
)

// Truth holds the known singular values of a generated matrix (FORMAT.md, "truth.json"). Solvers must not read it.
type Truth struct {
	Sigma    []float64 `json:"sigma"`    // the largest singular values, descending
	Complete bool      `json:"complete"` // all other singular values are exactly 0
	Error    float64   `json:"error"`    // no value is further off than Error·Sigma[0]

	Fingerprint string   `json:"fingerprint"` // of the store that the values are about
	CRC         Checksum `json:"crc"`
}

// SetTruth sets the truth that is written beside the store on Commit, which fills in its Fingerprint and CRC.
func (w *Writer) SetTruth(t Truth) error {
	if w.err == nil {
		if err := t.validate(); err != nil {
			w.err = fmt.Errorf("write %s: %w", truthName, err)
		}
	}
	w.truth = &t
	return w.err
}

func (t *Truth) validate() error {
	if !finite(t.Error) || t.Error < 0 {
		return fmt.Errorf("impossible error %v", t.Error)
	}
	before := math.MaxFloat64
	for i, s := range t.Sigma {
		if !(s >= 0 && s <= before) {
			return fmt.Errorf("sigma %d is %v after %v", i, s, before)
		}
		before = s
	}
	return nil
}

func (w *Writer) writeTruth() error {
	if w.truth == nil {
		return nil
	}
	w.truth.Fingerprint = w.manifest.Fingerprint
	b, err := durable.Seal(w.truth, &w.truth.CRC)
	if err != nil {
		return fmt.Errorf("write %s: %w", truthName, err)
	}
	if len(b) >= maxTruth {
		return fmt.Errorf("write %s: %d singular values take %d bytes, the limit is %d", truthName, len(w.truth.Sigma), len(b), maxTruth)
	}
	return writing(durable.WriteFile(w.fs, filepath.Join(w.dir, truthName), durable.Bytes(b)))
}

// Truth reads the known singular values; it returns nil without an error if none are known. A damaged file, or one about
// another matrix, is [ErrCorrupt].
func (s *Store) Truth() (*Truth, error) { return readTruth(s.fs, s.path, s.manifest.Fingerprint) }

func readTruth(fsys vfs.FS, path, fingerprint string) (*Truth, error) {
	b, err := vfs.ReadFile(fsys, filepath.Join(path, truthName), maxTruth)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if replaced(err) {
		return nil, missing(err, path, truthName)
	}
	if err != nil {
		return nil, fmt.Errorf("read truth: %w", err)
	}
	t := new(Truth)
	err = unseal(b, t)
	if err == nil && t.Fingerprint != fingerprint {
		err = codec.Damaged(0, "it is about another matrix, with fingerprint %.80q", t.Fingerprint)
	}
	if bad := (*codec.Damage)(nil); errors.As(err, &bad) {
		return nil, &corruptError{Store: path, File: truthName, Section: "truth", Offset: bad.At, Err: err}
	}
	return t, err
}
