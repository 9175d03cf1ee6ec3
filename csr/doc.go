// Package csr is the store: one sparse matrix on disk as compressed,
// checksummed, memory-mapped shards of rows (compressed sparse row, CSR).
//
// FORMAT.md beside this file is the contract for every byte. The package reads
// and writes; it does no arithmetic (package stream does).
//
// A [Writer] takes rows in order and publishes the whole store atomically on
// [Writer.Commit]. A [Store] is opened read-only, is safe for concurrent use,
// and hands out one [Block] of decoded rows at a time. Nothing read is
// trusted: a damaged store gives a [*CorruptError], never a panic, a fault or
// a wrong number.
//
// # Reading ahead
//
// Shards are mapped, and what the page cache has of them is decoded where it lies.
// A pass over a store says with [Store.Prefetch] what it will decode next. What is
// missing is read through the page cache as long as that keeps what it gets; in
// passes over more than it can hold each page would make way for another before it is
// needed again, and the kernel's work of allocating, mapping and reclaiming it is
// several times that of reading. So once blocks that were read before are found missing, what is
// missing is read past the cache (Linux, O_DIRECT), asynchronously and into buffers of huge
// pages, and what the cache has is left there. Every eighth pass tries the cache again.
// Where the system refuses, or does not tell what is cached (of files that
// belong to others and cannot be written), everything goes through the map, and a
// read that fails is repeated there: errors are the same.
//
// The stored matrix A has rows × cols entries; [Store.Transposed] tells
// whether the matrix the user ingested is A or Aᵀ.
package csr
