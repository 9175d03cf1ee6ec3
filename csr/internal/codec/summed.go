package codec

import (
	"github.com/gdsvd/gdsvd/csr/internal/codec/simd"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/crc"
)

func CRC(l cpu.Level, sum uint32, b []byte) uint32 {
	n, sum := simd.CRC(l, sum, b)
	return crc.Update(sum, b[n:])
}

// Summed is a block whose crc is computed piece by piece behind decoding, while
// the bytes are in the processor's caches: they come from memory once, and in
// order, which hash/crc32 would not do (it sums three places at a time, and from memory
// takes three times as long).
type Summed struct {
	Level cpu.Level // what it is decoded with
	Data  []byte
	CRC   uint32 // of Data[:Done]
	Done  int
}

func (s *Summed) UpTo(end int) {
	s.CRC = CRC(s.Level, s.CRC, s.Data[s.Done:end])
	s.Done = end
}
