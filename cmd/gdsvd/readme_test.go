package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program that the README prints is compiled and run as an example of
// package stream; the two must not drift apart. (The shell commands it prints
// are executed by .ci/run.)
func TestReadmeProgramIsTheExample(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../stream/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of Go, want 1", len(blocks))
	}
	if program := string(blocks[0][1]); !strings.Contains(string(example), program) {
		t.Errorf("stream/example_test.go does not contain this program of README.md:\n%s", program)
	}
}

// What README.md and the documents it links to point at is there.
func TestReadmeLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	for _, doc := range []string{"README.md", "bench/paper/report/report.md", "bench/peers/README.md"} {
		text, err := os.ReadFile(filepath.Join("../..", doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(doc), target)); err != nil {
				t.Errorf("%s links to %s: %v", doc, target, err)
			}
		}
	}
}
