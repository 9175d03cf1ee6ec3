package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/factor"
)

// markup is text that goes to the page as it is. Everything else goes through escaped.
type markup string

// escaped returns a text as it stands in an element or in an attribute between quotes. Bytes that are
// not UTF-8, and control characters, which XML does not have, become U+FFFD.
func escaped(s string) markup {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' && r != '\n' || r == utf8.RuneError || r&0xfffe == 0xfffe {
			return utf8.RuneError
		}
		return r
	}, s)
	return markup(html.EscapeString(clean))
}

type page struct {
	strings.Builder
	sections []string
}

// contents is the placeholder for the line of contents, which is known at the end.
const contents = "<!--contents-->"

func (p *page) whole() string {
	line := markup("<nav id=\"contents\" aria-label=\"contents\">")
	for i, title := range p.sections {
		line += markedUp("<a href=\"#section-%d\">%s</a> ", i+1, title)
	}
	return strings.Replace(p.String(), contents, string(line)+"</nav>", 1)
}

// f writes a format. Its arguments are escaped, unless they are numbers or markup.
func (p *page) f(format string, args ...any) { p.WriteString(string(markedUp(format, args...))) }

func markedUp(format string, args ...any) markup {
	safe := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case markup, int, int64, float64:
			safe[i] = a
		default:
			safe[i] = escaped(fmt.Sprint(a))
		}
	}
	return markup(fmt.Sprintf(format, safe...))
}

// either returns the first value if so is true, else the second.
func either[T any](so bool, one, other T) T {
	if so {
		return one
	}
	return other
}

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Largest number of characters of a name, of its bytes on the page, and of characters of any other foreign text.
const (
	nameLength = 60
	nameBytes  = 160
	textLength = 2000
)

// short returns a name as it is shown: cut, and shorter still if it takes many bytes.
func short(s string) markup {
	for n := nameLength; ; n -= 4 {
		if x := escaped(cut(s, n)); len(x) <= nameBytes || n <= 8 {
			return x
		}
	}
}

// nameOf returns a name in an element of its own, so that its direction of writing ends with it.
func nameOf(n factor.Name) markup {
	id := markedUp("<bdi>%s</bdi>", short(fmt.Sprint(n.ID)))
	if n.Title == "" {
		return id
	}
	return markedUp("<bdi>%s</bdi> <span class=\"dim\">%s</span>", short(n.Title), id)
}

// exact returns a number of some digits, with all of its digits in an attribute.
func exact(x factor.Number, format string) markup {
	if !finite(x) {
		return "–"
	}
	return markup(fmt.Sprintf(`<data value="%s">`+format+`</data>`, strconv.FormatFloat(float64(x), 'g', -1, 64), float64(x)))
}

// count writes a whole number with thin spaces between groups of three digits.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

type fact struct {
	name  string
	value markup
}

type facts []fact

// add adds a fact if has is true.
func (f *facts) add(has bool, name string, value markup) {
	if has {
		*f = append(*f, fact{name, value})
	}
}

func (p *page) facts(all facts) {
	p.WriteString("<dl>\n")
	for _, f := range all {
		p.f("<div><dt>%s</dt><dd>%s</dd></div>\n", f.name, f.value)
	}
	p.WriteString("</dl>\n")
}

// section begins a section. note is a paragraph under the title, "" for none.
func (p *page) section(title, note string) {
	p.sections = append(p.sections, title)
	p.f("<section id=\"section-%d\">\n<h2>%s</h2>\n", len(p.sections), title)
	if note != "" {
		p.f("<p>%s</p>\n", note)
	}
}

func (p *page) end() { p.WriteString("</section>\n") }

// open begins a page that needs no other file.
func (p *page) open(title, name string) {
	sum := sha256.Sum256([]byte(inline()))
	// The page may use its own style and run its own script, nothing else.
	policy := markedUp("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
	p.head(title, name, markedUp("<meta http-equiv=\"Content-Security-Policy\" content=\"%s\"/>\n", policy))
}

func (p *page) head(title, name string, more markup) {
	p.f(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
%s<title>%s %s</title>
<style>
%s</style>
</head>
<body>
<header><p class="kind">gdsvd · %s</p><h1><bdi>%s</bdi></h1></header>
<main>
`, more, title, cut(name, nameLength), markup(style), title, cut(name, 4*nameLength))
}

func (p *page) close() { p.f("</main>\n<script>%s</script>\n</body>\n</html>\n", markup(inline())) }

// closeLive ends a page of liveHead, which has a script of its own.
func (p *page) closeLive() { p.WriteString("</main>\n</body>\n</html>\n") }

// style is the style sheet of the page. The rules for print come last, as they override the others.
//
//go:embed style.css
var style string

// Sorts is the script that turns the headings of tables into buttons that sort by their column. It declares sortTables, which is
// called for the existing tables, and again when their lines are replaced. It has none of the characters that HTML and XML read
// differently in a script.
//
//go:embed sorts.js
var Sorts string

// inline returns the script of a page that needs no other file.
func inline() string { return Sorts + "sortTables();\n" }

// table begins a table whose headings sort it. label names it, caption stands above it unless it is "".
func (p *page) table(id, label string, long bool, caption markup, heads ...markup) {
	class := either(long, "scroll long", "scroll")
	p.f("<div class=\"%s\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table id=\"%s\" class=\"sorts\" aria-label=\"%s\">", class, label, id, label)
	if caption != "" {
		p.f("<caption>%s</caption>", caption)
	}
	p.WriteString("<thead><tr>")
	for _, h := range heads {
		side := markup("")
		switch h {
		case "run", "command", "status", "state", "cluster":
			side = ` class="text"`
		}
		p.f(`<th scope="col"%s>%s</th>`, side, h)
	}
	p.WriteString("</tr></thead><tbody>\n")
}

func (p *page) endTable() { p.WriteString("</tbody></table></div>\n") }
