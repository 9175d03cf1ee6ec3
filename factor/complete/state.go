package complete

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/crc"
)

// ErrState is wrapped by the error of a saved state that differs from what Save wrote.
var ErrState = errors.New("damaged state of a completion")

// stateMagic is the first line of a saved state. A line of JSON (savedState), the float64s that it announces,
// little-endian, and the CRC-32C of all bytes before follow.
const stateMagic = "gdsvd-completion/1\n"

// maxHeader bounds the bytes of the line of JSON.
const maxHeader = 1 << 16

type savedState struct {
	Of      string `json:"of"` // matrix and options of the fit
	N, K    int
	Columns bool // whether c follows
	Best    bool // whether the V of the best λ follows
	Phase   Phase
	Full    bool
	Rounds  int
	At      int
	Count   int64
	Spent   time.Duration
}

// floats returns all float64s of a state, in the order of the file. one holds copies of the single ones.
func (s *State) floats(one []float64) [][]float64 {
	all := [][]float64{one, s.D, s.V.RawMatrix().Data, s.Columns}
	if s.Best.V != nil {
		all = append(all, s.Best.D, s.Best.V.RawMatrix().Data)
	}
	return all
}

// singles returns pointers to the single float64s of a state.
func (s *State) singles() []*float64 {
	return []*float64{&s.Lambda, &s.F, &s.RMSE, &s.Held, &s.Mean, &s.Best.Lambda, &s.Best.Held}
}

// Save writes the state. of names the matrix and the options of the fit.
func (s *State) Save(w io.Writer, of string) error {
	n, k := s.V.Dims()
	head, err := json.Marshal(savedState{of, n, k, s.Columns != nil, s.Best.V != nil, s.Phase, s.Full, s.Rounds, s.At, s.Count, s.Spent})
	if err != nil {
		return err
	}
	sum := uint32(0)
	write := func(b []byte) error {
		sum = crc.Update(sum, b)
		_, err := w.Write(b)
		return err
	}
	if err := write(append([]byte(stateMagic), append(head, '\n')...)); err != nil {
		return err
	}
	var one []float64
	for _, x := range s.singles() {
		one = append(one, *x)
	}
	const part = 8 << 10
	b := make([]byte, 0, 8*part)
	for _, x := range s.floats(one) {
		for some := range slices.Chunk(x, part) {
			b, _ = binary.Append(b[:0], binary.LittleEndian, some) // never fails: float64s have a size
			if err := write(b); err != nil {
				return err
			}
		}
	}
	_, err = w.Write(binary.LittleEndian.AppendUint32(nil, sum))
	return err
}

// IsState tells whether a file begins as a saved state does.
func IsState(r io.ReaderAt) bool {
	head := make([]byte, len(stateMagic))
	_, err := r.ReadAt(head, 0)
	return err == nil && string(head) == stateMagic
}

// Load reads a state of size bytes that Save has written. of is the name given to Save.
func Load(r io.ReaderAt, size int64) (s *State, of string, err error) {
	damaged := func(format string, args ...any) (*State, string, error) {
		return nil, "", fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrState)
	}
	start := make([]byte, min(size, int64(len(stateMagic))+maxHeader))
	if _, err := r.ReadAt(start, 0); err != nil && err != io.EOF {
		return nil, "", err
	}
	text, ok := bytes.CutPrefix(start, []byte(stateMagic))
	end := bytes.IndexByte(text, '\n')
	var h savedState
	if !ok || end < 0 || json.Unmarshal(text[:end], &h) != nil {
		return damaged("byte 0: it does not begin as a state does")
	}
	if h.N < 1 || h.K < 1 || h.K > h.N || h.Phase > Done || h.At < 0 || h.Rounds < h.At || int64(h.N) > size/int64(h.K)/8 {
		return damaged("byte %d: %d × %d vectors in phase %d", len(stateMagic), h.N, h.K, h.Phase)
	}
	if h.Phase == Means && h.At > 0 && !h.Columns || h.Full && (h.Phase == Top || h.Phase == Path) || h.Phase < Final && h.At >= [...]int{meansRounds, topRounds, pathRounds}[h.Phase] {
		return damaged("byte %d: %d rounds in phase %v", len(stateMagic), h.At, h.Phase) // no fit has such a state; some would never end
	}
	s = &State{Phase: h.Phase, Full: h.Full, Rounds: h.Rounds, At: h.At, Count: h.Count, Spent: h.Spent}
	off := int64(len(stateMagic) + end + 1)
	n := int64(h.N) * int64(h.K)
	want := int64(len(s.singles())+h.K) + n
	if h.Columns {
		want += int64(h.N)
	}
	if h.Best {
		want += n + int64(h.K)
	}
	if size != off+8*want+4 {
		return damaged("byte %d: the file ends at byte %d, its numbers at %d", off, size, off+8*want)
	}
	s.D, s.V = make([]float64, h.K), mat.NewDense(h.N, h.K, nil)
	if h.Columns {
		s.Columns = make([]float64, h.N)
	}
	if h.Best {
		s.Best.D, s.Best.V = make([]float64, h.K), mat.NewDense(h.N, h.K, nil)
	}
	one := make([]float64, len(s.singles()))
	sum := crc.Of(start[:off])
	b := make([]byte, 64<<10)
	for _, x := range s.floats(one) {
		for some := range slices.Chunk(x, len(b)/8) {
			now := b[:8*len(some)]
			if _, err := r.ReadAt(now, off); err != nil {
				return nil, "", err
			}
			sum = crc.Update(sum, now)
			off += int64(len(now))
			_, _ = binary.Decode(now, binary.LittleEndian, some) // never fails: now has as many bytes as some
		}
	}
	if _, err := r.ReadAt(b[:4], off); err != nil {
		return nil, "", err
	}
	if binary.LittleEndian.Uint32(b) != sum {
		return damaged("byte %d: the checksum is %08x, that of the bytes before %08x", off, binary.LittleEndian.Uint32(b), sum)
	}
	for i, x := range s.singles() {
		*x = one[i]
	}
	return s, h.Of, nil
}
