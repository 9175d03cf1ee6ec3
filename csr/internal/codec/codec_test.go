package codec

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/must"
)

// everyWay runs a test in plain Go and with each available set of vector instructions.
func everyWay(t *testing.T, test func(t *testing.T, level cpu.Level)) {
	for _, level := range cpu.Levels() {
		t.Run(level.String(), func(t *testing.T) { test(t, level) })
	}
}

// TestCodeOver checks every code with every table length, at places within and after the words of the loop.
func TestCodeOver(t *testing.T) {
	for n := 1; n <= 256; n++ {
		codes := make([]byte, 21)
		for i := range codes {
			codes[i] = byte((n - 1) * i / 20)
		}
		if at := codeOver(codes, n); at >= 0 {
			t.Fatalf("table of %d: code %d is not beyond it", n, codes[at])
		}
		for c := n; c < 256; c++ {
			at := (n + c) % 21
			bad := slices.Clone(codes)
			bad[at], bad[20] = byte(c), 255
			if got := codeOver(bad, n); got != at {
				t.Fatalf("table of %d: code %d found at %d, is at %d", n, c, got, at)
			}
		}
	}
}

// TestFaultInVectors checks that an unreadable page is an error in assembly, too.
func TestFaultInVectors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	const size = 1 << 20
	name := filepath.Join(t.TempDir(), "x")
	must.Do(t, os.WriteFile(name, make([]byte, size), 0o666))
	m := must.Get(vfs.OS().Map(name))(t)
	defer m.Close()
	data := must.Get(m.Bytes(0, size, true))(t)
	must.Do(t, os.Truncate(name, 0))
	everyWay(t, func(t *testing.T, level cpu.Level) {
		for name, read := range map[string]func() error{
			"floats": func() error { return decodeFloat64(level, make([]float64, size/8), data) },
			"summed": func() error { return Floats64(make([]float64, size/8), &Summed{Level: level, Data: data}) },
			"gaps":   func() error { _, err := unpackGroups(level, make([]uint32, groupLen), data, size); return err },
			"crc":    func() error { CRC(level, 0, data); return nil },
		} {
			if _, ok := fault.Guard(read).(*fault.Error); !ok {
				t.Errorf("%s: no fault", name)
			}
		}
	})
}
