package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// SpaceError refuses an ingest whose temporary files and store will not fit on the disk.
type SpaceError struct {
	Dir          string // of the store
	Spool, Store int64  // bytes estimated
	Free         int64  // bytes
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the disk of %s has %s free; about %s are needed, %s of them for temporary files",
		e.Dir, memory.FormatSize(e.Free), memory.FormatSize(e.Spool+e.Store), memory.FormatSize(e.Spool))
}

// checkSpace estimates what the ingest will write and compares it with the
// free space. Inputs that can be read only once are not estimated.
func (g *ingestion) checkSpace(ctx context.Context) error {
	if g.inputs == nil {
		return nil
	}
	e, err := g.estimate(ctx)
	if err != nil || e == nil {
		return err
	}
	g.report.Estimate = *e
	dir := filepath.Dir(g.staging.Target())
	free, err := g.o.FS.FreeSpace(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	log := g.o.Log.Debug
	if e.Spool > 0 {
		log = g.o.Log.Info
	}
	log("disk space", "temporary files", memory.FormatSize(e.Spool), "store", memory.FormatSize(e.Store), "free", memory.FormatSize(free))
	have := g.spool.FileBytes() // of an ingest that is resumed
	if need := max(0, e.Spool-have) + e.Store; need > free && !g.o.IgnoreSpace {
		return fmt.Errorf("ingest: %w", &SpaceError{Dir: dir, Spool: max(0, e.Spool-have), Store: e.Store, Free: free})
	}
	return nil
}

// An Estimate is made from a sample of the inputs before they are read.
type Estimate struct {
	Entries int64
	Spool   int64 // bytes of temporary files, 0 if none will be needed
	Store   int64 // bytes
}

const (
	// sampleInputs is how many inputs are sampled, evenly spread.
	sampleInputs = 8
	// sampleChunks is how many chunks are read of each.
	sampleChunks = 4
)

// estimate extrapolates from the beginnings of some inputs. It is nil if there
// is nothing to learn from them; what is wrong with them will be found when they
// are read.
func (g *ingestion) estimate(ctx context.Context) (*Estimate, error) {
	s := sample{o: g.o, users: ids.NewDictionary(), items: ids.NewDictionary()}
	var prev *source
	step := max(1, len(g.names)/sampleInputs)
	for i := 0; i < len(g.names); i += step {
		src, err := s.read(ctx, g.plan, g.names[i], prev)
		if pe := (*format.ParseError)(nil); errors.As(err, &pe) {
			break
		}
		if err != nil {
			return nil, err
		}
		prev = src
	}
	if s.entries == 0 || s.disk == 0 {
		return nil, nil
	}
	return s.scale(g.inputSize(), g.plan), nil
}

// A sample is what has been learnt from the beginnings of inputs.
type sample struct {
	o            Options
	users, items *ids.Dictionary
	stats        csr.ValueStats
	coder        extsort.Coder

	disk     int64 // bytes of the inputs, as they lie on disk, that it is from
	entries  int64
	encoded  int64 // bytes of the entries as runs in arrival order
	idBytes  int64 // of new ids, as a log has them
	someIDs  int64 // of them, those of the last chunk of each input
	someSeen int64 // entries there
}

func (s *sample) read(ctx context.Context, p plan, name string, prev *source) (*source, error) {
	op := input.Opener{FS: s.o.FS, Bytes: new(atomic.Int64), MaxWindow: uint64(p.window)}
	src, err := openSource(ctx, op, name, s.o, prev)
	if err != nil {
		return nil, err
	}
	c, b := &format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}, &format.Batch{}
	for range sampleChunks {
		c.Data = c.Data[:0]
		if err = ctx.Err(); err == nil {
			err = src.reader.Next(c)
		}
		if err == nil {
			b.Reset(s.o.MaxBadLines)
			err = src.reader.Parse(c, b)
		}
		if err != nil {
			break
		}
		s.add(b, src.shape)
	}
	s.disk += op.Bytes.Load() - src.Ahead()
	if err == io.EOF {
		err = nil
	}
	return src, errors.Join(err, src.Close())
}

// add counts a batch.
func (s *sample) add(b *format.Batch, declared *shape) {
	before := s.idBytes
	var users, items []uint32
	var k extsort.Packer
	switch {
	case declared == nil:
		users, items = s.number(s.users, &b.Row), s.number(s.items, &b.Col)
	case declared.Late:
		k = extsort.Packer{ColBits: 32}
	default:
		k, _ = s.o.packer(*declared) // it was declared: it fits
	}
	e := make([]extsort.Entry, 0, extsort.BlockEntries)
	for i, v := range b.Val {
		if declared != nil {
			e = append(e, extsort.Entry{Key: k.Key(b.Row.Ints[i], b.Col.Ints[i]), Val: v})
		} else {
			e = append(e, extsort.Entry{Key: uint64(users[i])<<32 | uint64(items[i]), Val: v})
		}
		if len(e) == extsort.BlockEntries || i == len(b.Val)-1 {
			s.encoded += int64(len(s.coder.Encode(nil, e, false)))
			e = e[:0]
		}
	}
	s.entries += int64(len(b.Val))
	s.stats.Add(b.Val...)
	s.someIDs, s.someSeen = s.idBytes-before, int64(len(b.Val))
}

// number gives temporary ids and counts the bytes of those that are new.
func (s *sample) number(d *ids.Dictionary, c *format.Keys) []uint32 {
	next := uint32(d.N)
	ids := d.Encode(c, nil)
	for i, t := range ids {
		if t < next {
			continue
		}
		next++
		s.idBytes += 4
		if c.IsText {
			s.idBytes += int64(len(c.Text(i))) - 3
		}
	}
	return ids
}

// storeGap is the bytes the place of an entry takes in a store; 1 to 3 are usual.
const storeGap = 2.5

// scale extrapolates to inputs of the given bytes on disk.
func (s *sample) scale(total int64, p plan) *Estimate {
	n := float64(s.entries) * float64(total) / float64(s.disk)
	values := s.stats.Values()
	value := float64(values.Coding.Size(uint64(s.entries))) / float64(s.entries)
	ids := 0.0 // of an entry, at the rate of the last chunk
	if s.someSeen > 0 {
		ids = float64(s.someIDs) / float64(s.someSeen)
	}
	e := &Estimate{Entries: int64(n), Store: int64(n * (storeGap + value + ids))}
	size := float64(extsort.EntryBytes)
	if s.users.N > 0 && len(values.Table) > 0 {
		size = extsort.PackedBytes
	}
	if n*size*9/8 > float64(p.Space) || n*size > float64(p.Keep) {
		// One byte more for places farther apart than those of the sample.
		e.Spool = int64(n * (float64(s.encoded)/float64(s.entries) + 1 + ids))
	}
	return e
}
