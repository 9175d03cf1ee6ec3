//go:build !noasm

package cpu

import "golang.org/x/sys/cpu"

func best() Level {
	switch x := &cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI1 || !x.HasBMI2 || !x.HasSSE42:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512DQ:
		return AVX2
	case !x.HasAVX512VPCLMULQDQ:
		return AVX512
	}
	return AVX512Fold
}
