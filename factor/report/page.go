package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/factor"
)

// markup is text that goes to the page as it is. Everything else goes through escaped.
type markup string

// escaped is text as it stands in an element or an attribute between quotes. Bytes that are no
// UTF-8 and control characters, which XML does not have, become U+FFFD.
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

// contents is where the line of contents goes, which is known at the end.
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

func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Characters of a name, its bytes on the page, and characters of anything else that others have written.
const (
	nameLength = 60
	nameBytes  = 160
	textLength = 2000
)

// short is a name as it is shown: cut, and shorter still if it takes many bytes.
func short(s string) markup {
	for n := nameLength; ; n -= 4 {
		if x := escaped(cut(s, n)); len(x) <= nameBytes || n <= 8 {
			return x
		}
	}
}

// nameOf is a name in an element of its own, so that its direction of writing does not go beyond it.
func nameOf(n factor.Name) markup {
	id := markedUp("<bdi>%s</bdi>", short(fmt.Sprint(n.ID)))
	if n.Title == "" {
		return id
	}
	return markedUp("<bdi>%s</bdi> <span class=\"dim\">%s</span>", short(n.Title), id)
}

// exact is a number of some digits that has all of them in an attribute.
func exact(x factor.Number, format string) markup {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
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

func (p *page) facts(all []fact) {
	p.WriteString("<dl>\n")
	for _, f := range all {
		p.f("<div><dt>%s</dt><dd>%s</dd></div>\n", f.name, f.value)
	}
	p.WriteString("</dl>\n")
}

// section begins one, note being what it says, "" for nothing.
func (p *page) section(title, note string) {
	p.sections = append(p.sections, title)
	p.f("<section id=\"section-%d\">\n<h2>%s</h2>\n", len(p.sections), title)
	if note != "" {
		p.f("<p>%s</p>\n", note)
	}
}

func (p *page) end() { p.WriteString("</section>\n") }

// open begins a page that needs no other.
func (p *page) open(title, name string) {
	p.head(title, name, markedUp("<meta http-equiv=\"Content-Security-Policy\" content=\"%s\"/>\n", policy()))
}

func (p *page) head(title, name string, more markup) {
	p.f(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
%s<title>%s %s</title>
<style>%s</style>
</head>
<body>
<header><p class="kind">gdsvd · %s</p><h1><bdi>%s</bdi></h1></header>
<main>
`, more, title, cut(name, nameLength), markup(style), title, cut(name, 4*nameLength))
}

func (p *page) close() { p.f("</main>\n<script>%s</script>\n</body>\n</html>\n", markup(inline())) }

// closeLive ends a page of liveHead, which has a script of its own.
func (p *page) closeLive() { p.WriteString("</main>\n</body>\n</html>\n") }

// What prints comes last, for it overrides the rest.
const style = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1b2230;--dim:#566173;--line:#d5dbe5;--card:#f6f8fb;--good:#1a6f3c;--bad:#a3480b;
--c0:#1f5fbf;--c1:#c04f00;--c2:#0a7f5a;--c3:#a8327f;--c4:#7a6a00;--c5:#5b4bb5;--c6:#0b7f94;--c7:#b3261e;--c8:#4e7d1f;--c9:#8a5a2b;--ca:#7b8494}
@media (prefers-color-scheme:dark){:root{--bg:#12161d;--fg:#e4e9f1;--dim:#9aa6b8;--line:#323b49;--card:#1a202a;--good:#6fd196;--bad:#f2a65e;
--c0:#7db0ff;--c1:#ff9c52;--c2:#4fd0a0;--c3:#f08bcc;--c4:#d9c64a;--c5:#aa9cff;--c6:#55cfe3;--c7:#ff857a;--c8:#a3d465;--c9:#d5a273;--ca:#8a93a3}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:68rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2;margin:.1rem 0 1rem}h2{font-size:1.2rem;margin:2.2rem 0 .5rem;padding-top:.7rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:0 0 .3rem}p{margin:.4rem 0}.kind{color:var(--dim);margin:0}.dim{color:var(--dim);font-size:.88em}
.state{padding:.6rem .9rem;background:var(--card);border-left:.3rem solid var(--good)}.state.bad{border-color:var(--bad)}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr));gap:.1rem 2rem;margin:.6rem 0}
dl div{border-bottom:1px solid var(--line);padding:.2rem 0}dt{color:var(--dim);font-size:.85rem}dd{margin:0}
.pair{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:1rem}
figure{margin:0;max-width:40rem;padding:.6rem;background:var(--card);border:1px solid var(--line);border-radius:.4rem;min-width:0}
figure:not(:has(svg)){align-self:start}figcaption{color:var(--dim);font-size:.88rem}svg{display:block;width:100%;height:auto}
svg text{font:13px system-ui,sans-serif;fill:var(--dim)}svg .name{fill:var(--fg)}
.g{stroke:var(--line);fill:none;stroke-width:1}.m{stroke:var(--fg);fill:none;stroke-dasharray:5 4}.l{fill:none;stroke-width:1.7;stroke-linejoin:round}
.key{print-color-adjust:exact;display:inline-block;width:.8em;height:.8em;border-radius:.15em;margin:0 .3em 0 0}.keyed{display:inline-block;margin-right:.8em}
progress{display:block;width:100%;height:1.1rem;accent-color:var(--c0)}nav{margin:.2rem 0}a{color:var(--c0)}
.number{font-variant-numeric:tabular-nums}#connection{color:var(--bad);min-height:1.5em;margin:0}
#contents a{display:inline-block;padding:.2rem 0;margin-right:1rem}summary{cursor:pointer;color:var(--c0);padding:.3rem 0}
.pair:has(>figure:nth-child(3)){grid-template-columns:repeat(auto-fill,minmax(min(100%,20rem),1fr))}
@media (min-width:46rem){.pair:has(>figure:nth-child(3)) svg text{font-size:17px}}
.over{paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}.good{color:var(--good)}.wrong{color:var(--bad)}
.scroll{overflow-x:auto;background:linear-gradient(to right,var(--bg) 40%,transparent) 0 0/3rem 100%,linear-gradient(to left,var(--bg) 40%,transparent) 100% 0/3rem 100%,
linear-gradient(to right,var(--line),transparent) 0 0/.8rem 100%,linear-gradient(to left,var(--line),transparent) 100% 0/.8rem 100%;background-repeat:no-repeat;background-attachment:local,local,scroll,scroll}.long{overflow-y:auto;max-height:40rem}
:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}caption{text-align:left;color:var(--dim);padding:.3rem 0}
th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}thead th{position:sticky;top:0;background:var(--bg);color:var(--dim);font-weight:600}
th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid var(--c0);outline-offset:2px}th button:hover{color:var(--fg)}
[aria-sort] button{color:var(--fg)}[aria-sort=ascending] button::after{content:"\2009↑"}[aria-sort=descending] button::after{content:"\2009↓"}
.text{text-align:left;white-space:normal}th.text,td.text{min-width:6rem}.joined{text-align:left;border-left:.25rem solid var(--c1)}.joined.odd{border-color:var(--line) var(--line) var(--line) var(--c5)}
.topics{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1rem}
.topic{padding:.6rem;background:var(--card);border:1px solid var(--line);border-radius:.4rem;min-width:0}
.signs{display:grid;grid-template-columns:1fr 1fr;gap:.3rem 1rem;font-size:.88rem}.signs ol{margin:0;padding:0;list-style:none}
.signs li{display:flex;justify-content:space-between;gap:.6rem;border-bottom:1px solid var(--line)}.signs li>:first-child{min-width:0}.score{font-variant-numeric:tabular-nums;white-space:nowrap}
.signs p{color:var(--dim)}
pre{padding:.7rem;background:var(--card);border:1px solid var(--line);border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.88rem}
@media (max-width:30rem){body{padding:.8rem}#now dl{grid-template-columns:1fr 1fr;gap:.1rem 1rem}.signs{grid-template-columns:1fr}table{font-size:.8rem}th,td{padding:.2rem .25rem}svg text{font-size:15px}}
@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;--card:#fff;--good:#1a6f3c;--bad:#a3480b;
--c0:#1f5fbf;--c1:#c04f00;--c2:#0a7f5a;--c3:#a8327f;--c4:#7a6a00;--c5:#5b4bb5;--c6:#0b7f94;--c7:#b3261e;--c8:#4e7d1f;--c9:#8a5a2b;--ca:#7b8494}
body{font-size:10pt;padding:0}.pair{grid-template-columns:1fr 1fr;gap:.6rem}figure{padding:.3rem}svg text{font-size:15px}details::details-content{content-visibility:visible;block-size:auto}summary,#contents{display:none}figure,tr,.topic{break-inside:avoid}h2,h3{break-after:avoid}.scroll{overflow:visible;max-height:none}thead th{position:static}}
`

// Sorts is the script that makes headings of tables buttons, which sort by their column. It declares sortTables, to be
// called for the tables that there are, and again when their lines are replaced. It has none of the characters that HTML
// and XML read differently in a script.
//
//go:embed sorts.js
var Sorts string

// inline is the script of a page that needs no other file.
func inline() string { return Sorts + "sortTables();\n" }

// policy is what the page may do: show its own style and run its own script, nothing else.
func policy() markup {
	sum := sha256.Sum256([]byte(inline()))
	return markedUp("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))
}

// table begins a table whose headings sort it. label names it, caption stands above it unless it is "".
func (p *page) table(id, label string, long bool, caption markup, heads ...markup) {
	class := markup("scroll")
	if long {
		class += " long"
	}
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
