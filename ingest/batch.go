package ingest

import "strconv"

// A chunk is a piece of one input: whole lines, or a range of binary elements.
type chunk struct {
	data      []byte
	firstLine int64 // number of the first line, from 1 (text)
	offset    int64 // of data in the uncompressed input, after its header (binary)
}

// A batch is what a worker made of one chunk, in columns. An input has either
// ids (user, item) or, when positions are known from the start, packed keys.
type batch struct {
	user, item idColumn
	keys       []uint64
	val        []float64

	lines   int64 // of the chunk, blank ones included
	entries int64 // as counted by a declared count: before symmetric expansion, with bad lines
	bad     int64
	badErrs []error // the first maxReported of them
	fatal   error   // an error no limit tolerates

	// First line with an entry strictly below and above the diagonal; 0 if none.
	lower, upper int64

	// Scratch of the worker that fills the batch.
	spans   []span
	unquote []byte
}

// maxReported is how many tolerated errors a Report repeats.
const maxReported = 10

func (b *batch) reset() {
	b.user.reset()
	b.item.reset()
	b.keys = b.keys[:0]
	b.val = b.val[:0]
	b.lines, b.entries, b.bad, b.badErrs, b.fatal = 0, 0, 0, nil, nil
	b.lower, b.upper = 0, 0
}

// addBad records an unreadable line; it tells whether to go on with the chunk.
func (b *batch) addBad(err error, limit int64) bool {
	b.bad++
	if len(b.badErrs) < maxReported {
		b.badErrs = append(b.badErrs, err)
	}
	return b.bad <= limit
}

// addValue appends v; −0 becomes 0, which is the same entry of a matrix.
func (b *batch) addValue(v float64) {
	b.val = append(b.val, v+0)
}

// An idColumn holds ids as integers until one is not a canonical decimal
// int64; then all of them are text.
type idColumn struct {
	ints   []int64
	text   []byte
	ends   []int // of each id in text
	isText bool
}

func (c *idColumn) reset() {
	c.ints, c.text, c.ends, c.isText = c.ints[:0], c.text[:0], c.ends[:0], false
}

func (c *idColumn) add(id []byte) {
	n, isInt := c.integer(id)
	c.put(id, n, isInt)
}

// integer reads an id of a column that has integers so far.
func (c *idColumn) integer(id []byte) (n int64, ok bool) {
	if c.isText {
		return 0, false
	}
	return parseID(id)
}

// put adds an id of which integer has told n and isInt.
func (c *idColumn) put(id []byte, n int64, isInt bool) {
	if isInt {
		c.ints = append(c.ints, n)
		return
	}
	c.toText()
	c.text = append(c.text, id...)
	c.ends = append(c.ends, len(c.text))
}

// toText turns the integers into the text they came from.
func (c *idColumn) toText() {
	if c.isText {
		return
	}
	c.isText = true
	for _, n := range c.ints {
		c.text = strconv.AppendInt(c.text, n, 10)
		c.ends = append(c.ends, len(c.text))
	}
	c.ints = c.ints[:0]
}

// at is id i of a text column.
func (c *idColumn) at(i int) []byte {
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.text[start:c.ends[i]]
}
