package ingest

import (
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// A streamHeader holds the header fields of a csr-stream. The types are named as in FORMAT.md.
type streamHeader struct {
	rowKeys, colKeys, values string
	rows, cols               int64
	bare                     bool // the checksums of frames do not cover the payload
}

func (h *streamHeader) byID() bool { return h.rowKeys != "" }

// append writes the header to b.
func (h *streamHeader) append(b []byte) []byte {
	at := len(b)
	b = append(b, "\x89CSR\r\n\x1a\n"...)
	b = little.AppendUint32(b, 1)
	for _, t := range []string{h.rowKeys, h.colKeys, h.values} {
		var field [4]byte
		copy(field[:], t)
		b = append(b, field[:]...)
	}
	b = little.AppendUint64(b, uint64(h.rows))
	b = little.AppendUint64(b, uint64(h.cols))
	flags := uint32(0)
	if h.bare {
		flags = 1
	}
	b = little.AppendUint32(b, flags)
	return little.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

// Limits from FORMAT.md, in bytes and entries.
const (
	streamFrame   = 32
	streamPayload = 1<<18 - streamFrame
	streamEntries = 1 << 15
)

// streamSize returns the bytes of a number of type t; for texts, of the length of a text.
func streamSize(t string) int {
	switch t {
	case "":
		return 0
	case "s":
		return 4
	}
	return int(t[1] - '0')
}

// A streamWriter writes a csr-stream row by row. Close ends the stream.
type streamWriter struct {
	w io.Writer
	h streamHeader

	frame       []byte // buffer of flush: head and payload of the frame
	first, next int64  // first row of the frame and row after its last, if rows are numbered
	rowKeys     streamKeys
	lens        []uint32
	colKeys     streamKeys
	vals        []byte
	total       int64
	err         error
}

// A streamKeys holds the row or column keys of a frame.
type streamKeys struct {
	nums  []byte // numbers, or the lengths of texts
	texts []byte
}

func (s *streamKeys) size() int { return len(s.nums) + len(s.texts) }

func (s *streamKeys) reset() { s.nums, s.texts = s.nums[:0], s.texts[:0] }

// newStreamWriter writes the header to w and returns a streamWriter for the rows.
func newStreamWriter(w io.Writer, h streamHeader) (*streamWriter, error) {
	_, err := w.Write(h.append(nil))
	return &streamWriter{w: w, h: h}, err
}

// AppendRow writes the next entries of a numbered row. row must not be smaller than in the last call.
func (w *streamWriter) AppendRow(row int64, cols []uint32, vals []float64) error {
	if n := row - w.first; len(w.lens) > 0 && (n >= streamEntries || 4*(n+1)+int64(w.colKeys.size()+len(w.vals)) > streamPayload) {
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
			w.colKeys.nums = appendStreamInt(w.colKeys.nums, w.h.colKeys, int64(c))
			if w.h.values != "" {
				w.vals = w.appendValue(w.vals, vals[i])
			}
		}
		w.lens[len(w.lens)-1] += uint32(n)
		if cols = cols[n:]; len(cols) == 0 {
			break
		}
		if w.h.values != "" {
			vals = vals[n:]
		}
		w.flush()
	}
	return w.err
}

// room returns how many of n further entries of numbered rows fit into the frame.
func (w *streamWriter) room(n int) int {
	have := w.colKeys.size()/streamSize(w.h.colKeys) + n
	bytes := (streamPayload - 4*len(w.lens)) / (streamSize(w.h.colKeys) + streamSize(w.h.values))
	return max(0, n-max(0, have-min(bytes, streamEntries)))
}

// Add writes one entry of a stream with ids. A key of type i8 is given as decimal text.
func (w *streamWriter) Add(row, col string, val float64) error {
	used := w.rowKeys.size() + 4*len(w.lens) + w.colKeys.size() + len(w.vals)
	if len(w.lens) == streamEntries || used+len(row)+len(col)+32 > streamPayload {
		w.flush()
	}
	w.lens = append(w.lens, 1)
	w.addKey(&w.rowKeys, w.h.rowKeys, row)
	w.addKey(&w.colKeys, w.h.colKeys, col)
	if w.h.values != "" {
		w.vals = w.appendValue(w.vals, val)
	}
	return w.err
}

func (w *streamWriter) addKey(s *streamKeys, t string, id string) {
	if t == "s" {
		s.nums, s.texts = little.AppendUint32(s.nums, uint32(len(id))), append(s.texts, id...)
		return
	}
	var n int64
	if _, err := fmt.Sscan(id, &n); err != nil {
		w.err = fmt.Errorf("write csr-stream: id %q: %w", id, err)
	}
	s.nums = appendStreamInt(s.nums, t, n)
}

func appendStreamInt(b []byte, t string, n int64) []byte {
	if streamSize(t) == 4 {
		return little.AppendUint32(b, uint32(n))
	}
	return little.AppendUint64(b, uint64(n))
}

// appendValue appends v, which the value type must be able to hold, to b.
func (w *streamWriter) appendValue(b []byte, v float64) []byte {
	switch w.h.values {
	case "f8":
		b = little.AppendUint64(b, math.Float64bits(v))
	case "f4":
		b = little.AppendUint32(b, math.Float32bits(float32(v)))
	case "u8":
		b = little.AppendUint64(b, uint64(v))
	default:
		var number [8]byte
		little.PutUint64(number[:], uint64(int64(v)))
		b = append(b, number[:streamSize(w.h.values)]...)
	}
	return b
}

// Flush writes the entries so far as a frame. Full frames are written without Flush.
func (w *streamWriter) Flush() error {
	w.flush()
	return w.err
}

// flush writes the frame if it has entries.
func (w *streamWriter) flush() {
	if w.err != nil || len(w.lens) == 0 {
		return
	}
	n := uint32(0)
	b := append(w.frame[:0], make([]byte, streamFrame)...)
	b = append(append(b, w.rowKeys.nums...), w.rowKeys.texts...)
	for _, l := range w.lens {
		n += l
		b = little.AppendUint32(b, l)
	}
	b = append(append(b, w.colKeys.nums...), w.colKeys.texts...)
	w.frame = append(b, w.vals...)
	w.total += int64(n)
	first := uint64(w.first)
	if w.h.byID() {
		first = 0
	}
	w.write("ROWS", len(w.lens), first, n)
	w.lens, w.vals = w.lens[:0], w.vals[:0]
	w.rowKeys.reset()
	w.colKeys.reset()
}

// write completes the head of the frame and writes it.
func (w *streamWriter) write(kind string, rows int, first uint64, n uint32) {
	b := w.frame
	copy(b, kind)
	little.PutUint32(b[8:], uint32(len(b)-streamFrame))
	little.PutUint32(b[12:], uint32(rows))
	little.PutUint64(b[16:], first)
	little.PutUint32(b[24:], n)
	little.PutUint32(b[28:], 0)
	summed := b[8:]
	if w.h.bare {
		summed = b[8:streamFrame]
	}
	little.PutUint32(b[4:], crc32.ChecksumIEEE(summed))
	_, w.err = w.w.Write(b)
}

// Close writes the last frame. It does not close the underlying writer.
func (w *streamWriter) Close() error {
	if w.flush(); w.err != nil {
		return w.err
	}
	w.frame = append(w.frame[:0], make([]byte, streamFrame)...)
	w.write("DONE", 0, uint64(w.total), 0)
	return w.err
}
