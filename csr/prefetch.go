package csr

// Prefetch begins to bring blocks from … to−1, of one shard, into memory, where
// DecodeBlock will wait for them instead of the disk. They take 2 MiB
// if they are not larger than that less two pages. Each call must be followed by one of
// Release for the same blocks. Safe for concurrent use. What cannot be read is left
// for DecodeBlock to report.
func (s *Store) Prefetch(from, to int) {
	if !s.closed.Load() {
		begin, end := extent(&s.blocks[from], &s.blocks[to-1])
		s.ahead.Prefetch(s.shards[s.shardOf[from]].pages, from, to, begin, end)
	}
}

// Release says that blocks from … to−1, of one Prefetch or without one, are not
// needed again soon. Their buffer is free for others. If they are mapped the
// kernel is told, of those shortly before them too: at once or, of a shard that is read in
// order, with one of the next calls (1 MiB is left mapped at most). A block that is
// needed again comes from the page cache or the disk.
func (s *Store) Release(from, to int) {
	if !s.closed.Load() {
		begin, end := extent(&s.blocks[from], &s.blocks[to-1])
		s.ahead.Release(s.shards[s.shardOf[from]].pages, from, to, begin, end)
	}
}
