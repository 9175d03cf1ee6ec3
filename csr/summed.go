package csr

// summed is a block whose crc is computed piece by piece behind decoding, while
// the bytes are in the processor's caches: they come from memory once, and in
// order, which hash/crc32 would not do (it sums three places at a time, and from memory
// takes three times as long).
type summed struct {
	data []byte
	crc  uint32 // of data[:done]
	done int
}

// upTo continues the crc up to end.
func (s *summed) upTo(end int) {
	s.crc = addCRC(s.crc, s.data[s.done:end])
	s.done = end
}
