package vfs

// DirectAlign is what offsets and sizes of direct reads are multiples of: no disk
// in use has larger sectors.
const DirectAlign = 4096

// BufferSize is the size of a Buffer: that of a huge page of most processors.
// The disk then writes to one place in memory where it would write to 512, which
// can double the speed of a fast one.
const BufferSize = 2 << 20
