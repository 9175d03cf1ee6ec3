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

// A plan divides the memory budget. It affects the speed, not the result.
type plan struct {
	total int64 // bytes of the whole budget
	chunk int   // bytes of input parsed at a time, at most format.ChunkBytes
	jobs  int   // chunks that are read, parsed or taken at the same time
	extsort.Budget
	unsynced int // largest number of complete temporary files that stay open until they are durable
	// encoders is the number of goroutines that encode blocks of the store beside the goroutine that fills them.
	encoders int
	held     int64 // bytes of blocks that wait for the value coding while entries go straight into the store; 0: all entries are spooled
	window   int64 // largest window of zstd and xz input, and of the pages of Parquet, in bytes
}

const (
	// readMemory is the memory in bytes that reading files takes.
	readMemory = 10 << 20
	// writerMemory is the memory in bytes of csr.Writer and the row being assembled.
	writerMemory = 6 << 20
	// encoderMemory is the memory in bytes of a block in an encoder.
	encoderMemory = csr.BlockNNZ * 24
	// jobMemory is the memory in bytes of a chunk and its batch, for lines of eight bytes.
	jobMemory = format.ChunkBytes + format.ChunkBytes/8*24
	// minSpace is the smallest Space in bytes that a plan works with.
	minSpace = 8 << 20
)

func newPlan(memory int64, workers int) (plan, error) {
	p := plan{total: memory, chunk: format.ChunkBytes, jobs: 2*workers + 2, Budget: extsort.Budget{ReadBuf: 1 << 15}}
	fixed := int64(budget.Runtime + readMemory + writerMemory)
	if most := (memory - fixed - minSpace) / (4 * jobMemory); int64(p.jobs) > most {
		p.jobs = int(max(most, 2))
	}
	fixed += int64(p.jobs) * jobMemory
	p.encoders = min(workers, p.jobs*jobMemory/encoderMemory) // in the memory of the chunks, which are gone by then
	p.Space = memory - fixed
	if p.Space < minSpace {
		return p, &budget.Error{Need: fixed + minSpace, Budget: memory, What: "it has to hold the chunks being parsed, the buffers of sorting and the writer"}
	}
	p.Keep, p.held = p.Space, p.Space/4
	p.Run = int(min(max(p.Space/8/extsort.EntryBytes, 1<<12), 1<<22))
	p.First = min(1<<16, p.Run)
	p.FanIn = int(max(2, min(p.Space/4/p.CursorBytes(), 512)))
	p.unsynced = 64
	p.window = window(memory)
	return p, nil
}

// window returns the largest window of zstd and xz input within a budget, in bytes.
func window(memory int64) int64 { return max(memory/8, 8<<20) }

const (
	// otherFiles is the number of files that are open beside runs, lists and files waiting to become durable: the standard
	// files, those of Go's runtime, the lock, an input or a file of the store, the logs of ids, the journal, its directory and
	// the file being written.
	otherFiles = 16
	// fewestFiles is the smallest number of open files with which runs can be merged.
	fewestFiles = otherFiles + 4
)

func (p plan) within(files int) (plan, error) {
	if files < fewestFiles {
		return p, fmt.Errorf("no more than %d files may be open at a time; %d are needed (ulimit -n %d)", files, fewestFiles, fewestFiles)
	}
	free := files - otherFiles
	p.FanIn = min(p.FanIn, free/2)
	p.unsynced = min(p.unsynced, max(1, free/4)) // up to twice as many are open, with those of a save under way
	return p, nil
}

// sortersWithin returns how many workers may sort runs, each with a file open.
func sortersWithin(files int) int { return max(1, (files-otherFiles)/4) }

// HeapLimit returns the limit to pass to debug.SetMemoryLimit so that an ingest with Options.Memory = memory stays within it:
// the remainder is for the program's code.
func HeapLimit(memory int64) int64 { return max(memory-16<<20, 16<<20) }

// SpaceError refuses an ingest whose temporary files and store will not fit on the disk.
type SpaceError struct {
	Dir          string // directory of the store
	Spool, Store int64  // bytes estimated
	Free         int64  // bytes free
}

func (e *SpaceError) Error() string {
	return fmt.Sprintf("the disk of %s has %s free; about %s are needed, %s of them for temporary files",
		e.Dir, memory.FormatSize(e.Free), memory.FormatSize(e.Spool+e.Store), memory.FormatSize(e.Spool))
}

// checkSpace estimates the bytes that the ingest will write and compares them with the free space; have is the bytes of its
// temporary files that exist already. It passes inputs that can be read only once.
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
	Memory  int64 `json:"-"`           // memory in bytes without temporary files
	Peak    int64 `json:"-"`           // expected peak memory in bytes
}

const (
	// sampleInputs is the number of inputs that are sampled, evenly spread; up to twice as many, as the step is rounded down.
	sampleInputs = 8
	// sampleChunks is the number of chunks that are read of each input.
	sampleChunks = 4
)

// estimate extrapolates from the beginnings of some inputs. It returns nil if they hold no entries. Defects of the inputs are
// no error here: the ingest finds them.
func (t *task) estimate(ctx context.Context) (*Estimate, error) {
	s := newSample(t.o)
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

// A sample holds the counts of the beginnings of inputs.
type sample struct {
	o            request
	users, items *ids.Dictionary
	shape        *format.Shape // declared shape; nil: keys are ids
	pairs        bool          // lines of all inputs are two ids alone, and no column name says that the ids are of different kinds
	stats        csr.ValueStats
	coder        extsort.Coder

	disk    int64 // bytes on disk of the inputs that have been sampled
	entries int64
	encoded int64 // bytes of the entries in runs, in arrival order
	packed  int64 // bytes of the values, if they are integers
	idBytes int64 // bytes of the ids in a log
	places  growth.Places
	top     [2]int64 // rows and columns seen: numbers of ids, or one more than the largest index
	// Numbers of rows, of columns and of bytes of ids, by number of entries.
	rows, cols, ids growth.Curve
	seen            map[uint64]struct{} // places of entries; nil: duplicates are not counted
	repeated        int64               // entries at a place that is in seen
	reading         []float64           // seconds of reading each chunk, by one goroutine
	parsing         []float64           // seconds of parsing each chunk, by one worker
}

// newSample returns an empty sample. The rows and the columns of a graph share a dictionary, as in Ingest.
func newSample(o request) sample {
	s := sample{o: o, users: ids.NewDictionary(), items: ids.NewDictionary()}
	if o.Graph != NoGraph {
		s.items = s.users
	}
	return s
}

func (s *sample) read(ctx context.Context, p plan, name string, prev *source) (*source, error) {
	op := s.o.opener(p.window)
	src, err := openSource(ctx, op, name, s.o, prev)
	if err != nil {
		return nil, err
	}
	s.pairs = arePairs(src.reader) && (prev == nil || s.pairs)
	_, err = s.chunks(ctx, src, sampleChunks, nil)
	if err == io.EOF {
		err = nil
	}
	s.disk += op.Bytes.Load() - src.Ahead()
	return src, errors.Join(err, src.Close())
}

// chunks adds the first n chunks of an input to the sample and returns the tally of the input. The error is io.EOF if there
// are fewer chunks. look, unless nil, is called with each chunk and batch.
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

// shapeOf returns the likely shape of a matrix of n entries, and the ranges of the numbers of rows and columns.
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
	stored := s.shape != nil && !s.shape.Late // places are those of the store
	rows, cols := csr.Exchanged(stored && transposed, sides[0], sides[1])
	place := s.places.Bytes(n, rows, cols, transposed && !stored)
	e := &Estimate{Entries: int64(n), Store: int64(n*(place+value) + ids)}
	size := float64(extsort.EntryBytes)
	if s.users.N > 0 && len(values.Table) > 0 {
		size = extsort.PackedBytes
	}
	times := 0.0 // bytes of a time in temporary files
	if s.o.Holdout.times() {
		size, times = 2*extsort.EntryBytes, 10
	}
	base := p.total - p.Space
	// For small inputs: the program, the runtime, and the entries in memory.
	little := min(base, 18<<20+int64(64*n))
	if p.held > 0 && s.o.straightens() && stored && s.o.RowIDs == "" && s.o.ColIDs == "" && s.places.InOrder() { // no spool is needed
		e.Memory, e.Peak = base+minSpace, min(base+minSpace, 18<<20+int64(64*n))
		return e
	}
	// A quarter of the space is for a run that is not full and for sorting a run.
	grown := max(1, ids/float64(max(1, s.idBytes)))
	dictionaries := float64(s.users.Size()+s.items.Size()) * grown
	if s.items == s.users { // one dictionary, but a file of the ids of either side in the store
		dictionaries, e.Store = dictionaries/2, e.Store+int64(ids)
	}
	need := n*size*4/3 + dictionaries
	e.Memory = base + max(minSpace, int64(need*1.05))
	e.Peak = little + int64(n*size+dictionaries)
	if !s.places.InOrder() && size > extsort.PackedBytes {
		e.Peak += int64(min(n, float64(p.Run)) * size * 3 / 2)
	}
	if need > float64(p.Space) || n*size > float64(p.Keep) {
		// Temporary files hold the runs in arrival order first; sorted runs are smaller.
		each := float64(s.encoded) / float64(s.entries)
		if s.shape == nil || s.shape.Late {
			each++ // places of all entries lie farther apart than those of the sample
		}
		e.Spool = int64(n*(each+times) + ids)
		e.Peak = p.total
	}
	e.Peak = min(e.Peak, p.total)
	return e
}

// LeastMemory returns the smallest Options.Memory that Ingest works with.
func LeastMemory() int64 {
	_, err := newPlan(0, 1)
	small, _ := errors.AsType[*budget.Error](err) // a plan of 0 bytes always fails with this error
	return small.Need
}

// mayBeGraph returns a warning that the lines may be edges of a graph, if at least half of the ids of either side are also on
// the other side. It returns "" otherwise, or if there are too few or too many ids.
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
