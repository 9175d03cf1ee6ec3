//go:build !amd64 || noasm

package simd

const available = false

// Unpack reads nothing: there are no vectors here.
func Unpack([]uint32, []byte, uint) int { return 0 }

// Add must not be called.
func (s *RowSum) Add([]uint32, []uint32, int, []uint32) { panic("simd: RowSum.Add: no vectors here") }

// Dict4 looks up nothing.
func Dict4([]float64, []byte, *[16]float64) int { return 0 }

// Float32 converts nothing.
func Float32([]float64, []byte) (int, bool) { return 0, true }

// Float64 converts nothing.
func Float64([]float64, []byte) (int, bool) { return 0, true }
