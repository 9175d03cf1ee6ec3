package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/growth"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// A plan divides the memory budget. Only the speed depends on it.
type plan struct {
	total int64 // bytes, all of it
	chunk int   // bytes of input parsed at a time, at most format.ChunkBytes
	jobs  int   // chunks under way
	extsort.Budget
	unsynced int // temporary files that are open only to become durable, at most
	// encoders encode blocks of the store beside the goroutine that fills them.
	encoders int
	held     int64 // bytes of blocks that wait for the coding of the values, while nothing is spooled; 0: all is
	window   int64 // largest window of zstd and xz input, and of the pages of Parquet
}

const (
	// readMemory is what the reading of files takes.
	readMemory = 10 << 20
	// writerMemory is what csr.Writer and the row being put together take.
	writerMemory = 6 << 20
	// encoderMemory is a block on its way through an encoder.
	encoderMemory = csr.BlockNNZ * 24
	// jobMemory is a chunk and the batch made of it, for lines of eight bytes.
	jobMemory = format.ChunkBytes + format.ChunkBytes/8*24
	// minSpace makes a plan worth trying.
	minSpace = 8 << 20
)

func newPlan(memory int64, workers int) (plan, error) {
	p := plan{total: memory, chunk: format.ChunkBytes, jobs: 2*workers + 2, Budget: extsort.Budget{ReadBuf: 1 << 15}}
	fixed := int64(budget.Runtime + readMemory + writerMemory)
	if most := (memory - fixed - minSpace) / (4 * jobMemory); int64(p.jobs) > most {
		p.jobs = int(max(most, 2))
	}
	fixed += int64(p.jobs) * jobMemory
	p.encoders = min(workers, p.jobs*jobMemory/encoderMemory) // in the place of the chunks
	p.Space = memory - fixed
	if p.Space < minSpace {
		return p, &budget.Error{Need: fixed + minSpace, Budget: memory, What: "it has to hold the chunks being parsed, the buffers of sorting and the writer"}
	}
	p.Keep, p.held = p.Space, p.Space/4
	p.Run = int(min(max(p.Space/8/extsort.EntryBytes, 1<<12), 1<<22))
	p.First = min(1<<16, p.Run)
	p.FanIn = int(max(2, min(p.Space/4/p.CursorBytes(), 512)))
	p.unsynced = 64
	p.window = max(memory/8, 8<<20)
	return p, nil
}

const (
	// otherFiles is how many files are open beside runs, lists and those to become
	// durable: the standard ones, those of Go's runtime, the lock, an input or a file of the
	// store, the logs of ids, the journal, its directory, what is written.
	otherFiles = 16
	// fewestFiles makes it possible to merge.
	fewestFiles = otherFiles + 4
)

func (p plan) within(files int) (plan, error) {
	if files < fewestFiles {
		return p, fmt.Errorf("no more than %d files may be open at a time; %d are needed (ulimit -n %d)", files, fewestFiles, fewestFiles)
	}
	free := files - otherFiles
	p.FanIn = min(p.FanIn, free/2)
	p.unsynced = min(p.unsynced, max(1, free/4)) // twice: those of a save under way, too
	return p, nil
}

// sortersWithin is how many workers may sort runs, each with a file open.
func sortersWithin(files int) int { return max(1, (files-otherFiles)/4) }

// HeapLimit is the limit to give debug.SetMemoryLimit so that an ingest with
// Options.Memory = memory stays within it: the rest is the program's code.
func HeapLimit(memory int64) int64 { return max(memory-16<<20, 16<<20) }

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
// free space; have is the bytes of its temporary files that are there. Inputs that can be read only once are not estimated.
func (t *task) checkSpace(ctx context.Context, have int64) error {
	if t.in.ids == nil {
		return nil
	}
	e, err := t.estimate(ctx)
	if err != nil || e == nil {
		return err
	}
	t.report.Estimate = *e
	dir := filepath.Dir(t.staging.Target())
	free, err := t.o.FS.FreeSpace(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	log := t.o.Log.Debug
	if e.Spool > 0 {
		log = t.o.Log.Info
	}
	log("disk space", "temporary files", memory.FormatSize(e.Spool), "store", memory.FormatSize(e.Store), "free", memory.FormatSize(free))
	if need := max(0, e.Spool-have) + e.Store; need > free && !t.o.IgnoreSpace {
		return fmt.Errorf("ingest: %w", &SpaceError{Dir: dir, Spool: max(0, e.Spool-have), Store: e.Store, Free: free})
	}
	return nil
}

// An Estimate is made from a sample of the inputs before they are read.
type Estimate struct {
	Entries int64 `json:"entries"`     // estimated number of entries
	Spool   int64 `json:"spool_bytes"` // estimated bytes of temporary files; 0 if none are needed
	Store   int64 `json:"store_bytes"` // estimated bytes of the store
	Memory  int64 `json:"-"`           // bytes that it would take without temporary files
	Peak    int64 `json:"-"`           // bytes that it is expected to take
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
func (t *task) estimate(ctx context.Context) (*Estimate, error) {
	s := sample{o: t.o, users: ids.NewDictionary(), items: ids.NewDictionary()}
	var prev *source
	names := t.in.names
	if t.o.base != nil {
		names = names[1:]
	}
	step := max(1, len(names)/sampleInputs)
	for i := 0; i < len(names); i += step {
		src, err := s.read(ctx, t.plan, names[i], prev)
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
	if hint := s.mayBeGraph(); hint != "" && t.o.base == nil {
		t.o.Log.Warn(hint)
	}
	e := s.of(float64(s.entries)*float64(t.in.size())/float64(s.disk), t.plan)
	t.o.base.addTo(e, t.plan)
	if t.o.Tasks != nil {
		t.cuts = [2][]string{s.users.Cuts(t.o.Tasks.Groups), s.items.Cuts(t.o.Tasks.Groups)}
	}
	return e, nil
}

// A sample is what has been learnt from the beginnings of inputs.
type sample struct {
	o            request
	users, items *ids.Dictionary
	shape        *format.Shape // declared
	pairs        bool          // lines are two ids alone, and no name tells that these are of different things
	stats        csr.ValueStats
	coder        extsort.Coder

	disk    int64 // bytes of the inputs, as they lie on disk, that it is from
	entries int64
	encoded int64 // bytes of the entries as runs in arrival order
	packed  int64 // bytes of their values, if they are integers
	idBytes int64 // of ids, as a log has them
	places  growth.Places
	top     [2]int64 // rows and columns up to the largest index, of keys that are indices
	// How many rows, columns and bytes of ids there are.
	rows, cols, ids growth.Curve
	seen            map[uint64]struct{} // places; nil: not looked at
	repeated        int64               // entries at a place that has been seen
	reading         []float64           // seconds of each chunk, of one goroutine
	parsing         []float64           // seconds of each chunk, of as many as there are
}

func (s *sample) read(ctx context.Context, p plan, name string, prev *source) (*source, error) {
	op := s.o.opener(p.window)
	src, err := openSource(ctx, op, name, s.o, prev)
	if err != nil {
		return nil, err
	}
	s.pairs = arePairs(src.reader)
	_, err = s.chunks(ctx, src, sampleChunks, nil)
	if err == io.EOF {
		err = nil
	}
	s.disk += op.Bytes.Load() - src.Ahead()
	return src, errors.Join(err, src.Close())
}

// chunks counts the first n chunks of an input and returns what it counts itself of them.
// It is io.EOF if there are no more. look may see the batches.
func (s *sample) chunks(ctx context.Context, src *source, n int, look func(*format.Chunk, *format.Batch)) (t format.Tally, err error) {
	c, b := &format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}, &format.Batch{}
	for i := range n {
		begun := time.Now()
		c.Data = c.Data[:0]
		if err = ctx.Err(); err == nil {
			err = src.reader.Next(c)
		}
		read := time.Now()
		if err == nil {
			b.Reset(s.o.MaxBadLines)
			err = src.reader.Parse(c, b)
		}
		if err == nil && i == 0 {
			err = datesAsNumbers(c, b, src)
		}
		if err != nil {
			return t, err
		}
		s.reading = append(s.reading, read.Sub(begun).Seconds())
		s.parsing = append(s.parsing, time.Since(read).Seconds())
		if s.o.Events {
			ones(b.Val)
		}
		if look != nil {
			look(c, b)
		}
		t.Add(b.Tally)
		s.o.Filter.apply(b)
		if _, err = s.o.edges(c, b, src); err != nil {
			return t, err
		}
		s.add(b, src.shape)
	}
	return t, nil
}

// shapeOf is what the shape of a matrix of n entries is, and the ranges that its rows and columns are in.
func (s *sample) shapeOf(n float64) (likely [2]float64, ranges [2]Range) {
	for i, c := range []growth.Curve{s.rows, s.cols} {
		low, mid, high := c.At(n)
		likely[i], ranges[i] = max(1, mid), Range{int64(low), int64(high + 0.5)}
		if n > float64(s.entries) { // n is an estimate as well
			ranges[i] = Range{max(s.top[i], int64(0.98*low)), int64(1.02*high + 0.5)}
		}
	}
	if s.shape != nil && !s.shape.Late {
		for i, all := range []int64{s.shape.Rows, s.shape.Cols} {
			likely[i], ranges[i] = float64(max(1, all)), Range{all, all}
		}
	}
	return likely, ranges
}

func (s *sample) of(n float64, p plan) *Estimate {
	values := s.stats.Values()
	bytes := int64(values.Coding.Size(uint64(s.entries)))
	if values.Coding == csr.Integer {
		bytes = s.packed
	}
	value := float64(bytes) / float64(s.entries)
	_, ids, _ := s.ids.At(n)
	sides, _ := s.shapeOf(n)
	transposed := s.o.Orient.Transposes(int64(sides[0]), int64(sides[1]))
	stored := s.shape != nil && !s.shape.Late // places have the sides of the store
	rows, cols := csr.Exchanged(stored && transposed, sides[0], sides[1])
	place := s.places.Bytes(n, rows, cols, transposed && !stored)
	e := &Estimate{Entries: int64(n), Store: int64(n*(place+value) + ids)}
	size := float64(extsort.EntryBytes)
	if s.users.N > 0 && len(values.Table) > 0 {
		size = extsort.PackedBytes
	}
	times := 0.0 // bytes in files
	if s.o.Holdout.times() {
		size, times = 2*extsort.EntryBytes, 10
	}
	base := p.total - p.Space
	// Of little input the program and the runtime, and what it is in memory.
	little := min(base, 18<<20+int64(64*n))
	if p.held > 0 && s.o.straightens() && stored && s.o.RowIDs == "" && s.o.ColIDs == "" && s.places.InOrder() { // they go into the store as they come
		e.Memory, e.Peak = base+minSpace, min(base+minSpace, 18<<20+int64(64*n))
		return e
	}
	// A quarter of the room is for a run that is not full and for sorting one.
	grown := max(1, ids/float64(max(1, s.idBytes)))
	dictionaries := float64(s.users.Size()+s.items.Size()) * grown
	need := n*size*4/3 + dictionaries
	e.Memory = base + max(minSpace, int64(need*1.05))
	e.Peak = little + int64(n*size+dictionaries)
	if !s.places.InOrder() && size > extsort.PackedBytes {
		e.Peak += int64(min(n, float64(p.Run)) * size * 3 / 2)
	}
	if need > float64(p.Space) || n*size > float64(p.Keep) {
		// Runs lie there in arrival order before they are sorted, which makes them smaller.
		each := float64(s.encoded) / float64(s.entries)
		if s.shape == nil || s.shape.Late {
			each++ // for places farther apart than those of the sample
		}
		e.Spool = int64(n*(each+times) + ids)
		e.Peak = p.total
	}
	e.Peak = min(e.Peak, p.total)
	return e
}

// LeastMemory is the least Options.Memory that Ingest works with.
func LeastMemory() int64 {
	_, err := newPlan(0, 1)
	small, _ := errors.AsType[*budget.Error](err) // what it always is
	return small.Need
}

// mayBeGraph says what makes a graph of lines that may be edges: half of the ids of either side, or more, are on the other, too.
// It is empty where that is not so, or there are too many ids to see.
func (s *sample) mayBeGraph() string {
	const few, many = 8, 1 << 17
	least, most := min(s.users.N, s.items.N), max(s.users.N, s.items.N)
	if !s.pairs || s.o.Graph != NoGraph || least < few || most > many {
		return ""
	}
	n := ids.Shared(s.users, s.items)
	if 2*n < most {
		return ""
	}
	return fmt.Sprintf("%d ids are both of rows and of columns: if the lines are edges of a graph, --graph directed or --graph undirected makes one set of nodes of them", n)
}
