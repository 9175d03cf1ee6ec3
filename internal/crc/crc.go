// Package crc is the checksum of everything gdsvd writes: CRC-32C (Castagnoli).
package crc

import (
	"hash"
	"hash/crc32"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Of returns the CRC-32C of b.
func Of(b []byte) uint32 { return crc32.Checksum(b, table) }

// Update returns the CRC-32C of the bytes that sum is of, followed by b. The CRC-32C of no bytes is 0.
func Update(sum uint32, b []byte) uint32 { return crc32.Update(sum, table, b) }

// New returns a hash.Hash32 that computes the CRC-32C of what is written to it.
func New() hash.Hash32 { return crc32.New(table) }
