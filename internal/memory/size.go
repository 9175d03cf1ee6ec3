// Package memory reads how much memory the process may use and has used, parses and formats sizes, and reuses slices.
package memory

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Resized returns a slice of length n with undefined contents: s[:n] if the capacity of s is enough.
func Resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// units is ordered from the longest suffix to the shortest, so that "KiB" is not read as "B".
var units = []struct {
	suffix string
	factor float64
}{
	{"tib", 1 << 40}, {"gib", 1 << 30}, {"mib", 1 << 20}, {"kib", 1 << 10},
	{"ti", 1 << 40}, {"gi", 1 << 30}, {"mi", 1 << 20}, {"ki", 1 << 10},
	{"tb", 1e12}, {"gb", 1e9}, {"mb", 1e6}, {"kb", 1e3},
	{"t", 1 << 40}, {"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10},
	{"b", 1}, {"", 1},
}

// ParseSize reads a size such as 67108864, 64MiB, 64M, 1.5GB or 800 kB. As in
// the GNU tools KiB, MiB, GiB, TiB and, short for them, Ki … Ti and K … T are
// powers of 1024, and KB, MB, GB, TB powers of 1000; letter case does not matter.
func ParseSize(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range units {
		number, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		number = strings.TrimSpace(number)
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || strings.ContainsAny(number, "xpin") { // no hexadecimal, Inf, NaN
			break
		}
		bytes := math.Round(x * u.factor)
		if bytes < 1 || bytes >= 1<<63 {
			return 0, fmt.Errorf("size %q is out of range", s)
		}
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("size %q is not understood (write 800MB, 512MiB, 1.5GiB or a number of bytes)", s)
}

// FormatSize writes n in the largest binary unit that keeps it at least 1, with three significant digits.
func FormatSize(n int64) string {
	const names = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/(1<<10), 0
	for x >= 1000 && i < len(names)-1 {
		x /= 1 << 10
		i++
	}
	digits := 2
	if x >= 9.995 {
		digits = 1
	}
	if x >= 99.95 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %ciB", digits, x, names[i])
}
