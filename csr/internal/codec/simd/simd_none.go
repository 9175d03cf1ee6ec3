//go:build !amd64 || noasm

package simd

import "github.com/gdsvd/gdsvd/internal/cpu"

// Groups reads nothing: there are no vectors here.
func Groups(cpu.Level, []uint32, []byte) (int, int) { return 0, 0 }

// Add must not be called.
func Add[C uint16 | uint32](*RowSum, []C, []uint32, int, []uint32) {
	panic("simd: Add: no vectors here")
}

// Nibbles spreads nothing.
func Nibbles(cpu.Level, []byte, []byte) (int, byte) { return 0, 0 }

// Bytes copies nothing.
func Bytes(cpu.Level, []byte, []byte) (int, byte) { return 0, 0 }

// Float32 converts nothing.
func Float32(cpu.Level, []float64, []byte) (int, bool) { return 0, true }

// Float64 converts nothing.
func Float64(cpu.Level, []float64, []byte) (int, bool) { return 0, true }

// CRC continues nothing.
func CRC(_ cpu.Level, crc uint32, _ []byte) (int, uint32) { return 0, crc }

// Float64CRC copies nothing.
func Float64CRC(_ cpu.Level, _ []float64, _ []byte, crc uint32) (int, bool, uint32) {
	return 0, true, crc
}
