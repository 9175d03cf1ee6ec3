//go:build 386 || arm || mips || mipsle

package vfs

// Stores, vectors and maps have more bytes than an int of 32 bits can count: the build fails on such platforms.
const _ = gdsvd_needs_a_64_bit_platform
