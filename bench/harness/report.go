package harness

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Write writes a report as NAME.json, and as NAME.md for people.
func Write(name string, report any, markdown string) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(name+".json", append(data, '\n'), 0o666),
		os.WriteFile(name+".md", []byte(markdown), 0o666))
}

// Median of at least one number.
func Median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// SizeVar defines a flag for a size like 20GB or 512MiB.
func SizeVar(f *flag.FlagSet, p *int64, name, value, usage string) {
	s := (*size)(p)
	if value != "" {
		if err := s.Set(value); err != nil {
			panic("trial: " + err.Error())
		}
	}
	f.Var(s, name, usage)
}

// size is a number of bytes.
type size int64

// Set implements flag.Value.
func (s *size) Set(text string) error {
	n, err := ParseSize(text)
	*s = size(n)
	return err
}

// ParseSize reads a size like 20GB or 512MiB.
func ParseSize(text string) (int64, error) {
	for _, u := range units {
		if number, found := strings.CutSuffix(text, u.name); found {
			if n, err := strconv.ParseFloat(number, 64); err == nil && n > 0 && n < 1e6 {
				return int64(n * u.bytes), nil
			}
		}
	}
	return 0, fmt.Errorf("size %q is not like 20GB or 512MiB", text)
}

// units: the first one that divides a size is the one to write it with.
var units = []struct {
	name  string
	bytes float64
}{{"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}}

// String implements flag.Value.
func (s *size) String() string {
	for _, u := range units {
		if n := int64(u.bytes); *s > 0 && int64(*s)%n == 0 {
			return fmt.Sprint(int64(*s)/n, u.name)
		}
	}
	return fmt.Sprint(int64(*s))
}
