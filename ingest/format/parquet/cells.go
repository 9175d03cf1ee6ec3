package parquet

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// cells are the values of a column in a chunk: numbers, or distinct texts and which of them each row has.
type cells struct {
	*field
	values
	codes []uint32
	nulls []bool // of each row; empty: none is null
}

// A row is what Next puts into a chunk: the cells of each column.
type row []cells

// put makes cells of the next n rows, texts of those that have been gathered. Of one that is too long there is no more than what
// tells it so.
func (c *column) put(s *cells, n int) error {
	*s = cells{c.field, values{s.nums[:0], s.data[:0], s.ends[:0]}, s.codes[:0], s.nulls[:0]}
	numbers := c.kind <= number
	if !numbers && n > 0 {
		s.codes = append(s.codes, c.codes[:n]...)
		words := min(len(c.words), int(slices.Max(s.codes))+1) // none if all are null
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

// sound tells whether all cells are ids and values as they are, without times.
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
		sum := 0.0 // of differences that are 0, or NaN
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
