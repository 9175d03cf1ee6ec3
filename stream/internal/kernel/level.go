package kernel

import "fmt"

// Level is a set of instructions the kernels can use.
type Level uint8

const (
	Portable Level = iota // plain Go
	AVX2                  // and FMA
	AVX512                // foundation, on top of AVX2
)

func (l Level) String() string {
	switch l {
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// best is what the processor and the build offer; level what is used.
var (
	best  = detect()
	level = best
)

// Current is the level in use: the best there is, unless Force says otherwise.
func Current() Level { return level }

// Force makes the kernels use l until restore is called. It is for tests: no
// kernel may be running meanwhile. It panics if the processor or the build lack l.
func Force(l Level) (restore func()) {
	if l > best {
		panic("kernel: level " + l.String() + " is not available")
	}
	before := level
	level = l
	return func() { level = before }
}
