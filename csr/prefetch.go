package csr

// Prefetch begins to bring blocks from … to−1, which are of one shard, into memory; DecodeBlock then waits for them
// instead of the disk. They take 2 MiB if they are not larger than 2 MiB less two pages. Each call must be followed by
// a call of Release for the same blocks. Prefetch is safe for concurrent use. DecodeBlock reports what could not be
// read.
func (s *Store) Prefetch(from, to int) {
	if !s.closed.Load() {
		begin, end := extent(&s.blocks[from], &s.blocks[to-1])
		s.ahead.Prefetch(s.shards[s.shardOf[from]].pages, from, to, begin, end)
	}
}

// Release says that blocks from … to−1 are not needed again soon, whether or not a Prefetch announced them. Their
// buffer may be used for other blocks. If the blocks are mapped, the kernel is told so for them and for blocks shortly
// before them: at once or, in a shard that is read in order, with one of the next calls (at most 1 MiB stays mapped). A
// block that is needed again comes from the page cache or the disk.
func (s *Store) Release(from, to int) {
	if !s.closed.Load() {
		begin, end := extent(&s.blocks[from], &s.blocks[to-1])
		s.ahead.Release(s.shards[s.shardOf[from]].pages, from, to, begin, end)
	}
}
