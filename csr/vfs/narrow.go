//go:build 386 || arm || mips || mipsle

package vfs

// Stores, vectors and maps have more bytes than an int of 32 bits counts: nothing is
// built for platforms where it has no more.
const _ = gdsvd_needs_a_64_bit_platform
