package stream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
)

// Probe holds the costs of reading, decoding and multiplying, measured on a small part of a store.
type Probe struct {
	Bandwidth float64   // bytes a second of reading; 0 if that took no time
	Decode    float64   // nanoseconds for an entry, once it has been read
	Multiply  []float64 // nanoseconds of one worker for an entry, for each of the widths
	Entries   int64     // entries measured
}

// Measure reads at probeRuns places of a store, and multiplies a block of each place probeTimes times for each width.
const probeRuns, probeTimes = 4, 5

// Measure reads runs of blocks at several places of a store for about the time limit, at least one span at each place,
// and multiplies with a block of each. The vectors of a width l take 8·n·l bytes and again as many for each worker.
//
// A run is read and decoded, then decoded again: the difference is the time of reading. The slowest run gives the speed
// of the disk, since parts of other runs may be in the page cache. Decoding is by the caller alone, and the fastest run
// counts, which was disturbed least by other work. All workers multiply at the same time, as in a pass, each beginning
// with another block, and the median counts.
func Measure(ctx context.Context, store Source, widths []int, workers int, limit time.Duration) (Probe, error) {
	p := Probe{Decode: math.Inf(1)}
	var read []*csr.Block
	blocks := store.NumBlocks()
	runs := min(probeRuns, blocks)
	for run := range runs {
		r := probeRun{ctx: ctx, store: store, from: run * blocks / runs, to: (run + 1) * blocks / runs, block: store.Scratch()}
		cold, err := r.decode(limit / time.Duration(4*runs))
		if err != nil {
			return p, fmt.Errorf("measure the costs of a pass: %w", err)
		}
		r.to = r.from + r.count
		warm, err := r.decode(math.MaxInt64)
		if err != nil {
			return p, fmt.Errorf("measure the costs of a pass: %w", err)
		}
		if r.entries == 0 {
			continue // empty rows only
		}
		p.Entries += r.entries
		p.Decode = min(p.Decode, float64(warm)/float64(r.entries))
		if reading := cold - warm; reading > warm/2 { // less may be noise
			if rate := float64(r.bytes) / reading.Seconds(); p.Bandwidth == 0 || rate < p.Bandwidth {
				p.Bandwidth = rate
			}
		}
		read = append(read, r.block)
	}
	if p.Entries == 0 {
		return p, fmt.Errorf("measure the costs of a pass: there are no entries")
	}
	for _, l := range widths {
		p.Multiply = append(p.Multiply, multiplying(read, int(store.Cols()), l, workers))
	}
	return p, nil
}

// multiplying returns the nanoseconds of a worker for an entry and l columns.
func multiplying(blocks []*csr.Block, n, l, workers int) float64 {
	x, entries := slices.Repeat([]float64{1}, n*l), 0
	for _, b := range blocks {
		entries += b.NNZ()
	}
	y := make([]float64, workers*n*l)
	var times [probeTimes]float64
	for i := range times {
		start := time.Now()
		var g sync.WaitGroup
		for w := range workers {
			g.Go(func() {
				for i := range blocks {
					kernel.Gram(y[w*n*l:][:n*l], x, l, rowsOf(blocks[(w+i)%len(blocks)]))
				}
			})
		}
		g.Wait()
		times[i] = float64(time.Since(start)) / float64(max(1, entries))
	}
	slices.Sort(times[:])
	return times[probeTimes/2]
}

// probeRun is a run of consecutive blocks.
type probeRun struct {
	ctx      context.Context
	store    Source
	from, to int
	block    *csr.Block // the last decoded block
	// of the last decode
	count          int
	entries, bytes int64
}

// decode decodes spans of the run, read as a pass reads them, for about the time limit, at least one span.
func (r *probeRun) decode(limit time.Duration) (time.Duration, error) {
	r.count, r.entries, r.bytes = 0, 0, 0
	start := time.Now()
	for i := r.from; i < r.to && (i == r.from || time.Since(start) < limit); {
		end := min(spanEnd(r.store, i), r.to)
		if err := r.span(i, end); err != nil {
			return 0, err
		}
		i = end
	}
	return time.Since(start), nil
}

// span reads and decodes blocks from … to−1 of a span.
func (r *probeRun) span(from, to int) error {
	r.store.Prefetch(from, to)
	defer r.store.Release(from, to)
	for i := from; i < to; i++ {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err := r.store.DecodeBlock(i, r.block); err != nil {
			return err
		}
		r.count++
		r.entries += int64(r.block.NNZ())
		r.bytes += r.store.Block(i).Size
	}
	return nil
}
