package csr

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// Checksum is a CRC-32C (RFC 3720, appendix B.4), in JSON and as text eight lower-case hex digits.
type Checksum = crc.Sum

// ManifestName is the name of the file that makes a directory a store.
const ManifestName = "MANIFEST.json"

const (
	manifestName = ManifestName
	manifestTmp  = manifestName + ".tmp"
	formatName   = "gdsvd-store"
	// maxManifest bounds what a reader loads into memory.
	maxManifest = 64 << 20
)

// Manifest mirrors MANIFEST.json (FORMAT.md).
type Manifest struct {
	Format      string         `json:"format"`
	Version     int            `json:"version"`
	Rows        int64          `json:"rows"`
	Cols        int64          `json:"cols"`
	NNZ         int64          `json:"nnz"`
	Transposed  bool           `json:"transposed"`
	Values      Values         `json:"values"`
	Missing     *float64       `json:"missing,omitempty"`      // a value of Values.Table; nil: no entry is missing
	SumSquares  float64        `json:"sum_squares"`            // Σv² is SumSquares·2^SumExponent
	SumExponent int            `json:"sum_exponent,omitempty"` // −1200, 0 or 1200
	MaxBlock    MaxBlock       `json:"max_block"`
	Shards      []ShardInfo    `json:"shards"`
	IDs         IDFiles        `json:"ids"`
	Fingerprint string         `json:"fingerprint"`
	Source      map[string]any `json:"source"`
	CRC         Checksum       `json:"crc"`
}

// MaxBlock holds the largest rows, entries and encoded bytes over all blocks
// (of different blocks, possibly), for planning memory.
type MaxBlock struct {
	Rows int64 `json:"rows"`
	NNZ  int64 `json:"nnz"`
	Size int64 `json:"size"`
}

func (m *MaxBlock) include(b *blockMeta) {
	m.Rows = max(m.Rows, int64(b.rows))
	m.NNZ = max(m.NNZ, int64(b.nnz))
	m.Size = max(m.Size, int64(b.size))
}

// ShardInfo describes one shard file.
type ShardInfo struct {
	Name     string   `json:"name"`
	Size     int64    `json:"size"`
	FirstRow int64    `json:"first_row"`
	Rows     int64    `json:"rows"`
	NNZ      int64    `json:"nnz"`
	Blocks   int64    `json:"blocks"`
	CRC      Checksum `json:"crc"`
}

// IDFiles describes the files of external ids; nil when the ids are 0 … n−1.
type IDFiles struct {
	Rows *IDFile `json:"rows,omitempty"`
	Cols *IDFile `json:"cols,omitempty"`
}

// IDFile describes one file of external ids.
type IDFile struct {
	File  string   `json:"file"`
	Kind  IDKind   `json:"kind"`
	Order IDOrder  `json:"order,omitempty"`
	Count int64    `json:"count"`
	Size  int64    `json:"size"`
	CRC   Checksum `json:"crc"`
}

// Of returns the file of an axis, or nil.
func (f IDFiles) Of(a Axis) *IDFile { return [...]*IDFile{f.Rows, f.Cols}[a] }

func (m *Manifest) encode() ([]byte, error) { return durable.Seal(m, &m.CRC) }

// decodeManifest parses and checks a manifest on its own, without the files it
// names. Errors: ErrNotStore (without a path), ErrVersion, *codec.Damage.
func decodeManifest(store string, b []byte) (*Manifest, error) {
	if err := recogniseManifest(store, b); err != nil {
		return nil, err
	}
	m := new(Manifest)
	return m, unseal(b, m)
}

// unseal verifies the crc at the end of the JSON text b, decodes b into v and validates v. A field unknown to v is an
// error. Errors are *codec.Damage.
func unseal(b []byte, v interface{ validate() error }) error {
	if at, err := durable.CheckSeal(b); err != nil {
		return codec.Damaged(at, "%v", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return codec.Damaged(d.InputOffset(), "%.200v", err)
	}
	if err := v.validate(); err != nil {
		return codec.Damaged(0, "%v", err)
	}
	return nil
}

// recogniseManifest checks format and version only.
func recogniseManifest(store string, b []byte) error {
	var head struct {
		Format  *string `json:"format"`
		Version *int64  `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		at := int64(0)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return codec.Damaged(at, "%.200v", err)
	}
	switch {
	case head.Format == nil && head.Version == nil:
		return codec.Damaged(0, "neither format nor version in it")
	case head.Format == nil || *head.Format != formatName:
		return fmt.Errorf("%w: its %s is of something else", ErrNotStore, manifestName)
	case head.Version == nil:
		return codec.Damaged(0, "no version in it")
	case *head.Version != Version:
		return wrongVersion(store, manifestName, *head.Version)
	}
	return nil
}

func (m *Manifest) validate() error {
	switch {
	case m.Rows < 0 || m.Rows > MaxRows || m.Cols < 0 || m.Cols > MaxCols:
		return fmt.Errorf("impossible shape %d × %d", m.Rows, m.Cols)
	case m.NNZ < 0 || tooMany(m.NNZ, m.Rows, m.Cols):
		return fmt.Errorf("impossible nnz %d for %d × %d", m.NNZ, m.Rows, m.Cols)
	case !(m.SumSquares >= 0) || levelOf(m.SumExponent) < 0 || !m.sum().fits():
		return fmt.Errorf("impossible sum_squares %v", m.sum())
	}
	if err := m.Values.validate(); err != nil {
		return err
	}
	if m.Missing != nil && !slices.Contains(m.Values.Table, *m.Missing) {
		return fmt.Errorf("missing entries as %v, which is not in the value table", *m.Missing)
	}
	if b, err := hex.DecodeString(m.Fingerprint); err != nil || len(b) != sha256.Size {
		return fmt.Errorf("fingerprint %.80q", m.Fingerprint)
	}
	if err := m.validateShards(); err != nil {
		return err
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		f := m.IDs.Of(a)
		if f == nil {
			continue
		}
		if f.File != a.file() || f.Count != m.axisLen(a) || f.Size < idsHeaderSize+idsTrailerSize || f.Kind.number() < 0 || f.Order != Ascending && f.Order != Given {
			return fmt.Errorf("impossible description of %s", a.file())
		}
	}
	return nil
}

func (m *Manifest) sum() scaledSum { return scaledSum{m.SumSquares, m.SumExponent} }

// tooMany reports whether nnz is more than a rows × cols matrix has, or than the format allows.
func tooMany(nnz, rows, cols int64) bool {
	hi, lo := bits.Mul64(uint64(rows), uint64(cols))
	return nnz > MaxRows || hi == 0 && uint64(nnz) > lo
}

func (m *Manifest) validateShards() error {
	var rows, nnz int64
	for i, s := range m.Shards {
		least := int64(headerSize + 8*len(m.Values.Table) + trailerSize)
		switch {
		case s.Name != shardName(i):
			return fmt.Errorf("shard %d named %.60q", i, s.Name)
		case s.FirstRow != rows:
			return fmt.Errorf("%s begins at row %d, not %d", s.Name, s.FirstRow, rows)
		case s.Rows < 1 || s.Rows > m.Rows-rows || s.NNZ < 0 || s.NNZ > m.NNZ-nnz:
			return fmt.Errorf("%s with %d rows and %d entries", s.Name, s.Rows, s.NNZ)
		case s.Blocks < 1 || s.Blocks > math.MaxUint32 || s.Size < least+s.Blocks*(blockHeaderSize+footerRecord):
			return fmt.Errorf("%s of %d bytes with %d blocks", s.Name, s.Size, s.Blocks)
		}
		rows += s.Rows
		nnz += s.NNZ
	}
	if rows != m.Rows || nnz != m.NNZ {
		return fmt.Errorf("shards add up to %d rows and %d entries, not %d and %d", rows, nnz, m.Rows, m.NNZ)
	}
	return nil
}

func (m *Manifest) axisLen(a Axis) int64 { return [...]int64{m.Rows, m.Cols}[a] }

// fingerprint hashes what FORMAT.md "Fingerprint" lists.
func fingerprint(m *Manifest, blocks []blockMeta) string {
	h := sha256.New()
	b := []byte("gdsvd-store/1\n")
	b = le.AppendUint64(b, uint64(m.Rows))
	b = le.AppendUint64(b, uint64(m.Cols))
	b = le.AppendUint64(b, uint64(m.NNZ))
	transposed := byte(0)
	if m.Transposed {
		transposed = 1
	}
	b = append(b, transposed, byte(m.Values.Coding.number()))
	for _, v := range m.Values.Table {
		b = le.AppendUint64(b, math.Float64bits(v))
	}
	if m.Missing != nil {
		b = le.AppendUint64(b, math.Float64bits(*m.Missing))
	}
	for i := range blocks {
		if len(b) > 4096 {
			h.Write(b)
			b = b[:0]
		}
		x := &blocks[i]
		b = le.AppendUint64(b, uint64(x.firstRow))
		b = le.AppendUint32(b, x.rows)
		b = le.AppendUint32(b, x.nnz)
		b = le.AppendUint32(b, x.size)
		b = le.AppendUint32(b, x.crc)
	}
	for _, f := range []*IDFile{m.IDs.Rows, m.IDs.Cols} {
		crc := crc.Sum(0)
		if f != nil {
			crc = f.CRC
		}
		b = le.AppendUint32(b, uint32(crc))
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// strays returns the names in the directory that do not belong to the store; the manifest, written last, is one of them.
func (m *Manifest) strays(fsys vfs.FS, dir string) ([]string, error) {
	ours := map[string]bool{truthName: true, RowAxis.titles(): true, ColAxis.titles(): true}
	for _, s := range m.Shards {
		ours[s.Name] = true
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		ours[a.file()] = m.IDs.Of(a) != nil
	}
	var names []string
	entries, err := fsys.ReadDir(dir)
	for _, e := range entries {
		if !ours[e.Name()] {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// writeManifest puts the manifest in its place, after making sure that the
// directory holds nothing else than the store.
func (w *Writer) writeManifest() error {
	strays, err := w.manifest.strays(w.fs, w.dir)
	if err != nil {
		return fmt.Errorf("commit store: %w", err)
	}
	if len(strays) > 0 {
		return fmt.Errorf("commit store: %s does not belong in it", filepath.Join(w.dir, strays[0]))
	}
	b, err := w.manifest.encode()
	if err != nil {
		return fmt.Errorf("commit store: %w", err)
	}
	if len(b) >= maxManifest {
		return fmt.Errorf("commit store: manifest of %d bytes, the limit is %d: use larger shards", len(b), maxManifest)
	}
	return writing(durable.Replace(w.fs, filepath.Join(w.dir, manifestName), filepath.Join(w.dir, manifestTmp), durable.Bytes(b)))
}
