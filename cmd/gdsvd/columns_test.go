package main

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestColumns: no command prints control characters to a pipe, and on a terminal lines fit its width, except
// lines with long words such as paths.
func TestColumns(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	store, file := ingested(t, tall), ratings(t, tall)
	out, _ := factorised(t, store, "-k", "3")
	work := t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
	commands := [][]string{
		{}, {"version"}, {"sniff", file}, {"plan", file, "-k", "3", "--memory", "1GiB"}, {"plan", store, "-k", "3"}, {"ingest", file, "-o", at("m.csr"), "--force"},
		{"svd", store, "-k", "40", "-o", at("m.svd"), "--force"}, {"svd", store, "-k", "3", "--explain"}, {"svd", store, "-k", "3", "--explain", "--view", "log1p | center=columns"},
		{"info", store}, {"info", out}, {"view", store}, {"stats", store}, {"check", store}, {"check", out}, {"check", out, "--store", store},
		{"report", out, "-o", at("r.html"), "--force"}, {"export", out, "--what", "U", "-o", at("u.csv"), "--force"}, {"topics", out},
		{"recommend", out, "--store", store, "--rows", "1"}, {"similar", out, "--row", "1"},
		{"info", "nowhere"}, {"svd", store}, {"svd", store, "-k", "0", "-o", "x"}, {"frobnicate"},
	}
	for _, cmd := range allCommands() {
		commands = append(commands, append(strings.Fields(cmd.CommandPath())[1:], "-h"))
	}
	for _, args := range commands {
		for _, width := range []int{0, 80, 40} {
			o := gdsvdAs(t, t.Context(), func(a *app) { a.stdout.Width = width }, args...)
			if text := o.stdout + o.stderr; strings.ContainsAny(text, "\x1b\r\b") || text == "" {
				t.Errorf("%v: control characters in, or nothing of\n%q", args, text)
			}
			most := width
			if width == 0 {
				if most = 80; len(args) > 0 && args[len(args)-1] != "-h" {
					continue // to a pipe, lines are not folded
				}
			}
			for line := range strings.Lines(o.stdout) {
				line = strings.TrimRight(line, "\n")
				longest := 0 // longest word of the line: words are not broken
				for _, word := range strings.Fields(line) {
					longest = max(longest, utf8.RuneCountInString(word))
				}
				if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > most && longest < most/2 {
					t.Errorf("%v at %d: %d columns\n%s", args, width, n, line)
				}
			}
		}
	}
}
