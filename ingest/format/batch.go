package format

import (
	"slices"
	"strconv"
)

// A Batch is what Parse makes of one chunk, in columns.
type Batch struct {
	Row, Col Keys
	Val      []float64
	Time     []Time // of each entry, if Input.Times asks for them; else empty
	Lines    int64  // of the chunk, blank ones included
	Tally    Tally
	Refused  int64   // lines
	Errs     []error // of the first MaxErrs of them
	limit    int64
}

// MaxErrs is how many errors of refused lines are kept.
const MaxErrs = 10

// Reset empties a batch. It tolerates limit refused lines.
func (b *Batch) Reset(limit int64) {
	b.Row.Reset()
	b.Col.Reset()
	b.Val, b.Time = b.Val[:0], b.Time[:0]
	b.Lines, b.Tally, b.Refused, b.Errs, b.limit = 0, Tally{}, 0, nil, limit
}

// Refuse records a line that cannot be read and tells whether to go on with the chunk.
func (b *Batch) Refuse(err error) bool {
	b.Refused++
	if len(b.Errs) < MaxErrs {
		b.Errs = append(b.Errs, err)
	}
	return b.Refused <= b.limit
}

// Keep leaves out the entries for which keep is false.
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

// Mirror puts behind each entry the one with row and column exchanged, but for those of which single is true.
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
		m.Col = Keys{IsText: true, coded: true, text: slices.Clone(m.Row.text), words: slices.Clone(words)} // each is used again by itself
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

// AddValue appends v; −0 becomes 0, which is the same entry of a matrix.
func (b *Batch) AddValue(v float64) { b.Val = append(b.Val, v+0) }

// Keys are indices or ids. They are integers until one is no canonical decimal
// int64; then all of them are texts. A text that several keys have may stand there once (AddAgain, AddWords).
type Keys struct {
	Ints   []int64
	IsText bool
	text   []byte
	words  []span   // in text
	coded  bool     // else key i is word i
	codes  []uint32 // the word of each key
}

// A span is where a word begins and ends; texts are of the order of a chunk.
type span [2]uint32

// Len is the number of keys.
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

// AddText appends an id that is no canonical integer, or among texts.
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

// end makes a word, and a key, of the text behind the last word.
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

// code gives texts their codes.
func (k *Keys) code() {
	if k.coded || !k.IsText {
		return
	}
	k.coded, k.codes = true, slices.Grow(k.codes[:0], len(k.words))
	for i := range k.words {
		k.codes = append(k.codes, uint32(i))
	}
}

// AddWords appends the ids that are each one of n words, as codes tell, to no others. The words are in the order in which they come up first.
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

// AddAgain appends the last key n times more.
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

// pick appends key n of others, whose words are those of k from one on.
func (k *Keys) pick(others *Keys, n, first int) {
	if k.IsText {
		k.codes = append(k.codes, others.codes[n]+uint32(first))
		return
	}
	k.Ints = append(k.Ints, others.Ints[n])
}

// ToText turns integers into the texts they came from.
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

// Text is key i of texts.
func (k *Keys) Text(i int) []byte {
	if k.coded {
		i = int(k.codes[i])
	}
	return k.word(i)
}

func (k *Keys) word(i int) []byte { return k.text[k.words[i][0]:k.words[i][1]] }

// Number appends the number of each key of texts to dst: what number gives for its text, asked once for each word when it first comes up.
func (k *Keys) Number(dst []uint32, number func(text []byte) uint32) []uint32 {
	if !k.coded {
		for i := range k.words {
			dst = append(dst, number(k.word(i)))
		}
		return dst
	}
	known := make([]uint32, len(k.words)) // one more
	for _, code := range k.codes {
		if known[code] == 0 {
			known[code] = number(k.word(int(code))) + 1
		}
		dst = append(dst, known[code]-1)
	}
	return dst
}

// move puts key n in the place of key to.
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

// ParseID reads a canonical decimal int64: the one spelling that
// strconv.FormatInt gives, so that turning it back into text loses nothing.
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
	Runs []Run // none is empty
	Cols []uint32
	Vals []float64 // finite

	cut int // columns in runs
}

// A Run is a number of entries of one row.
type Run struct {
	Row int64
	N   int
}

// A RowReader is a Reader whose chunks may be rows, which take less to parse than a batch.
type RowReader interface {
	// ParseRows is Parse. It is false where that has to tell: what is wrong, or an order that Rows cannot have.
	ParseRows(c *Chunk, r *Rows) bool
}

// Reset makes room for n entries in no rows yet.
func (r *Rows) Reset(n int) {
	r.Runs, r.Cols, r.Vals, r.cut = r.Runs[:0], slices.Grow(r.Cols[:0], n)[:n], slices.Grow(r.Vals[:0], n)[:n], 0
}

// Cut takes the next n columns for those of a row, which is behind the one before. It is false if there are fewer, they
// do not ascend, or are not below a limit.
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

// Whole tells whether all columns are those of rows, and all values finite.
func (r *Rows) Whole() bool {
	sum := 0.0 // of differences that are 0, or NaN
	vals := r.Vals
	for ; len(vals) >= 4; vals = vals[4:] { // one addition has to wait for another
		v := (*[4]float64)(vals)
		sum += ((v[0] - v[0]) + (v[1] - v[1])) + ((v[2] - v[2]) + (v[3] - v[3]))
	}
	for _, v := range vals {
		sum += v - v
	}
	return r.cut == len(r.Cols) && sum == 0
}
