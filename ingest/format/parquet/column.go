package parquet

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/gdsvd/gdsvd/ingest/format"
)

const (
	// maxPage is the largest uncompressed page in bytes: some writers put a whole row group into one page.
	maxPage = 1 << 28
	// maxValues is the largest number of values of a page; a few bytes can encode any number of equal values.
	maxValues = 1 << 24
)

// A window counts the memory that the footer and the pages of all columns take together.
type window struct{ size, taken, held int64 } // in bytes; size 0: no limit; held: taken by the footer

// A column is a column of a row group that is read page by page.
type column struct {
	*field
	chunk
	in     *bufio.Reader
	window *window
	takes  [2]int64 // bytes of the largest page, and of the largest dictionary
	left   int64    // bytes of the column not yet read
	zstd   *zstd.Decoder
	raw    []byte // a page as it is in the file
	plain  []byte // uncompressed

	dict    values
	hasDict bool
	page    values
	index   []uint32 // places of the values in dict, if indexed
	levels  []uint32 // of each row of an optional column; 1: it has a value, 0: it is null
	whole   bool     // no row of the page is null
	indexed bool
	rows    int // number of rows of the page
	at      int // number of rows of the page already used
	value   int // number of values of the page already used

	// Texts of the next rows: the places of the distinct texts among the values, and for each row an index in words.
	words, codes []uint32
	seen         []uint32 // for each value of dict, its code plus 1; all are 0 between two chunks
}

func (c *column) begin(f *field, k chunk, in *format.Input, rows int64, w *window) error {
	c.field, c.chunk, c.window = f, k, w
	c.hasDict, c.rows, c.at = false, 0, 0
	start := k.data
	if k.dict > 0 && k.dict < start {
		start = k.dict
	}
	switch {
	case k.elsewhere:
		return fmt.Errorf("encrypted, or in another file: %w", format.ErrUnsupported)
	case k.phys != f.phys || k.values != rows || start < 4 || k.bytes < 0 || start > in.Size || k.bytes > in.Size-start:
		return errors.New("the footer contradicts itself")
	case !slices.Contains([]int{codecNone, codecSnappy, codecGzip, codecBrotli, codecZstd, codecLZ4}, k.codec):
		name := fmt.Sprint("codec ", k.codec)
		if k.codec > 0 && k.codec < len(codecNames) {
			name = codecNames[k.codec]
		}
		return fmt.Errorf("compressed with %s: %w; write it with snappy, zstd or gzip", name, format.ErrUnsupported)
	}
	section := io.NewSectionReader(in.At, start, k.bytes)
	if c.in == nil {
		c.in = bufio.NewReaderSize(section, readBuffer)
	} else {
		c.in.Reset(section)
	}
	c.left = k.bytes
	return nil
}

// header reads the header of the next page, which must fit in the buffer.
func (c *column) header() (page, error) {
	b, err := c.in.Peek(int(min(c.left, readBuffer)))
	if len(b) == 0 || err != nil && err != io.EOF {
		if err == nil || err == io.EOF {
			err = errors.New("fewer values than rows")
		}
		return page{}, err
	}
	t := &thrift{b: b}
	p := t.page()
	switch {
	case t.err != nil && len(b) == readBuffer:
		return p, fmt.Errorf("the header of a page takes more than %d bytes: %w; write it without statistics of pages", readBuffer, format.ErrUnsupported)
	case t.err != nil:
		return p, t.err
	}
	head := len(b) - len(t.b)
	if _, err := c.in.Discard(head); err != nil {
		return p, err
	}
	c.left -= int64(head)
	if p.packed < 0 || int64(p.packed) > c.left || p.size < 0 || p.values < 0 {
		return p, errors.New("a page that is longer than its column")
	}
	if p.size > maxPage || p.packed > maxPage || p.values > maxValues {
		return p, fmt.Errorf("a page of %d bytes and %d values: %w; write it with smaller pages", max(p.size, p.packed), p.values, format.ErrUnsupported)
	}
	c.left -= int64(p.packed)
	return p, nil
}

func (c *column) skip(n int64) error {
	for n > 0 {
		if k := int(min(n, int64(c.rows-c.at))); k > 0 {
			c.advance(k)
			n -= int64(k)
			continue
		}
		p, err := c.header()
		if err != nil {
			return err
		}
		if p.kind != pageDict && int64(p.values) <= n {
			if p.kind == pageData || p.kind == pageDataV2 {
				n -= int64(p.values)
			}
			if _, err := c.in.Discard(p.packed); err != nil {
				return err
			}
			continue
		}
		if err := c.read(&p); err != nil {
			return err
		}
	}
	return nil
}

func (c *column) advance(n int) {
	if c.whole {
		c.value += n
	} else {
		for _, l := range c.levels[c.at : c.at+n] {
			c.value += int(min(l, 1))
		}
	}
	c.at += n
}

func (c *column) fill() error {
	for c.at == c.rows {
		p, err := c.header()
		if err == nil {
			err = c.read(&p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// values returns the values in which the places of each are indices: those of the dictionary, or of the page.
func (c *column) values() *values {
	if c.indexed {
		return &c.dict
	}
	return &c.page
}

// each calls visit for the next n rows of the page with the place of their value, or with null if they have none.
func (c *column) each(n int, visit func(place uint32, null bool)) {
	v := c.value
	for i := c.at; i < c.at+n; i++ {
		switch {
		case !c.whole && c.levels[i] == 0:
			visit(0, true)
			continue
		case c.indexed:
			visit(c.index[v], false)
		default:
			visit(uint32(v), false)
		}
		v++
	}
}

// gather collects the distinct texts of the next n rows, or of fewer rows if the page ends or the texts take more than room
// bytes, but of at least one row. It returns the number of rows.
func (c *column) gather(n, room int) int {
	n = min(n, c.rows-c.at)
	c.words, c.codes = c.words[:0], c.codes[:0]
	all := c.values()
	if c.indexed && len(c.seen) < all.len() {
		c.seen = make([]uint32, all.len())
	}
	full := false
	c.each(n, func(place uint32, null bool) {
		code := uint32(len(c.words))
		switch {
		case full:
			return
		case null:
			code = 0
		case c.indexed && c.seen[place] > 0:
			code = c.seen[place] - 1
		default:
			if size := min(len(all.text(place)), maxText+1); room >= size || len(c.codes) == 0 {
				room -= size
			} else {
				full = true
				return
			}
			c.words = append(c.words, place)
			if c.indexed {
				c.seen[place] = code + 1
			}
		}
		c.codes = append(c.codes, code)
	})
	if c.indexed {
		for _, place := range c.words {
			c.seen[place] = 0
		}
	}
	return len(c.codes)
}

// cells are the values of a column in a chunk: numbers, or distinct texts and for each row an index in them.
type cells struct {
	*field
	values
	codes []uint32
	nulls []bool // of each row; empty: no row is null
}

// A row holds the data that Next puts into a chunk: the cells of each column.
type row []cells

// put fills s with the next n rows. Texts are those that gather collected. A text longer than maxText is cut to maxText + 1
// bytes, so that part still finds it too long.
func (c *column) put(s *cells, n int) error {
	*s = cells{c.field, values{s.nums[:0], s.data[:0], s.ends[:0]}, s.codes[:0], s.nulls[:0]}
	numbers := c.kind <= number
	if !numbers && n > 0 {
		s.codes = append(s.codes, c.codes[:n]...)
		words := min(len(c.words), int(slices.Max(s.codes))+1) // 0 if all rows are null
		for _, place := range c.words[:words] {
			text := c.values().text(place)
			if err := s.add(text[:min(len(text), maxText+1)]); err != nil {
				return err
			}
		}
	}
	for done := 0; done < n; {
		if err := c.fill(); err != nil {
			return err
		}
		k, all := min(n-done, c.rows-c.at), c.values()
		switch {
		case !c.whole:
			if len(s.nulls) == 0 {
				s.nulls = append(s.nulls, make([]bool, n)...)
			}
			row := done
			c.each(k, func(place uint32, null bool) {
				s.nulls[row] = null
				row++
				if numbers && null {
					s.nums = append(s.nums, 0)
				} else if numbers {
					s.nums = append(s.nums, all.nums[place])
				}
			})
		case numbers && c.indexed:
			for _, place := range c.index[c.value : c.value+k] {
				s.nums = append(s.nums, all.nums[place])
			}
		case numbers:
			s.nums = append(s.nums, all.nums[c.value:c.value+k]...)
		}
		c.advance(k)
		done += k
	}
	return nil
}

func (s *cells) part(i int) part {
	switch {
	case len(s.nulls) > 0 && s.nulls[i]:
		return part{err: errNull}
	case s.kind <= number:
		return s.number(s.nums[i])
	}
	return s.field.text(s.values.text(s.codes[i]))
}

// sound reports whether all cells are valid ids and values that need no conversion, and there are no times and nulls.
func (r row) sound() bool {
	for i := range r {
		if s := &r[i]; len(s.nulls) > 0 || s.isTime || !s.clean() {
			return false
		}
	}
	return true
}

func (s *cells) clean() bool {
	switch {
	case s.kind == texts && s.isID:
		for word := range s.ends {
			if n := len(s.values.text(uint32(word))); n == 0 || n > maxText {
				return false
			}
		}
		return true
	case s.kind == natural && s.isID:
		all := uint64(0)
		for _, bits := range s.nums {
			all |= bits
		}
		return all <= math.MaxInt64
	case s.kind == number && !s.isID:
		sum := 0.0 // sum of x − x, which is 0 if x is finite, else NaN
		for _, bits := range s.nums {
			x := math.Float64frombits(bits)
			sum += x - x
		}
		return sum == 0
	}
	return (s.kind == integer || s.kind == natural) && (s.isID || s.scale == 0)
}

func (s *cells) ids(k *format.Keys) {
	if s.kind == texts {
		k.AddWords(len(s.ends), func(word int) []byte { return s.values.text(uint32(word)) }, s.codes)
		return
	}
	for _, bits := range s.nums {
		k.Ints = append(k.Ints, int64(bits))
	}
}

func (s *cells) addValues(to *format.Batch) {
	for _, bits := range s.nums {
		switch s.kind {
		case number:
			to.AddValue(math.Float64frombits(bits))
		case natural:
			to.AddValue(float64(bits))
		default:
			to.AddValue(float64(int64(bits)))
		}
	}
}
