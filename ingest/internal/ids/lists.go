package ids

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/crc"
)

// A List is a file of ids in ascending order: the ids of one generation of an axis, or of several generations, merged. A
// record holds the generation, the temporary id in that generation, and the id: a varint, or the length and the bytes of a
// text.
type List struct {
	Name  string
	N     int64 // number of records
	Text  bool
	Bytes int64
	CRC   uint32
	// Before is added to the generations in the file.
	Before uint32 `json:",omitempty"`
	// Parts, unless nil, are the files of the list, one after the other; Name is then empty.
	Parts []List `json:",omitempty"`
}

// files returns the lists that are files: the parts of the lists that have parts.
func files(lists []List) (all []List) {
	for _, l := range lists {
		if l.Parts == nil {
			all = append(all, l)
		}
		for _, p := range l.Parts {
			p.Before = l.Before
			all = append(all, p)
		}
	}
	return all
}

type ID struct {
	Int       int64
	Text      []byte
	gen, temp uint32
}

func (r *ID) name(text bool) string {
	if text {
		return string(r.Text)
	}
	return strconv.FormatInt(r.Int, 10)
}

const listBuffer = 1 << 15

// maxIDBytes exceeds the length of every id: no line may be longer than a chunk.
const maxIDBytes = format.ChunkBytes

// ctxEvery is the number of ids between two looks at the context.
const ctxEvery = 1 << 14

type listWriter struct {
	f    vfs.File
	w    *bufio.Writer
	list List
	buf  []byte
}

func newList(s *scratch.Dir, kind string, text bool) (*listWriter, error) {
	f, err := s.Create(kind)
	if err != nil {
		return nil, err
	}
	return &listWriter{f: f, w: bufio.NewWriterSize(f, listBuffer), list: List{Name: filepath.Base(f.Name()), Text: text}}, nil
}

func (l *listWriter) add(r *ID) error {
	l.buf = binary.AppendUvarint(l.buf[:0], uint64(r.gen))
	l.buf = binary.AppendUvarint(l.buf, uint64(r.temp))
	if l.list.Text {
		l.buf = append(binary.AppendUvarint(l.buf, uint64(len(r.Text))), r.Text...)
	} else {
		l.buf = binary.AppendVarint(l.buf, r.Int)
	}
	l.list.N++
	l.list.Bytes += int64(len(l.buf))
	l.list.CRC = crc.Update(l.list.CRC, l.buf)
	if _, err := l.w.Write(l.buf); err != nil {
		return fmt.Errorf("spill ids: %w", err)
	}
	return nil
}

// end passes the complete file to a function that takes it over. If flushing fails, end closes the file.
func (l *listWriter) end(to func(vfs.File) error) (List, error) {
	if err := l.w.Flush(); err != nil {
		return l.list, errors.Join(fmt.Errorf("spill ids: %w", err), l.f.Close())
	}
	return l.list, to(l.f)
}

type listReader struct {
	f    vfs.File
	r    *bufio.Reader
	list List
	read int64
	n    int64
	sum  uint32
	cur  ID
	head []byte
}

func openList(s *scratch.Dir, l List) (*listReader, error) {
	f, err := s.FS.Open(s.Path(l.Name))
	if err != nil {
		return nil, fmt.Errorf("merge ids: %w", scratch.Damaged(err))
	}
	return &listReader{f: f, list: l, r: bufio.NewReaderSize(io.NewSectionReader(f, 0, l.Bytes), int(max(64, min(l.Bytes, listBuffer))))}, nil
}

// next moves to the next id; it returns false behind the last id, after the sum has been verified.
func (r *listReader) next() (bool, error) {
	if r.n == r.list.N {
		if r.sum != r.list.CRC || r.read != r.list.Bytes {
			return false, scratch.ErrDamaged
		}
		return false, nil
	}
	head, err := r.r.Peek(3 * binary.MaxVarintLen64)
	if err != nil && err != io.EOF {
		return false, fmt.Errorf("merge ids: %w", err)
	}
	gen, a := binary.Uvarint(head)
	temp, b := binary.Uvarint(head[max(a, 0):])
	at := a + b
	if a <= 0 || b <= 0 {
		return false, scratch.ErrDamaged
	}
	length := uint64(0)
	var c int
	if r.list.Text {
		length, c = binary.Uvarint(head[at:])
	} else {
		r.cur.Int, c = binary.Varint(head[at:])
	}
	if c <= 0 || length > maxIDBytes {
		return false, scratch.ErrDamaged
	}
	r.head = slices.Grow(r.head[:0], at+c+int(length))[:at+c+int(length)]
	if _, err := io.ReadFull(r.r, r.head); err != nil {
		return false, scratch.ErrDamaged
	}
	r.cur.gen, r.cur.temp, r.cur.Text = r.list.Before+uint32(gen), uint32(temp), r.head[at+c:]
	r.sum = crc.Update(r.sum, r.head)
	r.read += int64(len(r.head))
	r.n++
	return true, nil
}

// compare orders ids by value or bytes, and equal ids by generation.
func (r *ID) compare(o *ID, text bool) int {
	var c int
	if text {
		c = bytes.Compare(r.Text, o.Text)
	} else {
		c = cmp.Compare(r.Int, o.Int)
	}
	if c == 0 {
		c = cmp.Compare(r.gen, o.gen)
	}
	return c
}

// mergeLists calls emit with the records of lists in ascending order of ids, and reports the numbers to m, unless nil. A
// record is valid during the call only.
func mergeLists(s *scratch.Dir, ctx context.Context, lists []List, m Meter, emit func(*ID) error) (err error) {
	var readers []*listReader // in ascending order of their current ids
	lists = files(lists)
	byID := func(a, b *listReader) int { return a.cur.compare(&b.cur, lists[0].Text) }
	defer func() {
		for _, r := range readers {
			err = errors.Join(err, r.f.Close())
		}
	}()
	for _, l := range lists {
		r, err := openList(s, l)
		if err != nil {
			return err
		}
		if m != nil {
			m.Extend(l.N)
		}
		switch ok, err := r.next(); {
		case err != nil || !ok:
			if err := errors.Join(err, r.f.Close()); err != nil {
				return err
			}
		default:
			readers = append(readers, r)
		}
	}
	slices.SortFunc(readers, byID)
	for n := 1; len(readers) > 0; n++ {
		if n%ctxEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if m != nil {
				m.Add(ctxEvery)
			}
		}
		r := readers[0]
		if err := emit(&r.cur); err != nil {
			return err
		}
		ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			readers = readers[1:]
			if err := r.f.Close(); err != nil {
				return err
			}
			continue
		}
		i, _ := slices.BinarySearchFunc(readers[1:], r, byID)
		copy(readers, readers[1:i+1])
		readers[i] = r
	}
	return nil
}

// rank numbers the ids of lists, writes each distinct id once to names, and sorts the ranks by generation and temporary id.
func (a *Axis) rank(ctx context.Context, s *scratch.Dir, lists []List, b extsort.Budget, held func() int64, m Meter) error {
	b.Run, b.First = max(b.Run/4, 1), max(b.First/4, 1)
	b.Keep, b.FanIn = b.Space/16, max(2, b.FanIn/4)
	spool := extsort.New(b, s, false, held)
	w, err := newList(s, "names", a.Text)
	if err != nil {
		return err
	}
	var last ID
	err = mergeLists(s, ctx, lists, m, func(r *ID) error {
		if a.N == 0 || last.Int != r.Int || !bytes.Equal(last.Text, r.Text) {
			a.N++
			if a.N > maxIDs {
				return errTooMany
			}
			last.Int, last.Text, last.gen, last.temp = r.Int, append(last.Text[:0], r.Text...), r.gen, r.temp
			if err := w.add(&last); err != nil {
				return err
			}
		}
		if a.Unranked {
			return nil
		}
		return spool.Add([]uint64{uint64(r.gen)<<32 | uint64(r.temp)}, []float64{float64(a.N - 1)})
	})
	if err != nil {
		return errors.Join(err, w.f.Close())
	}
	if a.names, err = w.end(vfs.File.Close); err != nil || a.Unranked {
		return err
	}
	a.ranks, err = newRankReader(ctx, spool, 32+bits.Len(uint(len(a.closed))))
	return err
}

// join returns, by temporary id of the list l, the ranks of its ids among those of names.
func (a *Axis) join(l List) (ranks []uint32, err error) {
	const own = 1 << 31 // generations from here on are those of l
	if a.Text && !l.Text {
		if l, err = listAsText(a.dir, l); err != nil {
			return nil, err
		}
	}
	ranks, l.Before = make([]uint32, l.N), own
	next := uint32(0)
	return ranks, mergeLists(a.dir, context.Background(), []List{a.names, l}, nil, func(r *ID) error {
		switch {
		case r.gen < own:
			next++
		case next == 0 || int64(r.temp) >= l.N:
			return scratch.ErrDamaged
		default:
			ranks[r.temp] = next - 1
		}
		return nil
	})
}

type rankReader struct {
	spool *extsort.Spool
	m     *extsort.Merger
	size  int64 // bytes held
}

func newRankReader(ctx context.Context, s *extsort.Spool, keyBits int) (*rankReader, error) {
	by := extsort.Order{KeyBits: keyBits}
	err := s.Finish()
	if err == nil {
		err = s.Sort(ctx, 1, nil, by, func(int) {})
	}
	if err == nil {
		err = s.Reduce(ctx, by, func() error { return nil }, func(int) {})
	}
	if err != nil {
		return nil, err
	}
	m, err := s.Merge(by)
	if err != nil {
		return nil, err
	}
	return &rankReader{spool: s, m: m, size: s.MergeBytes()}, nil
}

// next returns the ranks of the n temporary ids of generation gen, which must be the next one.
func (r *rankReader) next(gen int, n int64) ([]uint32, error) {
	ranks := make([]uint32, n)
	buf := make([]extsort.Entry, extsort.BlockEntries)
	for at := int64(0); at < n; {
		k, err := r.m.Read(buf[:min(int64(len(buf)), n-at)])
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return nil, scratch.ErrDamaged
		}
		for _, e := range buf[:k] {
			if e.Key != uint64(gen)<<32|uint64(at) {
				return nil, scratch.ErrDamaged
			}
			ranks[at] = uint32(e.Val)
			at++
		}
	}
	return ranks, nil
}

// listAsText sorts the integers of one generation as texts. They fit in memory, because they were a dictionary.
func listAsText(s *scratch.Dir, l List) (List, error) {
	var gen uint32
	nums, temps, order := make([]int64, 0, l.N), make([]uint32, 0, l.N), make([]uint32, 0, l.N)
	err := mergeLists(s, context.Background(), []List{l}, nil, func(r *ID) error {
		gen = r.gen
		order = append(order, uint32(len(nums)))
		nums, temps = append(nums, r.Int), append(temps, r.temp)
		return nil
	})
	if err != nil {
		return l, err
	}
	var x, y [20]byte
	slices.SortFunc(order, func(a, b uint32) int {
		return bytes.Compare(strconv.AppendInt(x[:0], nums[a], 10), strconv.AppendInt(y[:0], nums[b], 10))
	})
	w, err := newList(s, "ids", true)
	if err != nil {
		return l, err
	}
	for _, i := range order {
		if err := w.add(&ID{gen: gen, temp: temps[i], Text: strconv.AppendInt(x[:0], nums[i], 10)}); err != nil {
			return l, errors.Join(err, w.f.Close())
		}
	}
	return w.end(vfs.File.Close)
}
