//go:build !amd64 || noasm

package simd

import "github.com/gdsvd/gdsvd/internal/cpu"

func Groups(cpu.Level, []uint32, []byte) (int, int) { return 0, 0 }

// Add must not be called.
func Add[C uint16 | uint32](*RowSum, []C, []uint32, int, []uint32) {
	panic("simd: Add: no vectors here")
}

func Nibbles(cpu.Level, []byte, []byte) (int, byte) { return 0, 0 }

func Bytes(cpu.Level, []byte, []byte) (int, byte) { return 0, 0 }

func Float32(cpu.Level, []float64, []byte) (int, bool) { return 0, true }

func Float64(cpu.Level, []float64, []byte) (int, bool) { return 0, true }

func CRC(_ cpu.Level, crc uint32, _ []byte) (int, uint32) { return 0, crc }

func Float64CRC(_ cpu.Level, _ []float64, _ []byte, crc uint32) (int, bool, uint32) {
	return 0, true, crc
}
