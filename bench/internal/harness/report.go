package harness

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/internal/memory"
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
	s := &size{n: p}
	if value != "" {
		if err := s.Set(value); err != nil {
			panic("harness: " + err.Error())
		}
	}
	f.Var(s, name, usage)
}

// size is the value of such a flag.
type size struct {
	n    *int64
	text string // as it was given
}

func (s *size) Set(text string) error {
	n, err := memory.ParseSize(text)
	if err == nil {
		*s.n, s.text = n, text
	}
	return err
}

func (s *size) String() string { return s.text }
