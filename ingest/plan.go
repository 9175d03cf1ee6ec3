package ingest

import (
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
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
	// baseMemory is what the program, Go's runtime and the reading of files take.
	baseMemory = 30 << 20
	// writerMemory is what csr.Writer and the row being put together take.
	writerMemory = 6 << 20
	// encoderMemory is a block on its way through an encoder.
	encoderMemory = csr.BlockNNZ * 24
	// jobMemory is a chunk and the batch made of it, for lines of eight bytes.
	jobMemory = format.ChunkBytes + format.ChunkBytes/8*24
	// minSpace makes a plan worth trying.
	minSpace = 8 << 20
)

// newPlan divides memory bytes.
func newPlan(memory int64, workers int) (plan, error) {
	p := plan{total: memory, chunk: format.ChunkBytes, jobs: 2*workers + 2, Budget: extsort.Budget{ReadBuf: 1 << 15}}
	fixed := int64(baseMemory + writerMemory)
	if most := (memory - fixed - minSpace) / (4 * jobMemory); int64(p.jobs) > most {
		p.jobs = int(max(most, 2))
	}
	fixed += int64(p.jobs) * jobMemory
	p.encoders = min(workers, p.jobs*jobMemory/encoderMemory) // in the place of the chunks
	p.Space = memory - fixed
	if p.Space < minSpace {
		return p, &memoryError{Need: fixed + minSpace, Budget: memory, What: "it has to hold the chunks being parsed, the buffers of sorting and the writer"}
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

// within keeps to a limit of open files.
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
