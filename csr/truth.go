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

// Truth is what is known beforehand about the singular values of a made
// matrix (FORMAT.md, "truth.json"). Nothing that computes may look at it.
type Truth struct {
	Sigma    []float64 `json:"sigma"`    // the largest ones, descending
	Complete bool      `json:"complete"` // all others are exactly 0
	Error    float64   `json:"error"`    // no value is further off than Error·Sigma[0]

	Fingerprint string   `json:"fingerprint"` // of the store that it is the truth about
	CRC         Checksum `json:"crc"`
}

// SetTruth has the truth written beside the store on Commit; its Fingerprint
// and CRC are filled in then.
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

// Truth reads what is known about the singular values; nil without an error
// when nothing is. A damaged file, and one about another matrix, are [ErrCorrupt].
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
