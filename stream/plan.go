package stream

import (
	"cmp"
	"math"
	"runtime"

	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/readahead"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
)

const (
	// maxLanes bounds the number of accumulators of a pass, and laneBytes their size if there are more than twoLanes:
	// they should stay in cache from block to block. twoLanes of any size are allowed: a lane that two processors share
	// moves from one cache to the other with every task, which takes longer than the second processor saves. laneShare
	// bounds the cost of clearing the lanes and adding them up: a lane must have laneShare entries for each column of
	// the matrix.
	laneBytes = 8 << 20
	maxLanes  = 8
	twoLanes  = 2
	laneShare = 32

	// A matrix has at least minTasks tasks, if they have taskNNZ entries each,
	// so that a few workers end at about the same time. None of these constants may ever
	// depend on the budget or on the machine: they decide the order of summation.
	minTasks = 32
	taskNNZ  = 16 << 10

	// collectorShare: 1/collectorShare of the room for resident blocks is left to garbage not collected yet.
	collectorShare = 64
	// blockBytes is the memory that a store and a Matrix use for each block, decoded or not.
	blockBytes = 48
)

// Options are the options of New. The zero value plans for no memory limit and all processors.
type Options struct {
	// Memory is the budget of the whole process in bytes: heap and mapped pages
	// in use. 0 means no limit: every block stays decoded after the first pass.
	Memory int64
	// Reserve is the part of Memory that the caller needs for itself, such as
	// the solver's blocks of vectors.
	Reserve int64
	// Mapped is the part of Memory that the caller has in mapped pages, in addition to Reserve.
	Mapped int64
	// Workers is the number of goroutines of a pass; 0 means GOMAXPROCS. With 1
	// a pass runs on the caller's goroutine.
	Workers int
	// Rank is the largest number of columns of a pass with R; a pass without R may have Rank or Width columns, whichever
	// is more. 0 means 1 for Width and Width for Rank. Wider passes are refused when there is a budget.
	Width, Rank int
	// Once says that there will be one pass: no block stays decoded.
	Once bool
	// Space, if not nil, holds all dense blocks that are given to the Matrix. They do not count as Memory, except their
	// windows. A pass with more columns than memory has room for then reads the matrix several times, for some columns
	// each, at least one.
	Space solver.Space
	// Whole says that passes without R take all their columns in one read, whatever memory there is.
	Whole bool
}

// withDefaults fills in the widths. It panics if an option is negative.
func (o Options) withDefaults() Options {
	if o.Width < 0 || o.Rank < 0 || o.Memory < 0 || o.Reserve < 0 || o.Mapped < 0 {
		panic("stream: negative option")
	}
	o.Width = max(o.Width, 1)
	o.Rank = cmp.Or(o.Rank, o.Width)
	return o
}

// Part is one line of a Plan. Outside the heap: "runtime", and "mapped pages and buffers" of the store and in
// Options.Mapped. On the heap: Options.Reserve ("vectors"), "accumulators", "blocks in flight" and "resident blocks",
// both decoded, "view" (see viewPart), "products of strips", which are rows of A·X, and "garbage" not yet collected.
type Part = budget.Part

// Plan describes the workers, lanes, blocks and memory of the passes of a Matrix.
type Plan struct {
	Budget   int64  // 0: unlimited
	Workers  int    // goroutines of a pass
	Kernel   string // instructions the products are computed with: "portable", "avx2", "avx512"
	Lanes    int    // accumulators of a Gram product of Options.Width columns
	Blocks   int    // blocks of the matrix
	Resident int    // blocks kept decoded after the first pass
	Window   int64  // largest number of decoded bytes in flight during a pass
	Together int    // columns that a Gram product takes in one read
	Group    int    // columns that a finishing pass takes in one read, with a Space; 0: all of them
	most     int    // largest number of columns of a read or strip that has only some columns of its pass; 0: none has
	Parts    []Part // bytes by purpose; their sum is at most Budget
	// ResidentBytes is the memory of the resident blocks, the last of Parts.
	ResidentBytes int64

	nnz   int64 // of the matrix
	sided int   // leading blocks whose rows of D and P are kept (Sided)
	parts int   // tasks of a block
	spans int   // largest number of spans read ahead or being decoded
	room  int   // columns of sums and of x in memory, with a Space

	segment int // numbers of A·X that strips fill together; 0: a read is one strip

	// With a budget: the most rows of a block, and numbers of x and sums in panels.
	rows, numbers int
}

// Total is the sum of the parts.
func (p Plan) Total() int64 { return budget.Ledger(p.Parts).Total() }

// BudgetError says that a memory budget cannot work.
type BudgetError = budget.Error

// lanes is the number of accumulators of a pass that adds blocks of n×l
// numbers: a function of the matrix and the width alone. It does not limit the
// useful workers: see accumulator. It is a power of two, so that lanes are shared
// out evenly among as many workers.
func lanes(n int64, l, tasks int, nnz int64) int {
	bytes := 8 * n * int64(kernel.Width(l))
	most := min(maxLanes, int64(tasks), max(twoLanes, laneBytes/(bytes+1)), nnz/(laneShare*n+1))
	p := 1
	for int64(2*p) <= most {
		p *= 2
	}
	return p
}

// parts is the number of tasks that each block is cut into: one, unless there
// are so few blocks that workers would wait for one another at the end. A function
// of the matrix alone.
func parts(blocks int, nnz int64) int {
	if blocks == 0 {
		return 1
	}
	return int(max(1, min((minTasks+int64(blocks)-1)/int64(blocks), nnz/int64(blocks)/taskNNZ)))
}

// readAheadSpans is the number of spans that are being read, or wait to be decoded, besides
// those that workers decode. Two are no faster.
const readAheadSpans = 1

// spans returns the number of spans that a pass over blocks of at most largest bytes has in memory, of which ahead are
// read before their turn.
func spans(largest int64, workers, ahead int) int {
	each := max(1, int(readahead.SpanBytes/max(1, largest))) // blocks of a span
	return ahead + min(workers, 1+(workers+each-2)/each)
}

// spansMemory returns the memory of the bytes that a pass has read of src and not yet decoded,
// mapped or in buffers.
func spansMemory(src Source, workers, ahead int) int64 {
	largest := src.MaxBlock().Size
	if largest == 0 {
		return 0
	}
	n := int64(spans(largest, workers, ahead))
	all := int64(0)
	for i := 0; i < src.NumBlocks() && all < n; i = spanEnd(src, i) {
		all++
	}
	return all*readahead.SpanMemory + int64(workers)*max(0, largest-readahead.SpanBytes)
}

func (p Plan) tasks() int { return p.Blocks * p.parts }

// Kernel names the instructions that products are computed with: see Plan.
func Kernel() string { return kernel.Level().String() }

// PlanFor is the Plan that New would make, without anything being allocated.
// The error is that of New.
func PlanFor(src Source, o Options) (Plan, error) { return makePlan(src, o.withDefaults()) }

// decodedBytes returns the memory of block i when it is decoded.
func decodedBytes(src Source, i int) int64 {
	b := src.Block(i)
	return src.DecodedSize(int64(b.Rows), int64(b.NNZ))
}

// makePlan decides the layout of all passes over src.
func makePlan(src Source, o Options) (Plan, error) {
	p := Plan{Budget: o.Memory, Workers: o.Workers, Kernel: Kernel(), Blocks: src.NumBlocks()}
	if p.Workers <= 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	p.Workers = max(1, min(p.Workers, p.Blocks))
	for i := range p.Blocks {
		p.nnz += int64(src.Block(i).NNZ)
	}
	rowSides, sidesBytes, sidesFlight := sidesMemory(src, max(o.Rank, o.Width))
	largest := src.MaxBlock()
	decoded := src.DecodedSize(largest.Rows, largest.NNZ)
	p.Window = decoded * int64(p.Workers)
	p.parts = parts(p.Blocks, p.nnz)

	n := src.Cols()
	p.Lanes, p.Together = lanes(n, o.Width, p.tasks(), p.nnz), o.Width
	panels := func(l, lanes int) int64 { return n * int64(kernel.Width(l)) * int64(lanes+1) } // accumulators and x
	widest := max(o.Width, o.Rank)
	least := lanes(n, widest, p.tasks(), p.nnz)
	numbers := panels(widest, least)
	for l := 1; l < widest; l++ { // fewer columns may have more lanes
		of := lanes(n, l, p.tasks(), p.nnz)
		if of == least {
			break // wider passes have as few
		}
		numbers = max(numbers, panels(l, of))
	}
	ends := 2 * n * int64(widest) // x and result
	mapped := readahead.Lag + o.Mapped
	if o.Space != nil {
		numbers, ends = p.outside(n, o), 0
	}
	windows := func(workers int) int64 { // bytes of the windows of blocks in the Space
		if o.Space == nil {
			return 0
		}
		return int64(workers) * 8 * min(n, windowRows) * int64(max(o.Width, o.Rank))
	}
	flight := func(workers int64) int64 {
		// For each worker: the decoded block, its rows of W, the rows of a read of some columns, the ends of a stripe
		// in each row, and a QR stack; and one stack for all.
		return workers*(decoded+largest.Rows*(8*int64(max(o.Rank, o.Width)+p.most+1)+sidesFlight)) + (workers+1)*8*int64(o.Rank*stackRows(o.Rank))
	}
	ahead := readAheadSpans
	fixed := func(workers int) (l budget.Ledger) {
		l.TakeOutside("runtime", budget.Runtime+blockBytes*int64(p.Blocks))
		l.Take("vectors", o.Reserve)
		l.Take("accumulators", 8*(numbers+line+ends))
		l.Take("blocks in flight", flight(int64(workers)))
		l.Take("garbage", budget.Garbage)
		l.TakeOutside("mapped pages and buffers", spansMemory(src, workers, ahead)+mapped+windows(workers))
		if _, ok := src.(Sided); ok {
			l.Take(viewPart, sidesBytes)
		}
		return l
	}
	p.spans = spans(largest.Size, p.Workers, ahead)
	if o.Memory == 0 {
		if !o.Once {
			p.Resident = p.Blocks
		}
		p.keepSides(src, math.MaxInt64, rowSides)
		p.keep(src, o, p.withSides(src, fixed(p.Workers), rowSides))
		return p, nil
	}
	// Before the budget is refused: no read-ahead, then fewer blocks in flight, then fewer columns in a read.
	total := func() int64 { return fixed(p.Workers).Total() }
	if total() > o.Memory {
		ahead = 0
	}
	for all := p.Workers; ; p.Workers = all {
		for p.Workers > 1 && total() > o.Memory {
			p.Workers--
		}
		if o.Space == nil || o.Whole || p.Together == 1 || total() <= o.Memory {
			break
		}
		p.Together = kernel.Columns(p.Together - 1)
		numbers = p.outside(n, o)
	}
	p.Window, p.spans = decoded*int64(p.Workers), spans(largest.Size, p.Workers, ahead)
	p.Parts = fixed(p.Workers)
	p.rows, p.numbers = int(largest.Rows), int(numbers+line)
	left := o.Memory - p.Total()
	if left < 0 {
		return p, &BudgetError{Budget: o.Memory, Need: p.Total(), Parts: p.Parts}
	}
	if !o.Once {
		left -= p.keepSides(src, left/sidesShare, rowSides)
		p.Resident = p.fitting(src, left-left/collectorShare, rowSides)
	}
	p.keep(src, o, p.withSides(src, p.Parts, rowSides))
	return p, nil
}

// sidesShare: rows of D and P are kept for all blocks if they take at most 1/sidesShare of the room that is left, else
// for the resident blocks only.
const sidesShare = 4

// viewPart is the part of a Plan that a Sided source takes.
const viewPart = "view"

// keepSides decides whether the rows of D and P of all blocks are kept, resident or not, and
// returns their memory, else 0.
func (p *Plan) keepSides(src Source, room, row int64) int64 {
	if all := row * src.Rows(); row > 0 && all <= room {
		p.sided = p.Blocks
		return all
	}
	return 0
}

// withSides adds the kept rows of D and P to the part of the view.
func (p *Plan) withSides(src Source, parts []Part, row int64) []Part {
	p.sided = max(p.sided, p.Resident)
	for i := range parts {
		for b := 0; b < p.sided && parts[i].Name == viewPart; b++ {
			parts[i].Bytes += row * int64(src.Block(b).Rows)
		}
	}
	return parts
}

// outside returns the number of float64s of accumulators and x in panels if x and results lie in a Space and a Gram
// product takes Together columns in a read. It sets Group, the columns that a finishing pass takes in a read: as many as
// fit into the same memory, at least one.
func (p *Plan) outside(n int64, o Options) int64 {
	ofRank := lanes(n, o.Rank, p.tasks(), p.nnz)
	p.room = kernel.Width(p.Together) * (p.Lanes + 1)
	p.Group = p.columns(o.Rank, ofRank+1)
	p.most = p.columns(max(o.Rank, o.Width), 1) // a pass without sums
	return n * int64(max(p.room, kernel.Width(p.Group)*(ofRank+1)))
}

// columns returns how many of k columns, at least one, fit into p.room with the given number of blocks for each.
func (p *Plan) columns(k, blocks int) int {
	return min(k, max(1, kernel.Columns(p.room/max(1, blocks))))
}

// fitting returns the number of leading blocks whose decoded form fits into room, with row bytes more for each row
// unless rows of D and P are kept for all blocks.
func (p *Plan) fitting(src Source, room, row int64) int {
	if p.sided > 0 {
		row = 0
	}
	for i := range src.NumBlocks() {
		room -= decodedBytes(src, i) + row*int64(src.Block(i).Rows)
		if room < 0 {
			return i
		}
	}
	return src.NumBlocks()
}

func residentBytes(src Source, blocks int) int64 {
	var t int64
	for i := range blocks {
		t += decodedBytes(src, i)
	}
	return t
}

// segmentBytes is the smallest size of a segment, unless the products of all rows take less: see reading.segment.
const segmentBytes = 16 << 20

// keep adds the resident blocks to the parts. If all blocks are resident and there is memory, it also adds the products
// that strips fill together in passes wider than a panel.
func (p *Plan) keep(src Source, o Options, parts budget.Ledger) {
	p.ResidentBytes = residentBytes(src, p.Resident)
	left := o.Memory - parts.Total() - p.ResidentBytes
	l, largest := int64(max(o.Rank, o.Width)), src.MaxBlock().Rows
	numbers := l * min(max(segmentBytes/8/l, largest), src.Rows())
	bytes := 8 * (numbers + int64(p.Workers)*largest*kernel.MaxPanel)
	if o.Space == nil && p.Resident == p.Blocks && l > kernel.MaxPanel && (o.Memory == 0 || bytes <= left/2) {
		p.segment, p.most = int(numbers), kernel.MaxPanel
		parts.Take("products of strips", bytes)
	}
	parts.Take("resident blocks", p.ResidentBytes)
	p.Parts = parts
}
