// Package man writes the manual pages of a tree of commands: man(7) in ASCII, for groff and mandoc.
package man

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

// Header holds the data that all pages of a program share.
type Header struct {
	Source string // the program and its version
	Date   string // 2006-01-02
}

// Name returns the file name of the page of a command, such as gdsvd-svd.1.
func Name(cmd *cobra.Command) string { return dashed(cmd) + ".1" }

func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Commands returns the command and all its subcommands that have pages.
func Commands(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, Commands(c)...)
		}
	}
	return all
}

// Page returns the manual page of a command.
func Page(cmd *cobra.Command, h Header) []byte {
	p := &page{}
	cmd.InitDefaultHelpFlag()
	// mandoc accepts only plain hyphens in a date.
	fmt.Fprintf(&p.b, ".TH \"%s\" \"1\" \"%s\" \"%s\" \"User Commands\"\n", escape(strings.ToUpper(dashed(cmd))), h.Date, escape(h.Source))
	p.macro("SH", "NAME")
	p.line(escape(dashed(cmd)) + ` \- ` + escape(cmd.Short))
	p.macro("SH", "SYNOPSIS")
	use := strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath())
	p.line(bold(cmd.CommandPath()) + escape(use))
	p.macro("SH", "DESCRIPTION")
	long := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short+"."))
	p.text(strings.TrimSuffix(long, strings.TrimSpace(ui.ExitHelp)))
	if below := Commands(cmd)[1:]; len(below) > 0 {
		p.macro("SH", "COMMANDS")
		for _, c := range below {
			if c.Parent() == cmd {
				p.macro("TP")
				p.line(bold(c.Name()))
				p.line(escape(c.Short))
			}
		}
	}
	p.flags("OPTIONS", cmd.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.macro("SH", "EXAMPLES")
		p.verbatim(strings.Split(strings.Trim(cmd.Example, "\n"), "\n"))
	}
	p.macro("SH", "ENVIRONMENT")
	p.line(escape("Every option has a variable: GDSVD_ and its long name in capitals, with _ for -. An option that is given wins."))
	p.macro("SH", "EXIT STATUS")
	p.text(strings.TrimPrefix(strings.TrimSpace(ui.ExitHelp), "Exit codes: "))
	p.seeAlso(cmd)
	return []byte(p.b.String())
}

type page struct {
	b       strings.Builder
	heading bool // the last line is a heading
}

// paragraph begins a paragraph, unless a heading precedes.
func (p *page) paragraph() {
	if !p.heading {
		p.macro("PP")
	}
}

// line writes a line of text that is already escaped.
func (p *page) line(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	p.b.WriteString(s + "\n")
	p.heading = false
}

func (p *page) macro(name string, args ...string) {
	p.b.WriteString("." + name)
	for _, a := range args {
		fmt.Fprintf(&p.b, ` "%s"`, strings.ReplaceAll(escape(a), `"`, `\(dq`))
	}
	p.b.WriteString("\n")
	p.heading = name == "SH"
}

// text writes paragraphs. Indented lines are kept as they are, other lines are filled.
func (p *page) text(s string) {
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for len(lines) > 0 {
			n := 0
			kept := indented(lines[0])
			for n < len(lines) && indented(lines[n]) == kept {
				n++
			}
			if kept {
				p.verbatim(lines[:n])
			} else {
				p.paragraph()
				for _, l := range lines[:n] {
					p.line(escape(l))
				}
			}
			lines = lines[n:]
		}
	}
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

// verbatim writes lines without filling them, less an indentation of two spaces or a tab.
func (p *page) verbatim(lines []string) {
	p.paragraph()
	p.macro("RS", "4")
	p.macro("nf")
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			p.line(`\&`)
			continue
		}
		p.line(escape(strings.TrimPrefix(strings.TrimPrefix(l, "  "), "\t")))
	}
	p.macro("fi")
	p.macro("RE")
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.macro("SH", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		p.macro("TP")
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if value != "" {
			name += ` \fI` + escape(value) + `\fP`
		}
		p.line(name)
		switch f.DefValue {
		case "", "0", "false", "[]", "0s":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		p.line(escape(usage))
	})
}

// seeAlso names the pages of the parent command and of the subcommands.
func (p *page) seeAlso(cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, dashed(cmd.Parent()))
	}
	for _, c := range Commands(cmd)[1:] {
		if c.Parent() == cmd {
			names = append(names, dashed(c))
		}
	}
	if len(names) == 0 {
		return
	}
	p.macro("SH", "SEE ALSO")
	for i, name := range names {
		p.b.WriteString(".BR " + escape(name) + " (1)")
		if i < len(names)-1 {
			p.b.WriteString(" ,")
		}
		p.b.WriteString("\n")
	}
}

func bold(s string) string { return `\fB` + escape(s) + `\fP` }

var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "\t", "    ")

// escape escapes text for groff_char(7). Characters beyond ASCII are written by number.
func escape(s string) string {
	var b strings.Builder
	for _, r := range special.Replace(s) {
		switch {
		case r < ' ' || r == 0x7f:
		case r > 0x7f:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
