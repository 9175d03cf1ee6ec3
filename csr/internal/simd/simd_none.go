//go:build !amd64 || noasm

package simd

// Groups reads nothing: there are no vectors here.
func Groups([]uint32, []byte) (int, int) { return 0, 0 }

// Add must not be called.
func Add[C uint16 | uint32](*RowSum, []C, []uint32, int, []uint32) {
	panic("simd: Add: no vectors here")
}

// Nibbles spreads nothing.
func Nibbles([]byte, []byte) (int, byte) { return 0, 0 }

// Bytes copies nothing.
func Bytes([]byte, []byte) (int, byte) { return 0, 0 }

// Float32 converts nothing.
func Float32([]float64, []byte) (int, bool) { return 0, true }

// Float64 converts nothing.
func Float64([]float64, []byte) (int, bool) { return 0, true }

// CRC continues nothing.
func CRC(crc uint32, _ []byte) (int, uint32) { return 0, crc }

// Float64CRC copies nothing.
func Float64CRC(_ []float64, _ []byte, crc uint32) (int, bool, uint32) { return 0, true, crc }
