package csr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/readahead"
)

// OpenOptions are the options of Open.
type OpenOptions struct {
	FS vfs.FS // nil: vfs.OS()
	// Missing: the caller distinguishes missing entries from numbers, see Store.Missing. Without it, opening a store with
	// missing entries fails with [ErrMissing].
	Missing bool
	Name    string // what Path returns, such as the source of a store made for one run; "": the path
}

// Store is a store opened for reading. It is safe for concurrent use, but Close must come after all other calls.
type Store struct {
	fs       vfs.FS
	path     string
	name     string // OpenOptions.Name
	manifest *Manifest
	size     int64
	shards   []*shard
	blocks   []blockMeta
	shardOf  []int32 // shard of each block
	dec      *valueDecoder
	ahead    readahead.Reader
	closed   atomic.Bool
}

// Open opens the store at path and checks its frame: everything but the
// contents of blocks and ids (FORMAT.md, "What is checked when").
//
// Errors: fs.ErrNotExist, [ErrNotStore], [ErrCorrupt], [ErrVersion], or a fault of the file system.
func Open(path string, o OpenOptions) (*Store, error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	m, size, err := readManifest(o.FS, path)
	if err != nil {
		return nil, err
	}
	s := &Store{fs: o.FS, path: path, name: o.Name, manifest: m, size: size, dec: newValueDecoder(m.Values)}
	if err := s.NoMissing(); err != nil && !o.Missing {
		return nil, err
	}
	if err := s.load(); err != nil {
		return nil, m.orReplaced(o.FS, path, errors.Join(err, s.Close()))
	}
	return s, nil
}

// mostOpening is the largest number of shards opened at a time.
const mostOpening = 16

func (s *Store) load() error {
	l := &shardLoader{fs: s.fs, store: s.path, manifest: s.manifest, report: func(err error) error { return err }}
	s.shards = make([]*shard, len(s.manifest.Shards))
	var g errgroup.Group
	g.SetLimit(min(mostOpening, 1+len(s.shards)/8)) // a store may have thousands of shards, each behind a network
	for i := range s.shards {
		g.Go(func() (err error) {
			s.shards[i], err = l.load(i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, sh := range s.shards {
		s.size += sh.size
		_ = sh.m.Advise(vfs.DontNeed, 0, sh.size) // only a hint: drops the pages of the frame
	}
	s.gather()
	for _, a := range []Axis{RowAxis, ColAxis} {
		n, err := s.idsSize(a)
		if err != nil {
			return err
		}
		s.size += n
	}
	if err := checkTotals(s.manifest, s.blocks); err != nil {
		return &corruptError{Store: s.path, File: manifestName, Section: "manifest", Offset: 0, Err: err}
	}
	return nil
}

func (s *Store) idsSize(a Axis) (int64, error) {
	info := s.manifest.IDs.Of(a)
	if info == nil {
		return 0, nil
	}
	name := filepath.Join(s.path, info.File)
	fi, err := s.fs.Stat(name)
	if err == nil {
		err = vfs.Regular(name, fi)
	}
	if err != nil {
		return 0, missing(err, s.path, info.File)
	}
	if fi.Size() != info.Size {
		return 0, &corruptError{Store: s.path, File: info.File, Section: "ids", Offset: min(fi.Size(), info.Size),
			Err: fmt.Errorf("%d bytes where the manifest says %d", fi.Size(), info.Size)}
	}
	return info.Size, nil
}

// gather moves the blocks of all shards into one list and makes the list of each shard a part of it, so that the many
// blocks are held once.
func (s *Store) gather() {
	n := 0
	for _, sh := range s.shards {
		n += len(sh.blocks)
	}
	s.blocks, s.shardOf = make([]blockMeta, 0, n), make([]int32, 0, n)
	for i, sh := range s.shards {
		first := len(s.blocks)
		s.blocks = append(s.blocks, sh.blocks...)
		sh.blocks = s.blocks[first:]
		for range sh.blocks {
			s.shardOf = append(s.shardOf, int32(i))
		}
	}
}

func checkTotals(m *Manifest, blocks []blockMeta) error {
	var largest MaxBlock
	for i := range blocks {
		largest.include(&blocks[i])
	}
	if largest != m.MaxBlock {
		return fmt.Errorf("max_block is %+v, not %+v", largest, m.MaxBlock)
	}
	if fingerprint(m, blocks) != m.Fingerprint {
		return errors.New("fingerprint is not that of the shards and ids")
	}
	return nil
}

func readManifest(fsys vfs.FS, path string) (*Manifest, int64, error) {
	b, err := vfs.ReadFile(fsys, filepath.Join(path, manifestName), maxManifest)
	if replaced(err) {
		return nil, 0, missing(err, path, manifestName)
	}
	if err != nil {
		return nil, 0, explainMissing(fsys, path, err)
	}
	m, err := decodeManifest(path, b)
	var bad *codec.Damage
	switch {
	case err == nil:
		return m, int64(len(b)), nil
	case errors.Is(err, ErrVersion):
		return nil, 0, err
	case errors.As(err, &bad):
		return nil, 0, &corruptError{Store: path, File: manifestName, Section: "manifest", Offset: bad.At, Err: err}
	}
	return nil, 0, fmt.Errorf("open store: %s: %w", path, err)
}

// Close unmaps the store.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	err := s.ahead.Close()
	for _, sh := range s.shards {
		if sh != nil { // nil if opening failed
			err = errors.Join(err, sh.m.Close())
		}
	}
	return err
}

// Path returns OpenOptions.Name or, if that is empty, the path at which the store was opened.
func (s *Store) Path() string { return cmp.Or(s.name, s.path) }

// Missing returns the value stored for entries that are not known; ok is false if the store has none.
func (s *Store) Missing() (value float64, ok bool) {
	if m := s.manifest.Missing; m != nil {
		return *m, true
	}
	return 0, false
}

// NoMissing returns [ErrMissing] if the store has missing entries, for callers that take all entries for numbers.
func (s *Store) NoMissing() error {
	code, ok := s.Missing()
	if !ok {
		return nil
	}
	return fmt.Errorf("open store: %s: %w, stored as %v: commands that have it take them with --view patterson or impute=mean for the mean of their column, with --view impute=zero for 0", s.path, ErrMissing, code)
}

// Rows is the number of rows of A.
func (s *Store) Rows() int64 { return s.manifest.Rows }

// Cols is the number of columns of A.
func (s *Store) Cols() int64 { return s.manifest.Cols }

// NNZ is the number of stored entries, explicit zeros included.
func (s *Store) NNZ() int64 { return s.manifest.NNZ }

// Transposed reports whether the user's matrix is Aᵀ.
func (s *Store) Transposed() bool { return s.manifest.Transposed }

// Values is the value coding. The table must not be changed.
func (s *Store) Values() Values { return s.manifest.Values }

// Norm returns ‖A‖_F as m·2^exponent. The product is in the range of a float64, but may have fewer digits than m.
func (s *Store) Norm() (m float64, exponent int) {
	return math.Sqrt(s.manifest.SumSquares), s.manifest.SumExponent / 2
}

// Fingerprint names the matrix and its ids, however they were sharded or when
// they were ingested: 64 hex digits.
func (s *Store) Fingerprint() string { return s.manifest.Fingerprint }

// Size is the number of bytes on disk, all files.
func (s *Store) Size() int64 { return s.size }

// MaxBlock returns the largest rows, entries and size over all blocks, for planning memory.
func (s *Store) MaxBlock() MaxBlock { return s.manifest.MaxBlock }

// Manifest is the whole manifest. It must not be changed.
func (s *Store) Manifest() Manifest { return *s.manifest }

// NumBlocks is the number of blocks, the units of decoding.
func (s *Store) NumBlocks() int { return len(s.blocks) }

// BlockInfo describes a block that has not been decoded.
type BlockInfo struct {
	FirstRow int64
	Rows     int
	NNZ      int
	Size     int64 // encoded bytes
	Shard    int   // index of the shard; its blocks lie one behind the other, in order
}

// Block describes block i, 0 ≤ i < NumBlocks.
func (s *Store) Block(i int) BlockInfo {
	b := &s.blocks[i]
	return BlockInfo{FirstRow: b.firstRow, Rows: int(b.rows), NNZ: int(b.nnz), Size: int64(b.size), Shard: int(s.shardOf[i])}
}

// DecodedSize returns the bytes of Go's heap that a decoded block of the given rows and entries takes: 2 to 13 bytes an
// entry, see [Block], plus the rounding of its slices.
func (s *Store) DecodedSize(rows, nnz int64) int64 { return decodedSize(s.manifest, rows, nnz) }

func decodedSize(m *Manifest, rows, nnz int64) int64 {
	column, code, value := int64(4), int64(0), int64(8)
	if m.Cols <= maxCols16 {
		column = 2
	}
	switch coding := m.Values.Coding; {
	case coding == Constant:
		value = 0
	case coding.coded():
		code, value = 1, 0
	case coding == Integer: // room for codes and for values: a block has either
		code = 1
	}
	const table = 8 * maxDict // the block's own
	return allocated(4*(rows+1)) + code*allocated(table) + allocated(column*nnz) + allocated(code*nnz) + allocated(value*nnz)
}

// Scratch returns an empty block with room for any block of the store: DecodeBlock into it makes no garbage of its
// slices.
func (s *Store) Scratch() *Block {
	rows, nnz := s.manifest.MaxBlock.Rows, s.manifest.MaxBlock.NNZ
	b := &Block{RowPtr: make([]uint32, 0, rows+1)}
	if s.manifest.Cols <= maxCols16 {
		b.Col16 = make([]uint16, 0, nnz)
	} else {
		b.Col = make([]uint32, 0, nnz)
	}
	switch coding := s.manifest.Values.Coding; {
	case coding == Constant:
	case coding.coded():
		b.Code = make([]uint8, 0, nnz)
	case coding == Integer:
		b.Code = make([]uint8, 0, nnz)
		fallthrough
	default:
		b.Val = make([]float64, 0, nnz)
	}
	return b
}

// allocated returns the most bytes that Go's heap takes for a slice of n bytes: small slices are rounded up to size
// classes, at most 16 bytes or a fifth apart, larger ones to pages.
func allocated(n int64) int64 {
	const largestClass, page = 32 << 10, 8 << 10
	if n <= largestClass {
		return n + n/5 + 16
	}
	return (n + page - 1) / page * page
}

// DecodeBlock decodes block i into dst and proves it sound: it checks the crc of the bytes and, on the decoded copy, all
// that the doc of [Block] says, so that unchecked kernels may run on it. It is safe for concurrent use with distinct dst.
// After an error of decoding dst is empty.
//
// Errors: [ErrCorrupt], also when the file was truncated; another error when the disk did not deliver the bytes; for an
// object of a bucket those of its server.
func (s *Store) DecodeBlock(i int, dst *Block) error {
	if s.closed.Load() {
		return fmt.Errorf("decode block %d: store %s is closed", i, s.path)
	}
	b := &s.blocks[i]
	sh := s.shards[s.shardOf[i]]
	data, letGo := s.ahead.Bytes(i, b.offset)
	err := sh.decode(b, data, dst, s.manifest.Cols, s.dec)
	letGo()
	if err != nil {
		return describe(s.fs, s.path, sh, b, err)
	}
	return nil
}

// decode decodes a block from data, which begins with the block, or from the map if data is nil. Errors: *codec.Damage
// with offsets relative to the file, *fault.Error, and those of fetching the bytes.
func (s *shard) decode(b *blockMeta, data []byte, dst *Block, cols int64, dec *valueDecoder) error {
	err := fault.Guard(func() (err error) {
		if data == nil {
			if data, err = s.m.Bytes(b.offset, int64(b.size), true); err != nil {
				return err
			}
		}
		block := codec.Summed{Level: dec.level, Data: data[:b.size]}
		err = decodeBlock(dst, &block, b, cols, dec)
		block.UpTo(int(b.size))
		if block.CRC != b.crc {
			return codec.Damaged(0, "%v", crc.ErrMismatch)
		}
		return err
	})
	if err != nil {
		dst.empty()
		if d, ok := err.(*codec.Damage); ok {
			d.At += b.offset
		}
	}
	return err
}

// describe adds the place in the store to an error of decode. Blocks are numbered within their shard.
func describe(fsys vfs.FS, store string, sh *shard, b *blockMeta, err error) error {
	section := fmt.Sprintf("block %d", slices.Index(sh.blocks, *b))
	if bad, ok := errors.AsType[*codec.Damage](err); ok {
		return &corruptError{Store: store, File: sh.name, Section: section, Offset: bad.At, Err: err}
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return faultError(fsys, store, sh, section, b.offset)
	}
	return err
}
