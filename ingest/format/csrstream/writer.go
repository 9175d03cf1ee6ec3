package csrstream

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A Writer writes a stream, row after row; Close ends it.
type Writer struct {
	w io.Writer
	h Header

	frame       []byte // the room for its head, then put together by flush
	first, next int64  // rows of the frame, if they are numbered
	rowKeys     side
	lens        []uint32
	colKeys     side
	vals        []byte
	total       int64
	err         error
}

// A side holds keys of a frame.
type side struct {
	nums  []byte // or the lengths of texts
	texts []byte
}

func (s *side) size() int { return len(s.nums) + len(s.texts) }

func (s *side) reset() { s.nums, s.texts = s.nums[:0], s.texts[:0] }

// NewWriter begins a stream.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	if err := h.check(); err != nil {
		return nil, fmt.Errorf("write csr-stream: %w", err)
	}
	_, err := w.Write(h.append(nil))
	return &Writer{w: w, h: h}, err
}

// AppendRow writes the next entries of a numbered row, which must not be before that of the last call.
func (w *Writer) AppendRow(row int64, cols []uint32, vals []float64) error {
	switch {
	case w.err != nil:
		return w.err
	case w.h.IDs() || row < 0 || row >= w.h.Rows || row < w.next-1:
		return w.refuse("row %d", row)
	case w.h.Values != None && len(cols) != len(vals):
		return w.refuse("%d columns with %d values", len(cols), len(vals))
	}
	if n := row - w.first; len(w.lens) > 0 && (n >= maxEntries || 4*(n+1)+int64(w.colKeys.size()+len(w.vals)) > maxPayload) {
		w.flush() // the empty rows between would overflow a frame
	}
	for w.err == nil {
		if len(w.lens) == 0 {
			w.first, w.next = row, row
		}
		for ; w.next <= row; w.next++ {
			w.lens = append(w.lens, 0)
		}
		n := w.room(len(cols))
		for i, c := range cols[:n] {
			if int64(c) >= w.h.Cols {
				return w.refuse("column %d of %d", c, w.h.Cols)
			}
			w.colKeys.nums = appendInt(w.colKeys.nums, w.h.ColKeys, int64(c))
			if w.h.Values != None {
				w.vals = w.appendValue(w.vals, vals[i])
			}
		}
		w.lens[len(w.lens)-1] += uint32(n)
		if cols = cols[n:]; len(cols) == 0 {
			break
		}
		if w.h.Values != None {
			vals = vals[n:]
		}
		w.flush()
	}
	return w.err
}

// room is how many of n further entries of numbered rows fit into the frame.
func (w *Writer) room(n int) int {
	have := w.colKeys.size()/w.h.ColKeys.size() + n
	bytes := (maxPayload - 4*len(w.lens)) / (w.h.ColKeys.size() + w.h.Values.size())
	return max(0, n-max(0, have-min(bytes, maxEntries)))
}

// Add writes one entry of a stream of ids; a key of type Int64 is its decimal text.
func (w *Writer) Add(row, col string, val float64) error {
	if w.err != nil {
		return w.err
	}
	if !w.h.IDs() {
		return w.refuse("an id in a stream of indices")
	}
	if size := len(row) + len(col) + 32; size > maxPayload {
		return w.refuse("ids of %d bytes", size)
	}
	used := w.rowKeys.size() + 4*len(w.lens) + w.colKeys.size() + len(w.vals)
	if len(w.lens) == maxEntries || used+len(row)+len(col)+32 > maxPayload {
		w.flush()
	}
	w.lens = append(w.lens, 1)
	w.addKey(&w.rowKeys, w.h.RowKeys, row)
	w.addKey(&w.colKeys, w.h.ColKeys, col)
	if w.h.Values != None {
		w.vals = w.appendValue(w.vals, val)
	}
	return w.err
}

func (w *Writer) addKey(s *side, t Type, id string) {
	if t == Text {
		s.nums, s.texts = le.AppendUint32(s.nums, uint32(len(id))), append(s.texts, id...)
		return
	}
	var n int64
	if _, err := fmt.Sscan(id, &n); err != nil {
		w.err = fmt.Errorf("write csr-stream: id %q: %w", id, err)
	}
	s.nums = appendInt(s.nums, t, n)
}

func (w *Writer) refuse(text string, args ...any) error {
	w.err = fmt.Errorf("write csr-stream: "+text, args...)
	return w.err
}

func appendInt(b []byte, t Type, n int64) []byte {
	if t.size() == 4 {
		return le.AppendUint32(b, uint32(n))
	}
	return le.AppendUint64(b, uint64(n))
}

// appendValue writes a value; one that its type cannot hold is an error.
func (w *Writer) appendValue(b []byte, v float64) []byte {
	n := len(b)
	switch w.h.Values {
	case Float64:
		b = le.AppendUint64(b, math.Float64bits(v))
	case Float32:
		b = le.AppendUint32(b, math.Float32bits(float32(v)))
	case Uint64:
		b = le.AppendUint64(b, uint64(v))
	default:
		var number [8]byte
		le.PutUint64(number[:], uint64(int64(v)))
		b = append(b, number[:w.h.Values.size()]...)
	}
	if back := appendValues(nil, w.h.Values, b[n:], 1)[0]; back != v || w.h.Values == Bool && v > 1 {
		w.err = fmt.Errorf("write csr-stream: value %v does not fit type %s", v, w.h.Values)
	}
	return b
}

// Flush writes the entries so far. Frames that are full are written without it.
func (w *Writer) Flush() error {
	w.flush()
	return w.err
}

// flush writes the frame, if there is one.
func (w *Writer) flush() {
	if w.err != nil || len(w.lens) == 0 {
		return
	}
	n := uint32(0)
	b := append(w.frame[:0], make([]byte, frameBytes)...)
	b = append(append(b, w.rowKeys.nums...), w.rowKeys.texts...)
	for _, l := range w.lens {
		n += l
		b = le.AppendUint32(b, l)
	}
	b = append(append(b, w.colKeys.nums...), w.colKeys.texts...)
	w.frame = append(b, w.vals...)
	w.total += int64(n)
	first := uint64(w.first)
	if w.h.IDs() {
		first = 0
	}
	w.write(kindRows, len(w.lens), first, n)
	w.lens, w.vals = w.lens[:0], w.vals[:0]
	w.rowKeys.reset()
	w.colKeys.reset()
}

// write completes the head of the frame and writes it.
func (w *Writer) write(kind string, rows int, first uint64, n uint32) {
	b := w.frame
	copy(b, kind)
	le.PutUint32(b[8:], uint32(len(b)-frameBytes))
	le.PutUint32(b[12:], uint32(rows))
	le.PutUint64(b[16:], first)
	le.PutUint32(b[24:], n)
	le.PutUint32(b[28:], 0)
	le.PutUint32(b[4:], crc32.ChecksumIEEE(b[8:]))
	_, w.err = w.w.Write(b)
}

// Close writes the end of the stream. It does not close what it is written to.
func (w *Writer) Close() error {
	if w.flush(); w.err != nil {
		return w.err
	}
	w.frame = append(w.frame[:0], make([]byte, frameBytes)...)
	w.write(kindDone, 0, uint64(w.total), 0)
	if w.err != nil {
		return w.err
	}
	w.err = errors.New("write csr-stream: closed")
	return nil
}
