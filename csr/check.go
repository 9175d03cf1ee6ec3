package csr

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// available returns the memory that is available; tests replace it.
var available = memory.Available

// CheckOptions are the options of Check.
type CheckOptions struct {
	FS       vfs.FS                  // nil: vfs.OS()
	Quick    bool                    // do not decode blocks: check frames, ids, truth and titles only
	Progress func(done, total int64) // bytes; may be nil
	// Shards reports which shards are known to be sound. Only the frames of sound shards are checked, and sum_squares,
	// which depends on the order of all entries, is not compared. nil: no shard is known to be sound
	Shards func(ctx context.Context, m *Manifest) ([]bool, error)
}

// CheckReport is what Check found. Problems holds every problem of a damaged store, or of a store of another version of
// the format, in the order in which they are found.
type CheckReport struct {
	Blocks   int      // blocks found and, unless Quick, decoded
	Bytes    int64    // bytes checked
	Problems []error  // each is ErrCorrupt or ErrVersion
	Warnings []string // e.g. stray files
}

// SoundShards reads shards [from, to) of the store with the given fingerprint, and reports for each whether it is sound.
func SoundShards(ctx context.Context, fsys vfs.FS, path, fingerprint string, from, to int) (sound []bool, err error) {
	m, _, err := readManifest(fsys, path)
	if err != nil {
		return nil, err
	}
	if m.Fingerprint != fingerprint || to > len(m.Shards) {
		return nil, fmt.Errorf("check store: %s is another store: its fingerprint is %s, not %s", path, m.Fingerprint, fingerprint)
	}
	for i := from; i < to; i++ {
		c := newChecker(path, CheckOptions{FS: fsys})
		c.manifest = m
		if err := c.shard(ctx, i); err != nil {
			return nil, err
		}
		sound = append(sound, len(c.report.Problems) == 0)
	}
	return sound, nil
}

// Check reads a whole store and reports everything that is wrong with it: it goes on after a damaged part. The error is
// for other failures: the store does not exist, a file cannot be read, ctx is done; the report then holds what was
// found so far.
func Check(ctx context.Context, path string, o CheckOptions) (*CheckReport, error) {
	c := newChecker(path, o)
	err := c.run(ctx)
	return c.report, err
}

func newChecker(path string, o CheckOptions) *checker {
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	return &checker{CheckOptions: o, path: path, report: new(CheckReport), vals: make([]float64, 0, 1<<12)}
}

type checker struct {
	CheckOptions
	path     string
	report   *CheckReport
	manifest *Manifest
	total    int64
	sound    []bool // result of Shards
	blocks   []blockMeta
	squares  squares
	vals     []float64 // scratch
	// incomplete: some block could not be found or decoded, so that sums over all blocks are not compared.
	incomplete bool
}

func (c *checker) run(ctx context.Context) error {
	m, size, err := readManifest(c.FS, c.path)
	if err != nil {
		return c.problem(err)
	}
	c.manifest = m
	c.total = size
	for _, s := range m.Shards {
		c.total += s.Size
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		if f := m.IDs.Of(a); f != nil {
			c.total += f.Size
		}
	}
	c.advance(size)
	if c.Shards != nil {
		if c.sound, err = c.Shards(ctx, m); err != nil {
			return err
		}
	}
	for i := range m.Shards {
		if err := c.shard(ctx, i); err != nil {
			return err
		}
	}
	if err := c.totals(); err != nil {
		return err
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		if err := c.ids(ctx, a); err != nil {
			return err
		}
	}
	_, err = readTruth(c.FS, c.path, m.Fingerprint)
	if err := c.problem(err); err != nil {
		return err
	}
	for _, a := range []Axis{RowAxis, ColAxis} {
		if err := c.problem(checkTitles(c.FS, c.path, m, a)); err != nil {
			return err
		}
	}
	return c.strays()
}

// problem adds ErrCorrupt and ErrVersion to the report, and returns every other error, nil included.
func (c *checker) problem(err error) error {
	err = c.manifest.orReplaced(c.FS, c.path, err)
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
		c.report.Problems = append(c.report.Problems, err)
		return nil
	}
	return err
}

func (c *checker) advance(n int64) {
	c.report.Bytes += n
	c.Progress(c.report.Bytes, c.total)
}

func (c *checker) shard(ctx context.Context, i int) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	l := &shardLoader{fs: c.FS, store: c.path, manifest: c.manifest, report: c.problem}
	info := &c.manifest.Shards[i]
	s, err := l.load(i)
	if err != nil {
		return err
	}
	if s == nil {
		c.incomplete = true
		c.advance(info.Size)
		return nil
	}
	defer func() { err = errors.Join(err, s.m.Close()) }()
	c.blocks = append(c.blocks, s.blocks...)
	c.report.Blocks += len(s.blocks)
	frame := info.Size
	if !c.Quick && (c.sound == nil || !c.sound[i]) {
		// Only a hint.
		_ = s.m.Advise(vfs.Sequential, 0, s.size)
		dec := newValueDecoder(c.manifest.Values)
		var dst Block
		for k := range s.blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := &s.blocks[k]
			if b.nnz > BlockNNZ {
				need, room := decodedSize(c.manifest, int64(b.rows), int64(b.nnz)), available()
				if room > 0 && need > room {
					return fmt.Errorf("check store: %s: block %d of %s: its %d entries take %s of memory, %s are available",
						c.path, k, info.Name, b.nnz, memory.FormatSize(need), memory.FormatSize(room))
				}
			}
			if err := c.block(s, b, &dst, dec); err != nil {
				return err
			}
			frame -= int64(b.size)
		}
	}
	c.advance(frame)
	return nil
}

func (c *checker) block(s *shard, b *blockMeta, dst *Block, dec *valueDecoder) error {
	if err := s.decode(b, nil, dst, c.manifest.Cols, dec); err != nil {
		c.incomplete = true
		if err := c.problem(describe(c.FS, c.path, s, b, err)); err != nil {
			return err
		}
	}
	for _, v := range dst.Entries() {
		c.vals = append(c.vals, v)
		if len(c.vals) == cap(c.vals) {
			c.squares, c.vals = c.squares.plus(c.vals), c.vals[:0]
		}
	}
	c.squares, c.vals = c.squares.plus(c.vals), c.vals[:0]
	s.pages.Release(extent(b, b))
	c.advance(int64(b.size))
	return nil
}

func (c *checker) totals() error {
	if c.incomplete {
		return nil
	}
	err := checkTotals(c.manifest, c.blocks)
	if want := c.manifest.sum(); err == nil && !c.Quick && c.sound == nil && c.squares.scaled(c.manifest.Values) != want {
		err = fmt.Errorf("sum_squares is %v, not %v", c.squares.scaled(c.manifest.Values), want)
	}
	if err == nil {
		return nil
	}
	return c.problem(&corruptError{Store: c.path, File: manifestName, Section: "manifest", Offset: 0, Err: err})
}

func (c *checker) ids(ctx context.Context, a Axis) (err error) {
	info := c.manifest.IDs.Of(a)
	if info == nil {
		return nil
	}
	defer c.advance(info.Size)
	r, err := openIDs(c.FS, c.path, info)
	if err != nil {
		return c.problem(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for n := 0; r.Next(); n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return c.problem(r.Err())
}

func (c *checker) strays() error {
	names, err := c.manifest.strays(c.FS, c.path)
	if err != nil {
		return fmt.Errorf("check store: %w", err)
	}
	for _, name := range names {
		if name != manifestName {
			c.report.Warnings = append(c.report.Warnings, name+" does not belong to the store")
		}
	}
	return nil
}
