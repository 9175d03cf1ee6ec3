// Package cpu reports which vector instructions a program may use.
//
// GODEBUG=cpu.avx2=off or cpu.avx512f=off (golang.org/x/sys/cpu) turns these instructions off for the whole program; the
// build tag noasm leaves assembly out.
package cpu

import "fmt"

// Level is a set of instructions; each level includes the levels before it.
type Level uint8

const (
	Portable   Level = iota // plain Go
	AVX2                    // x86-64-v3: AVX2, FMA, BMI1, BMI2
	AVX512                  // AVX-512 F and DQ
	AVX512Fold              // AVX512 and VPCLMULQDQ, carry-less multiplication of 64 bytes at a time
)

func (l Level) String() string {
	switch l {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	case AVX512Fold:
		return "avx512+vpclmulqdq"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// Best returns the highest level that the processor and the build support.
func Best() Level { return best() }

// Levels returns the levels from Portable to Best, in order.
func Levels() []Level { return []Level{Portable, AVX2, AVX512, AVX512Fold}[:Best()+1] }
