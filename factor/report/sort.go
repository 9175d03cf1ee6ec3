package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

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
