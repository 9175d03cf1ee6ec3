package csr

import "hash/crc32"

// summed is a block whose crc is computed piece by piece along with decoding:
// what is larger than the processor's caches then comes from memory once.
type summed struct {
	data []byte
	crc  uint32 // of data[:done]
	done int
}

// upTo continues the crc up to end.
func (s *summed) upTo(end int) {
	s.crc = crc32.Update(s.crc, castagnoli, s.data[s.done:end])
	s.done = end
}
