// Package csr is the store: one sparse matrix on disk as compressed, checksummed, memory-mapped shards of rows (compressed
// sparse row, CSR).
//
// FORMAT.md beside this file is the contract for every byte. The package reads and writes stores and sums the squares of
// their values; package stream computes products.
//
// A [Writer] takes rows in order and publishes the whole store atomically on [Writer.Commit]. A [Store] is opened read-only, is
// safe for concurrent use, and hands out one [Block] of decoded rows at a time. Nothing read is trusted: a damaged store gives
// [ErrCorrupt], never a panic, a fault or a wrong number.
//
// # Reading ahead
//
// Shards are mapped, and blocks in the page cache are decoded where they lie. [Store.Prefetch] announces the blocks
// that are decoded next. Blocks that are not in the page cache are read through it as long as it keeps them. A pass
// over more than the cache holds would evict each page before it is needed again, and allocating, mapping and
// reclaiming a page costs the kernel several times what reading it does. So once blocks that were read before are
// missing, missing blocks are read past the cache (Linux, O_DIRECT) into buffers of huge pages, and cached pages stay.
// Every eighth pass tries the cache again. Blocks are read through the map where the system refuses direct reads or
// does not report which pages are cached (files of other users that cannot be written), and after a direct read has
// failed: errors are the same.
//
// The stored matrix A has rows × cols entries; [Store.Transposed] reports whether the user's matrix is A or Aᵀ.
package csr
