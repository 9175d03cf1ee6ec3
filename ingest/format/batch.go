package format

import (
	"slices"
	"strconv"
)

// A Batch holds the entries that Parse reads from one chunk, in columns.
type Batch struct {
	Row, Col Keys
	Val      []float64
	Time     []Time // of each entry, if Input.Times asks for times; else empty
	Lines    int64  // lines of the chunk, including blank ones
	Tally    Tally
	Refused  int64   // number of refused lines
	Errs     []error // errors of the first MaxErrs refused lines
	limit    int64
}

// MaxErrs is the largest number of errors of refused lines that a Batch keeps.
const MaxErrs = 10

// Reset empties the batch and sets how many refused lines it tolerates.
func (b *Batch) Reset(limit int64) {
	b.Row.Reset()
	b.Col.Reset()
	b.Val, b.Time = b.Val[:0], b.Time[:0]
	b.Lines, b.Tally, b.Refused, b.Errs, b.limit = 0, Tally{}, 0, nil, limit
}

// Refuse records a line that cannot be read and reports whether to go on with the chunk.
func (b *Batch) Refuse(err error) bool {
	b.Refused++
	if len(b.Errs) < MaxErrs {
		b.Errs = append(b.Errs, err)
	}
	return b.Refused <= b.limit
}

// Keep removes the entries n for which keep(n) is false.
func (b *Batch) Keep(keep func(n int) bool) {
	kept := 0
	b.Row.code()
	b.Col.code()
	for n := range b.Val {
		if !keep(n) {
			continue
		}
		b.Row.move(kept, n)
		b.Col.move(kept, n)
		b.Val[kept] = b.Val[n]
		if len(b.Time) > 0 {
			b.Time[kept] = b.Time[n]
		}
		kept++
	}
	b.Row.cut(kept)
	b.Col.cut(kept)
	b.Val, b.Time = b.Val[:kept], b.Time[:min(kept, len(b.Time))]
}

// Mirror inserts after each entry n the entry with row and column exchanged, unless single(n) is true.
func (b *Batch) Mirror(single func(n int) bool) {
	var m Batch
	row, col := b.Row, b.Col
	if row.IsText || col.IsText {
		row.ToText()
		col.ToText()
		row.code()
		col.code()
		words := slices.Clone(row.words)
		for _, w := range col.words {
			words = append(words, span{w[0] + uint32(len(row.text)), w[1] + uint32(len(row.text))})
		}
		m.Row = Keys{IsText: true, coded: true, text: slices.Concat(row.text, col.text), words: words}
		m.Col = Keys{IsText: true, coded: true, text: slices.Clone(m.Row.text), words: slices.Clone(words)} // cloned: Row and Col reuse their memory independently of each other
	}
	add := func(n int, swapped bool) {
		one, other := &m.Row, &m.Col
		if swapped {
			one, other = other, one
		}
		one.pick(&row, n, 0)
		other.pick(&col, n, len(row.words))
		m.Val = append(m.Val, b.Val[n])
		if len(b.Time) > 0 {
			m.Time = append(m.Time, b.Time[n])
		}
	}
	for n := range b.Val {
		if add(n, false); !single(n) {
			add(n, true)
		}
	}
	b.Row, b.Col, b.Val, b.Time = m.Row, m.Col, m.Val, m.Time
}

// AddValue appends v; −0 becomes 0, which is the same value of a matrix entry.
func (b *Batch) AddValue(v float64) { b.Val = append(b.Val, v+0) }

// Keys are indices or ids. They are stored as integers until an id is added that is not a canonical decimal int64; from then
// on all of them are texts. A text that several keys share may be stored once (AddAgain, AddWords).
type Keys struct {
	Ints   []int64
	IsText bool
	text   []byte
	words  []span   // the words of text
	coded  bool     // the word of key i is codes[i]; false: it is word i
	codes  []uint32 // the word of each key
}

// A span holds the offsets of the first byte and the end of a word in text, which is about as long as a chunk.
type span [2]uint32

// Len returns the number of keys.
func (k *Keys) Len() int {
	if k.coded {
		return len(k.codes)
	}
	return len(k.Ints) + len(k.words)
}

// Reset removes all keys.
func (k *Keys) Reset() {
	k.Ints, k.IsText, k.text, k.words, k.coded, k.codes = k.Ints[:0], false, k.text[:0], k.words[:0], false, k.codes[:0]
}

// Add appends an id.
func (k *Keys) Add(id []byte) {
	if !k.IsText {
		if n, ok := ParseID(id); ok {
			k.Ints = append(k.Ints, n)
			return
		}
	}
	k.AddText(id)
}

// AddText appends an id that is not a canonical integer, or any id if the keys are texts.
func (k *Keys) AddText(id []byte) {
	k.ToText()
	k.text = append(k.text, id...)
	k.end()
}

// AddInt appends an integer.
func (k *Keys) AddInt(n int64) {
	if !k.IsText {
		k.Ints = append(k.Ints, n)
		return
	}
	k.text = strconv.AppendInt(k.text, n, 10)
	k.end()
}

// end adds the text after the last word as a word, and a key for it.
func (k *Keys) end() {
	begin := uint32(0)
	if n := len(k.words); n > 0 {
		begin = k.words[n-1][1]
	}
	if k.coded {
		k.codes = append(k.codes, uint32(len(k.words)))
	}
	k.words = append(k.words, span{begin, uint32(len(k.text))})
}

// code fills codes if the keys are texts without codes.
func (k *Keys) code() {
	if k.coded || !k.IsText {
		return
	}
	k.coded, k.codes = true, slices.Grow(k.codes[:0], len(k.words))
	for i := range k.words {
		k.codes = append(k.codes, uint32(i))
	}
}

// AddWords sets empty keys to word(codes[0]), word(codes[1]), … of n words, which are numbered by their first use in codes.
func (k *Keys) AddWords(n int, word func(int) []byte, codes []uint32) {
	ints := make([]int64, n)
	k.IsText = false
	for i := range ints {
		var ok bool
		if ints[i], ok = ParseID(word(i)); !ok {
			k.IsText = true
			break
		}
	}
	if !k.IsText {
		for _, code := range codes {
			k.Ints = append(k.Ints, ints[code])
		}
		return
	}
	for i := range n {
		k.AddText(word(i))
	}
	k.coded, k.codes = true, append(k.codes, codes...)
}

// AddAgain appends the last key n more times.
func (k *Keys) AddAgain(n int) {
	k.code()
	if k.IsText {
		k.codes = again(k.codes, n)
	} else {
		k.Ints = again(k.Ints, n)
	}
}

func again[T any](s []T, n int) []T {
	s = slices.Grow(s, n)
	for last := s[len(s)-1]; n > 0; n-- {
		s = append(s, last)
	}
	return s
}

// AddOf appends key n of others.
func (k *Keys) AddOf(others *Keys, n int) {
	if others.IsText {
		k.AddText(others.Text(n))
		return
	}
	k.AddInt(others.Ints[n])
}

// pick appends key n of others. The words of others are those of k from index first on.
func (k *Keys) pick(others *Keys, n, first int) {
	if k.IsText {
		k.codes = append(k.codes, others.codes[n]+uint32(first))
		return
	}
	k.Ints = append(k.Ints, others.Ints[n])
}

// ToText converts integers to the texts from which they were read.
func (k *Keys) ToText() {
	if k.IsText {
		return
	}
	k.IsText = true
	for _, n := range k.Ints {
		k.AddInt(n)
	}
	k.Ints = k.Ints[:0]
}

// Text returns key i, which must be a text.
func (k *Keys) Text(i int) []byte {
	if k.coded {
		i = int(k.codes[i])
	}
	return k.word(i)
}

func (k *Keys) word(i int) []byte { return k.text[k.words[i][0]:k.words[i][1]] }

// Number appends number(text) of each key, all being texts, to dst. It calls number once for each word, when its first key comes.
func (k *Keys) Number(dst []uint32, number func(text []byte) uint32) []uint32 {
	if !k.coded {
		for i := range k.words {
			dst = append(dst, number(k.word(i)))
		}
		return dst
	}
	known := make([]uint32, len(k.words)) // number of the word plus 1; 0: not asked yet
	for _, code := range k.codes {
		if known[code] == 0 {
			known[code] = number(k.word(int(code))) + 1
		}
		dst = append(dst, known[code]-1)
	}
	return dst
}

// move copies key n to key to.
func (k *Keys) move(to, n int) {
	if k.IsText {
		k.codes[to] = k.codes[n]
		return
	}
	k.Ints[to] = k.Ints[n]
}

func (k *Keys) cut(n int) {
	if k.IsText {
		k.codes = k.codes[:n]
		return
	}
	k.Ints = k.Ints[:n]
}

// ParseID reads a canonical decimal int64: the spelling that strconv.FormatInt gives, so that converting the integer back
// into text yields the same text.
func ParseID(b []byte) (int64, bool) {
	digits, neg := b, false
	if len(b) > 0 && b[0] == '-' {
		digits, neg = b[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(b) == 1
	}
	var u uint64
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		u = u*10 + uint64(d) // 19 digits fit in 64 bits
	}
	if neg {
		return -int64(u), u <= 1<<63
	}
	return int64(u), u < 1<<63
}

// Rows are entries in strictly ascending order of row and column.
type Rows struct {
	Runs []Run // none of them has N = 0
	Cols []uint32
	Vals []float64 // finite

	cut int // number of columns that are in Runs
}

// A Run is a sequence of N entries of one row.
type Run struct {
	Row int64
	N   int
}

// A RowReader is a Reader that may read chunks as Rows, which are faster to parse than batches.
type RowReader interface {
	// ParseRows reads what Parse reads. It returns false if the caller has to use Parse: for an error, or entries out of order.
	ParseRows(c *Chunk, r *Rows) bool
}

// Reset makes room for n entries that belong to no row yet.
func (r *Rows) Reset(n int) {
	r.Runs, r.Cols, r.Vals, r.cut = r.Runs[:0], slices.Grow(r.Cols[:0], n)[:n], slices.Grow(r.Vals[:0], n)[:n], 0
}

// Cut assigns the next n columns to a row, which must follow the previous row. It returns false if fewer columns are left,
// or if they do not ascend strictly or are not below limit.
func (r *Rows) Cut(row int64, n int, limit int64) bool {
	if n > len(r.Cols)-r.cut {
		return false
	}
	if n == 0 {
		return true
	}
	cols := r.Cols[r.cut:][:n]
	last := cols[0]
	for _, c := range cols[1:] {
		if c <= last {
			return false
		}
		last = c
	}
	r.Runs = append(r.Runs, Run{row, n})
	r.cut += n
	return int64(last) < limit
}

// Whole reports whether all columns are assigned to rows and all values are finite.
func (r *Rows) Whole() bool {
	sum := 0.0 // sum of v − v, which is 0 if v is finite, else NaN
	vals := r.Vals
	for ; len(vals) >= 4; vals = vals[4:] { // unrolled: consecutive additions depend on each other
		v := (*[4]float64)(vals)
		sum += ((v[0] - v[0]) + (v[1] - v[1])) + ((v[2] - v[2]) + (v[3] - v[3]))
	}
	for _, v := range vals {
		sum += v - v
	}
	return r.cut == len(r.Cols) && sum == 0
}
