package readahead

const (
	// retryPasses is after how many passes what the page cache could not hold is
	// read through it once more: what needed the memory may be gone.
	retryPasses = 8

	// maxWitnesses is how many spans are remembered; someWitnesses of them are looked
	// at before another one is read. The kernel does not always take the first page first.
	maxWitnesses, someWitnesses = 64, 8
)

// cacheWatch finds out whether the page cache can hold what is read through it.
//
// A pass that is larger than the page cache finds nothing in it of what it has
// read through it: each page makes way for one that comes after it, before the next
// pass needs it. So from the moment in which one of the first blocks that were read
// through the cache (the witnesses) is found missing, what is missing is read past
// it, into buffers. That costs a fraction, and leaves in the cache what is there.
type cacheWatch struct {
	full      bool
	witnesses []*span // in the order in which they were read
	asked     int     // how many of them, again and again
	last      int     // the block that Prefetch was last called with
	passes    int
}

// cached tells whether bytes from begin to end are in the page cache, going by
// some of them: what is read together also goes together.
func (f *File) cached(begin, end int64) (cached bool, err error) {
	const step = 256 << 10
	for at := begin; at < end; at += step {
		if cached, err = f.m.Cached(at); !cached || err != nil {
			return false, err
		}
	}
	return f.m.Cached(end - 1)
}

// notice sees when a pass begins. Witnesses say nothing about the blocks of one
// that does not read them any more.
func (w *cacheWatch) notice(from int) {
	if from < w.last {
		w.passes++
		if w.passes%retryPasses == 0 || len(w.witnesses) > 0 && w.witnesses[0].from < from {
			w.full, w.witnesses = false, nil
		}
	}
	w.last = from
}

// cacheFull tells whether what is missing in the page cache is to be read past it.
func (w *cacheWatch) cacheFull() bool {
	for k := 0; k < min(someWitnesses, len(w.witnesses)) && !w.full; k++ {
		sp := w.witnesses[0] // the likeliest, then others in turn
		if k > 0 {
			w.asked++
			sp = w.witnesses[w.asked%len(w.witnesses)]
		}
		cached, err := sp.file.m.Cached((sp.begin + sp.end) / 2)
		w.full = !cached && err == nil
	}
	return w.full
}
