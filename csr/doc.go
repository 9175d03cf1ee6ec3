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
// The stored matrix A has rows × cols entries; [Store.Transposed] tells
// whether the matrix the user ingested is A or Aᵀ.
package csr
