package main

import (
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/align"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// documents are what the sections of docs/json.md are about: the structs that commands print.
var documents = map[string]any{
	"error":                               failure{},
	"sniff":                               sniffResult{},
	"sniff, of an ambiguous input":        sniffReadings{},
	"plan":                                planned{},
	"ingest and append":                   ingestResult{},
	"svd, eigs, complete, info OUT":       factor.Result{},
	"svd --explain":                       factor.Explanation{},
	"info STORE":                          storeInfo{},
	"view":                                look.Peeked{},
	"stats":                               look.Stats{},
	"check STORE":                         storeReport{},
	"check OUT":                           resultReport{},
	"report":                              writtenPage{},
	"export":                              export.Report{},
	"project":                             foldin.Projection{},
	"align":                               align.Alignment{},
	"recommend -o":                        recommended{},
	"similar -o":                          similarFound{},
	"recommend, similar and query":        allRankings{},
	"topics":                              allTopics{},
	"eval":                                evaluate.Report{},
	"demo":                                demoResult{},
	"generate ratings":                    generatedRatings{},
	"generate kron and generate spectrum": generatedStore{},
	"watch":                               watched{},
	"man":                                 madePages{},
	"worker":                              remote.Answer{},
	"version":                             ui.Version{},
}

// fieldsOf adds the names of the fields of a type as JSON has them, those inside with dots, [] for lists and * for the keys of maps.
func fieldsOf(t reflect.Type, prefix string, depth int, add func(string)) {
	marshaler, text := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	if t.Kind() != reflect.Pointer && prefix != "" && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) || t.Implements(text)) {
		return
	}
	if depth > 12 {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		fieldsOf(t.Elem(), prefix, depth+1, add)
	case reflect.Slice, reflect.Array:
		fieldsOf(t.Elem(), prefix+"[]", depth+1, add)
	case reflect.Map:
		fieldsOf(t.Elem(), prefix+".*", depth+1, add)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "-" || !f.IsExported() && !f.Anonymous:
				continue
			case f.Anonymous && name == "":
				fieldsOf(f.Type, prefix, depth+1, add)
				continue
			case name == "":
				name = f.Name
			}
			path := strings.TrimPrefix(prefix+"."+name, ".")
			add(path)
			fieldsOf(f.Type, path, depth+1, add)
		}
	}
}

// documented are the fields that the sections of docs/json.md have.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, section := map[string][]string{}, ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		if strings.TrimSpace(cells[2]) == "" {
			t.Errorf("%s: %s has no meaning", section, cells[1])
		}
		all[section] = append(all[section], strings.Trim(cells[1], " `"))
	}
	return all
}

// TestJSONIsDocumented: docs/json.md has each field of each document that a command prints, and no other.
func TestJSONIsDocumented(t *testing.T) {
	said := documented(t)
	for section, v := range documents {
		var has []string
		fieldsOf(reflect.TypeOf(v), "", 0, func(name string) { has = append(has, name) })
		if len(has) == 0 {
			t.Errorf("%s has no fields", section)
		}
		for _, name := range has {
			if !slices.Contains(said[section], name) {
				t.Errorf("%s: %s is not documented", section, name)
			}
		}
		for _, name := range said[section] {
			if !slices.Contains(has, name) {
				t.Errorf("%s: there is no %s", section, name)
			}
		}
	}
	for section := range said {
		if documents[section] == nil {
			t.Errorf("%s: it is not known what prints it", section)
		}
	}
}

// Each command is in a section.
func TestJSONOfEachCommand(t *testing.T) {
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "gdsvd ")
		found := false
		for section := range documents {
			for word := range strings.SplitSeq(strings.ReplaceAll(section, " and ", ", "), ", ") {
				found = found || word == name || strings.HasPrefix(word, name+" ")
			}
		}
		if cmd.HasParent() && cmd.RunE != nil && !cmd.HasSubCommands() && !found {
			t.Errorf("%s is in no section of docs/json.md", name)
		}
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(newApp(nil, nil, nil).rootCommand())
}

// TestJSONDocuments: commands print one document, of the schema, with no field but those documented.
func TestJSONDocuments(t *testing.T) {
	store, file := ingested(t, tall), ratings(t, tall)
	out, _ := factorised(t, store, "-k", "3")
	work := t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
	said := documented(t)
	for _, c := range []struct {
		section string
		args    []string
	}{
		{"sniff", []string{"sniff", file}},
		{"plan", []string{"plan", file, "-k", "3", "--memory", "1GiB"}},
		{"plan", []string{"plan", store, "-k", "3", "--memory", "1GiB", "--view", "log1p"}},
		{"ingest and append", []string{"ingest", file, "-o", at("m.csr")}},
		{"svd, eigs, complete, info OUT", []string{"svd", store, "-k", "2", "-o", at("m.svd")}},
		{"svd, eigs, complete, info OUT", []string{"info", out}},
		{"svd --explain", []string{"svd", store, "-k", "2", "--explain"}},
		{"info STORE", []string{"info", store}},
		{"view", []string{"view", store}},
		{"stats", []string{"stats", store}},
		{"check STORE", []string{"check", store}},
		{"check OUT", []string{"check", out}},
		{"report", []string{"report", out, "-o", at("r.html")}},
		{"export", []string{"export", out, "--what", "U", "-o", at("u.csv")}},
		{"recommend -o", []string{"recommend", out, "--store", store, "-o", at("recs.csv")}},
		{"topics", []string{"topics", out}},
		{"generate ratings", []string{"generate", "ratings", "--users", "30", "--items", "40", "--ratings", "900", "-o", at("g.dat")}},
		{"generate kron and generate spectrum", []string{"generate", "spectrum", "--rows", "30", "--cols", "20", "--rank", "3", "-o", at("s.csr")}},
		{"man", []string{"man", at("pages")}},
		{"version", []string{"version"}},
		{"error", []string{"info", "nowhere"}},
	} {
		o := gdsvd(t, append(c.args, "--json", "-q")...)
		var v map[string]any
		if err := json.Unmarshal([]byte(o.stdout), &v); err != nil {
			t.Errorf("%v: %v in\n%s", c.args, err, o.stdout)
		}
		if v["schema"] != ui.Schema || strings.ContainsAny(o.stdout, "\x1b\r") {
			t.Errorf("%v: schema %v", c.args, v["schema"])
		}
		delete(v, "schema")
		for name := range v {
			if !slices.Contains(said[c.section], name) {
				t.Errorf("%v: %q is not in %s", c.args, name, c.section)
			}
		}
	}
}
