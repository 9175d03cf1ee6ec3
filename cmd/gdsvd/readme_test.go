package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestLibraryProgramIsTheExample: the program in docs/library.md is part of the example of package factor,
// which is compiled and run. .ci/run executes the shell commands of the
// documentation.
func TestLibraryProgramIsTheExample(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/library.md"))(t)
	example := must.Get(os.ReadFile("../../factor/example_test.go"))(t)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/library.md has %d blocks of Go, want 1", len(blocks))
	}
	if program := string(blocks[0][1]); !strings.Contains(string(example), program) {
		t.Errorf("factor/example_test.go does not contain the program of docs/library.md:\n%s", program)
	}
}

// pages returns the Markdown files of the documentation, relative to the root of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "csr/*.md", "factor/*.md", "bench/*.md", "bench/*/*.md", "bench/*/*/*.md"} {
		found := must.Get(filepath.Glob(filepath.Join("../..", pattern)))(t)
		for _, name := range found {
			rel := must.Get(filepath.Rel("../..", name))(t)
			all = append(all, rel)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d pages found: %v", len(all), all)
	}
	return all
}

// TestDocumentationLinks: the targets of relative links in the documentation exist.
func TestDocumentationLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for _, page := range pages(t) {
		text := must.Get(os.ReadFile(filepath.Join("../..", page)))(t)
		for _, m := range link.FindAllSubmatch(text, -1) {
			target := string(m[1])
			if strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(page), target)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			}
		}
	}
}

// TestReadmeIsAnOverview: the README is short and links to each page of docs.
func TestReadmeIsAnOverview(t *testing.T) {
	readme := must.Get(os.ReadFile("../../README.md"))(t)
	if lines := strings.Count(string(readme), "\n"); lines > 130 {
		t.Errorf("README.md has %d lines, at most 130 are an overview: longer texts belong in docs/", lines)
	}
	for _, page := range pages(t) {
		if filepath.Dir(page) == "docs" && !strings.Contains(string(readme), "("+filepath.ToSlash(page)+")") {
			t.Errorf("README.md does not link to %s", page)
		}
	}
}
