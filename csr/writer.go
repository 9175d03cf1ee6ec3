package csr

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Stage begins to write a store at path before its shape is known: hand the
// result to Create in CreateOptions.Staging. Temporary files may lie in its
// Dir until Commit. Under force an existing store is replaced; anything else
// that exists at path is refused and left alone. Errors are those of Create.
func Stage(fsys vfs.FS, path string, force bool) (*vfs.Staging, error) {
	fsys = cmp.Or(fsys, vfs.OS())
	return vfs.Stage(fsys, path, force, func(path string) error { return replaceable(fsys, path) }, nil)
}

// replaceable returns nil if the directory is a store (whole or damaged) or
// empty, and holds nothing else, so that deleting it deletes no user's work.
func replaceable(fsys vfs.FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return err
	}
	isStore := len(entries) == 0
	for _, e := range entries {
		name, regular := e.Name(), e.Type().IsRegular()
		whole := strings.TrimSuffix(name, ".tmp") // a file of titles being replaced
		switch {
		case regular && name == manifestName:
			ours, err := mentionsFormat(fsys, filepath.Join(path, name))
			if err != nil {
				return err
			}
			isStore = isStore || ours
		case regular && strings.HasPrefix(name, "shard-") && strings.HasSuffix(name, ".csr"):
			isStore = true
		case regular && (name == RowAxis.file() || name == ColAxis.file() || name == truthName || whole == RowAxis.titles() || whole == ColAxis.titles()):
		default:
			return fmt.Errorf("%w: %s in it is not of a store; it is left alone", ErrNotStore, name)
		}
	}
	if !isStore {
		return fmt.Errorf("%w; it is left alone", ErrNotStore)
	}
	return nil
}

// mentionsFormat reports whether the beginning of the file names this format, of any version.
func mentionsFormat(fsys vfs.FS, name string) (bool, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	return bytes.Contains(b, []byte(`"`+formatName+`"`)), errors.Join(err, f.Close())
}

// CreateOptions describe the store to be written. Cols and Values are required.
type CreateOptions struct {
	FS         vfs.FS         // nil: vfs.OS()
	Cols       int64          // columns of A, 0 … MaxCols
	Values     Values         // see ValueStats
	Missing    float64        // the value of missing entries, recorded if it is in the table of Values; 0: there are none
	Transposed bool           // the user's matrix is Aᵀ
	ShardSize  int64          // 0: DefaultShard; a shard ends with the block that reaches it
	Force      bool           // replace an existing store, atomically, on Commit
	Source     map[string]any // recorded in the manifest; must be encodable as JSON

	// Late: the Writer chooses Values itself. It holds at most Late bytes of blocks until it has seen enough values. A
	// later value that does not fit is ErrCoding. Source may then be completed until Seal. 0: Values is given.
	Late int64

	// Workers is how many blocks may be encoded at a time beside the caller of
	// AppendRow; the store's bytes do not depend on it. Each takes the memory of a
	// block. 0: the caller encodes.
	Workers int

	// Staging, if given, is where to write instead of staging at path (see
	// Stage); path and Force are then ignored. Commit publishes it: the
	// directory must then hold nothing but the store. It belongs to the Writer
	// once Create has succeeded.
	Staging *vfs.Staging
}

// Writer writes a store, row after row, in bounded memory: one block for the caller and each worker, unless a single
// row is longer than a block. It is used by one goroutine at a time. After an error only Abort may be called; see
// ErrCoding for the exception.
type Writer struct {
	fs       vfs.FS
	staging  *vfs.Staging
	dir      string
	opts     CreateOptions
	manifest Manifest
	enc      *valueEncoder // nil while late is not
	late     *late
	squares  squares

	*filling            // the block being filled
	encoding []*filling // blocks being encoded, in order
	free     []*filling

	blocks []blockMeta
	shard  *shardWriter // nil between shards
	ids    [2]*IDWriter
	truth  *Truth
	titles [2]iter.Seq2[string, error]
	err    error
	sealed bool
	done   bool
}

// Create begins a store at path. The error is fs.ErrExist if the path exists and
// !Force, vfs.ErrLocked if another process is writing it. Under Force only a store
// is ever replaced, never another kind of directory.
func Create(path string, o CreateOptions) (*Writer, error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.ShardSize <= 0 {
		o.ShardSize = DefaultShard
	}
	if o.Cols < 0 || o.Cols > MaxCols {
		return nil, fmt.Errorf("create store: %d columns, the limit is %d", o.Cols, MaxCols)
	}
	if err := o.Values.validate(); err != nil && o.Late == 0 {
		return nil, fmt.Errorf("create store: %w", err)
	}
	if o.Source == nil {
		o.Source = map[string]any{}
	}
	o.Values.Table = append([]float64{}, o.Values.Table...) // never null in JSON
	if _, err := json.Marshal(o.Source); err != nil {
		return nil, fmt.Errorf("create store: record source: %w", err)
	}
	staging := o.Staging
	if staging == nil {
		var err error
		if staging, err = Stage(o.FS, path, o.Force); err != nil {
			return nil, err
		}
	}
	w := &Writer{
		filling: newFilling(),
		fs:      o.FS, staging: staging, dir: staging.Dir(), opts: o,
		manifest: Manifest{
			Format: formatName, Version: Version, Cols: o.Cols, Transposed: o.Transposed,
			Shards: []ShardInfo{}, Source: o.Source,
		},
	}
	if w.setValues(o.Values); o.Late > 0 {
		w.late, w.enc = &late{limit: o.Late}, nil
	}
	return w, nil
}

// Rows is the number of rows so far.
func (w *Writer) Rows() int64 { return w.manifest.Rows }

// NNZ is the number of entries so far.
func (w *Writer) NNZ() int64 { return w.manifest.NNZ }

// AppendRow adds the next row: cols strictly ascending and < Cols, vals finite
// and representable in Values (−0 is written as 0). Both are copied.
func (w *Writer) AppendRow(cols []uint32, vals []float64) error {
	if err := w.open(); err != nil {
		return err
	}
	err := w.appendRow(cols, vals)
	if err != nil {
		err = fmt.Errorf("write row %d: %w", w.manifest.Rows, err)
	}
	if w.opts.Late == 0 || !errors.Is(err, ErrCoding) {
		w.err = err
	}
	return err
}

// open returns the error of a Writer that takes no more rows; nil: it takes rows.
func (w *Writer) open() error {
	if w.err == nil && w.sealed {
		return errors.New("write store: already sealed")
	}
	return w.err
}

func (w *Writer) appendRow(cols []uint32, vals []float64) error {
	if len(cols) != len(vals) {
		return fmt.Errorf("%d columns with %d values", len(cols), len(vals))
	}
	if int64(len(cols)) > w.opts.Cols {
		return fmt.Errorf("%d entries in a matrix of %d columns", len(cols), w.opts.Cols)
	}
	if err := w.makeRoom(len(cols)); err != nil {
		return err
	}
	if w.late != nil {
		if err := w.late.append(w.filling, vals); err != nil {
			return err
		}
	} else {
		values, err := w.enc.append(w.values, vals)
		if err != nil {
			return err
		}
		w.values = values
	}
	if err := w.appendGaps(cols); err != nil {
		return err
	}
	w.squares = w.squares.plus(vals)
	if !w.squares.fits() {
		return errNorm
	}
	w.lens = append(w.lens, uint32(len(cols)))
	w.manifest.Rows++
	w.manifest.NNZ += int64(len(cols))
	return nil
}

// AppendEmptyRows adds n rows without entries.
func (w *Writer) AppendEmptyRows(n int64) error {
	if err := w.open(); err != nil {
		return err
	}
	if n < 0 || n > MaxRows-w.manifest.Rows {
		w.err = fmt.Errorf("write rows: %d more than %d", n, w.manifest.Rows)
		return w.err
	}
	for left := n; left > 0; {
		w.err = w.makeRoom(0)
		if w.err != nil {
			return w.err
		}
		k := min(left, int64(BlockRows-len(w.lens)))
		had := len(w.lens)
		w.lens = slices.Grow(w.lens, int(k))[:had+int(k)]
		clear(w.lens[had:])
		w.manifest.Rows += k
		left -= k
	}
	return nil
}

// makeRoom closes the block being filled if a row of nnz entries does not fit
// into it.
func (w *Writer) makeRoom(nnz int) error {
	if w.manifest.Rows == MaxRows {
		return fmt.Errorf("more than %d rows", MaxRows)
	}
	if len(w.lens) > 0 && (len(w.lens) == BlockRows || len(w.gaps)+nnz > BlockNNZ) {
		return w.flushBlock()
	}
	return nil
}

// IDs begins the ids of an axis; close the IDWriter before Commit. The ids of an axis without a call are 0 … n−1.
func (w *Writer) IDs(axis Axis, kind IDKind) (*IDWriter, error) {
	if axis > ColAxis || kind.number() < 0 {
		panic(fmt.Sprintf("csr: ids of axis %d and kind %q", axis, kind))
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	if w.ids[axis] != nil {
		return nil, fmt.Errorf("write %s: begun twice", axis.file())
	}
	w.ids[axis], w.err = newIDWriter(w, axis, kind)
	return w.ids[axis], w.err
}

// Seal writes everything that is left, so that Commit only publishes, and
// returns the store's fingerprint. Nothing can be added afterwards.
func (w *Writer) Seal() (fingerprint string, err error) {
	if w.err == nil && !w.sealed {
		w.err = w.finish()
		w.sealed = true
	}
	return w.manifest.Fingerprint, w.err
}

// Commit writes everything that is left and publishes the store: from then on path is the complete new store. If Commit
// fails before that, it has the effect of Abort.
func (w *Writer) Commit() error {
	if w.done {
		return errors.New("commit store: already committed or aborted")
	}
	if _, err := w.Seal(); err != nil {
		return errors.Join(err, w.Abort())
	}
	w.done = true
	w.err = errors.New("write store: already committed")
	return w.staging.Commit()
}

func (w *Writer) finish() error {
	if len(w.lens) > 0 {
		if err := w.flushBlock(); err != nil {
			return err
		}
	}
	if w.late != nil {
		if err := w.settleValues(); err != nil {
			return err
		}
	}
	if err := w.settle(0); err != nil {
		return err
	}
	if err := w.closeShard(); err != nil {
		return err
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		iw := w.ids[a]
		switch {
		case iw == nil:
			continue
		case !iw.closed:
			return fmt.Errorf("commit store: %s not closed", a.file())
		case iw.err != nil:
			return iw.err
		case iw.count != w.manifest.axisLen(a):
			return fmt.Errorf("commit store: %d ids for %d %v", iw.count, w.manifest.axisLen(a), a)
		}
	}
	if w.opts.Missing != 0 && w.manifest.NNZ > 0 && len(w.manifest.Values.Table) == 0 {
		return fmt.Errorf("commit store: missing entries as %v among more than %d values: %w", w.opts.Missing, maxDict, ErrCoding)
	}
	w.manifest.IDs = IDFiles{Rows: w.ids[RowAxis].describe(), Cols: w.ids[ColAxis].describe()}
	sum := w.squares.scaled(w.manifest.Values)
	w.manifest.SumSquares, w.manifest.SumExponent = sum.sum, sum.exponent
	w.manifest.Fingerprint = fingerprint(&w.manifest, w.blocks)
	if err := w.writeTruth(); err != nil {
		return err
	}
	if err := w.writeTitles(); err != nil {
		return err
	}
	return w.writeManifest()
}

// Abort removes everything written. After Commit or Abort it does nothing.
func (w *Writer) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.err == nil {
		w.err = errors.New("write store: aborted")
	}
	for _, f := range w.encoding {
		<-f.encoded
	}
	w.encoding = nil
	var err error
	if w.shard != nil {
		err = w.shard.out.Discard()
	}
	for _, iw := range w.ids {
		if iw != nil && !iw.closed {
			iw.closed = true
			err = errors.Join(err, iw.out.Discard())
		}
	}
	return errors.Join(err, w.staging.Abort())
}
