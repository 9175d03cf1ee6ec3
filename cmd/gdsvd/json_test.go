package main

import (
	"cmp"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/align"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// jsonPage is a page of docs about the output of --json.
type jsonPage struct {
	file, title, intro string
	documents          []jsonDocument
}

// jsonDocument is a section of a page: a struct that commands print.
type jsonDocument struct {
	title string
	of    any
}

var jsonPages = []jsonPage{
	{"json.md", "JSON", jsonIntro, []jsonDocument{
		{"error", failure{}},
		{"demo", demoResult{}},
		{"generate ratings", generatedRatings{}},
		{"generate kron and generate spectrum", generatedStore{}},
		{"watch", watched{}},
		{"worker", remote.Answer{}},
		{"man", madePages{}},
		{"version", ui.Version{}},
	}},
	{"json-ingest.md", "JSON about files", "", []jsonDocument{
		{"sniff", sniffResult{}},
		{"sniff, of an ambiguous input", sniffReadings{}},
		{"ingest and append", ingestResult{}},
	}},
	{"json-stores.md", "JSON about stores", "", []jsonDocument{
		{"info STORE", storeInfo{}},
		{"view", look.Peeked{}},
		{"stats", look.Stats{}},
		{"check STORE", storeReport{}},
	}},
	{"json-results.md", "JSON about results", "`result.json` of a result has the fields of *svd* without `schema` ([RESULT.md](../factor/RESULT.md)).\n" +
		"`settings` has, beside the fields below, those of the method by the names of its flags. ", []jsonDocument{
		{"svd, eigs, complete, info OUT", factor.Result{}},
	}},
	{"json-plans.md", "JSON about plans", "", []jsonDocument{
		{"plan", planned{}},
		{"svd --explain", factor.Explanation{}},
	}},
	{"json-uses.md", "JSON about what results are used for", "", []jsonDocument{
		{"check OUT", resultReport{}},
		{"report", writtenPage{}},
		{"export", export.Report{}},
		{"project", foldin.Projection{}},
		{"align", align.Alignment{}},
		{"recommend -o", recommended{}},
		{"similar -o", similarFound{}},
		{"recommend, similar and query", allRankings{}},
		{"topics", allTopics{}},
		{"eval", evaluate.Report{}},
	}},
}

const jsonIntro = "With `--json` a command prints one JSON object on standard output, and nothing else; progress and messages stay on standard\n" +
	"error. The first field of the object is\n\n    \"schema\": \"gdsvd/1\"\n\n" +
	"The number changes when a field is removed or its meaning changes. It does not change when a field is added: a reader ignores fields\n" +
	"that it does not know. An optional field is absent when it has no value. Numbers that are not finite are `null`. Sizes are in bytes\n" +
	"and times in seconds unless the field says otherwise. Indices count from 0.\n\n" +
	"A command that fails prints the object of the section *error*, unless a part of a long list of rankings or ids is printed already: that\n" +
	"list has no end then, and the exit code is not 0. A run that stops before it has converged still prints its result;\n" +
	"the exit code tells that it has not converged. `gdsvd info STORE --ids` prints a list of ids, which is not an object and has no\n" +
	"`schema`. `gdsvd help` and `gdsvd completion` print text.\n\n" +
	"Each section is about what the commands in its title print. `x[]` is an element of the list `x`, `x.*` the value of any key of the object\n" +
	"`x`, and `x.y` the field `y` of the object `x`. An object that occurs in several places has a section of its own, named like its type in Go.\n" +
	"These pages are made of the declarations of those types.\n"

// document returns the type that a section describes.
func document(t *testing.T, title string) reflect.Type {
	t.Helper()
	for _, p := range jsonPages {
		for _, d := range p.documents {
			if d.title == title {
				return reflect.TypeOf(d.of)
			}
		}
	}
	t.Fatalf("no page has a section %s", title)
	return nil
}

// jsonField is a field of a struct by its name in JSON.
type jsonField struct {
	name, key string // key is package.Type.Field
	of        reflect.Type
}

// fieldsOf returns the fields of a struct, including those of embedded structs.
func fieldsOf(t reflect.Type) (all []jsonField) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "":
			all = append(all, fieldsOf(f.Type)...)
		default:
			all = append(all, jsonField{cmp.Or(name, f.Name), t.PkgPath() + "." + t.Name() + "." + f.Name, f.Type})
		}
	}
	return all
}

// inside returns the struct that values of type t consist of, nil if JSON shows none, and the suffix of the path to it: []
// for lists, .* for maps.
func inside(t reflect.Type) (of reflect.Type, path string) {
	marshaler, text := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	for {
		if t.Kind() != reflect.Pointer && t != reflect.TypeFor[factor.Settings]() &&
			(t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) || t.Implements(text)) {
			return nil, ""
		}
		switch t.Kind() {
		case reflect.Pointer:
		case reflect.Slice, reflect.Array:
			path += "[]"
		case reflect.Map:
			path += ".*"
		case reflect.Struct:
			return t, path
		default:
			return nil, ""
		}
		t = t.Elem()
	}
}

// sentences returns the comments of all struct fields in the sources, by package.Type.Field.
func sentences(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		in := path.Join("github.com/gdsvd/gdsvd", filepath.ToSlash(dir))
		if in == "github.com/gdsvd/gdsvd/cmd/gdsvd" {
			in = reflect.TypeFor[failure]().PkgPath()
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						all[in+"."+spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
					}
				}
			}
			return true
		})
		return nil
	})
	must.Do(t, err)
	return all
}

var updatePages = flag.Bool("update", false, "write the pages of docs that are made of the sources")

// TestJSONIsDocumented: the pages equal those generated from the declarations and comments of the printed types.
func TestJSONIsDocumented(t *testing.T) {
	said := sentences(t)
	uses := map[reflect.Type]int{}
	sections := map[reflect.Type]string{} // PAGE#ANCHOR
	var count func(t reflect.Type)
	count = func(t reflect.Type) {
		for _, f := range fieldsOf(t) {
			if of, _ := inside(f.of); of != nil {
				if uses[of]++; uses[of] == 1 {
					count(of)
				}
			}
		}
	}
	called := func(t reflect.Type) string { return strings.TrimPrefix(t.String(), "main.") }
	anchor := func(title string) string {
		return strings.NewReplacer(" ", "-", ",", "", ".", "").Replace(strings.ToLower(title))
	}
	for _, p := range jsonPages {
		for _, d := range p.documents {
			of, _ := inside(reflect.TypeOf(d.of))
			uses[of]++
			sections[of] = p.file + "#" + anchor(d.title)
			count(of)
		}
	}
	for _, p := range jsonPages {
		var page strings.Builder
		fmt.Fprintf(&page, "# %s\n\n%s", p.title, p.intro)
		if p.file == jsonPages[0].file {
			page.WriteString("\n")
			for _, other := range jsonPages[1:] {
				fmt.Fprintf(&page, "- [%s](%s)\n", other.title, other.file)
			}
		} else {
			page.WriteString("What is common to all is in [json.md](json.md).\n")
		}
		var later []reflect.Type
		var rows func(of reflect.Type, prefix string)
		rows = func(of reflect.Type, prefix string) {
			for _, f := range fieldsOf(of) {
				text := said[f.key]
				if text == "" {
					t.Errorf("the declaration of %s does not say what it is", f.key)
				}
				part, path := inside(f.of)
				if part != nil && uses[part] > 1 {
					if sections[part] == "" {
						sections[part] = p.file + "#" + anchor(called(part))
						later = append(later, part)
					}
					text += fmt.Sprintf(": [%s](%s)", called(part), strings.TrimPrefix(sections[part], p.file))
					part = nil
				}
				fmt.Fprintf(&page, "`%s` | %s\n", prefix+f.name, strings.ReplaceAll(text, "|", `\|`))
				if part != nil {
					rows(part, prefix+f.name+path+".")
				}
			}
		}
		section := func(title string, of reflect.Type) {
			fmt.Fprintf(&page, "\n## %s\n\nfield | meaning\n---|---\n", title)
			rows(of, "")
		}
		for _, d := range p.documents {
			section(d.title, reflect.TypeOf(d.of))
		}
		for ; len(later) > 0; later = later[1:] {
			section(called(later[0]), later[0])
		}
		name := filepath.Join("..", "..", "docs", p.file)
		if *updatePages {
			must.Do(t, os.WriteFile(name, []byte(page.String()), 0o666))
		}
		if has, err := os.ReadFile(name); err != nil || string(has) != page.String() {
			t.Errorf("docs/%s is not what the sources say: go test ./cmd/gdsvd -run TestJSONIsDocumented -update (%v)", p.file, err)
		}
	}
}

// TestJSONOfEachCommand: each command is in the title of a section.
func TestJSONOfEachCommand(t *testing.T) {
	for _, cmd := range allCommands() {
		name := strings.TrimPrefix(cmd.CommandPath(), "gdsvd ")
		found := false
		for _, p := range jsonPages {
			for _, d := range p.documents {
				for word := range strings.SplitSeq(strings.ReplaceAll(d.title, " and ", ", "), ", ") {
					found = found || word == name || strings.HasPrefix(word, name+" ")
				}
			}
		}
		if cmd.HasParent() && cmd.RunE != nil && !cmd.HasSubCommands() && !found {
			t.Errorf("%s is in no section about JSON", name)
		}
	}
}

// TestJSONDocuments: commands print one JSON object with the schema and only documented fields.
func TestJSONDocuments(t *testing.T) {
	store, file := ingested(t, tall), ratings(t, tall)
	out, _ := factorised(t, store, "-k", "3")
	work := t.TempDir()
	at := func(name string) string { return filepath.Join(work, name) }
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
		fields := fieldsOf(document(t, c.section))
		for name := range v {
			if !slices.ContainsFunc(fields, func(f jsonField) bool { return f.name == name }) {
				t.Errorf("%v: %q is not in %s", c.args, name, c.section)
			}
		}
	}
}
