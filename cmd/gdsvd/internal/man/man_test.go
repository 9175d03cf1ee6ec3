package man

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/internal/must"
)

// tree returns commands whose texts contain characters that are special in man(7).
func tree() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "Do things", Run: func(*cobra.Command, []string) {}}
	root.PersistentFlags().BoolP("quiet", "q", false, "no 'log'")
	sub := &cobra.Command{
		Use: "sub IN -o OUT", Short: `Say "hello" to C:\dir`,
		Long: `.begins with a dot and
'with a quote; AᵀA ≤ ‖A‖² ~ ^ ` + "`x`" + `

  kept   as it is
  .PP    and this

	a tab
the end \fBnot bold\fP -x`,
		Example: "  prog sub in -o out\n\n  prog sub 'a b' -o \"c\" | tr a-z A-Z",
		Run:     func(*cobra.Command, []string) {},
	}
	sub.Flags().StringP("out", "o", "", "the directory `OUT`")
	sub.Flags().Float64("tol", 1e-8, "tolerance")
	sub.Flags().String("secret", "", "unseen")
	_ = sub.Flags().MarkHidden("secret")
	root.AddCommand(sub, &cobra.Command{Use: "hidden", Hidden: true, Run: sub.Run})
	return root
}

func TestPage(t *testing.T) {
	root := tree()
	all := Commands(root)
	if len(all) != 2 || Name(all[0]) != "prog.1" || Name(all[1]) != "prog-sub.1" {
		t.Fatalf("%d commands", len(all))
	}
	h := Header{Source: "prog 1.0", Date: "2026-03-01"}
	text := string(Page(all[1], h))
	for _, want := range []string{
		`.TH "PROG\-SUB" "1" "2026-03-01" "prog 1.0" "User Commands"` + "\n",
		".SH \"NAME\"\nprog\\-sub \\- Say \"hello\" to C:\\edir\n",
		"\\&.begins with a dot and\n\\(aqwith a quote; A\\[u1D40]A \\[u2264] \\[u2016]A\\[u2016]\\[u00B2] \\(ti \\(ha \\(gax\\(ga\n",
		".nf\nkept   as it is\n\\&.PP    and this\n.fi\n",
		"the end \\efBnot bold\\efP \\-x\n",
		".TP\n\\fB\\-o\\fP, \\fB\\-\\-out\\fP \\fIOUT\\fP\nthe directory OUT\n",
		".TP\n\\fB\\-\\-tol\\fP \\fIfloat\\fP\ntolerance (default 1e\\-08)\n",
		".SH \"GLOBAL OPTIONS\"\n.TP\n\\fB\\-q\\fP, \\fB\\-\\-quiet\\fP\nno \\(aqlog\\(aq\n",
		".SH \"SEE ALSO\"\n.BR prog (1)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no\n%s\nin\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") || strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r != '\n' && unicode.IsControl(r) }) {
		t.Errorf("a hidden flag, or a letter beyond ASCII:\n%s", text)
	}
	if again := Page(Commands(tree())[1], h); string(again) != text {
		t.Error("another page the second time")
	}
}

// TestFormatters: groff and mandoc report no warnings, and verbatim text is shown verbatim.
func TestFormatters(t *testing.T) {
	dir := t.TempDir()
	for _, cmd := range Commands(tree()) {
		must.Do(t, os.WriteFile(filepath.Join(dir, Name(cmd)), Page(cmd, Header{Source: "prog 1.0", Date: "2026-03-01"}), 0o666))
		check(t, filepath.Join(dir, Name(cmd)), func(shown string) {
			if cmd.HasParent() && !regexp.MustCompile(`kept   as it is\n +\.PP    and this\n`).MatchString(shown) {
				t.Errorf("shown as\n%s", shown)
			}
		})
	}
}

// check formats a page with groff and mandoc, if they are installed.
func check(t *testing.T, page string, look func(shown string)) {
	t.Helper()
	ran := false
	for _, tool := range [][]string{{"groff", "-man", "-ww", "-Tutf8", "-P-c", "-P-b", "-P-o", "-P-u"}, {"mandoc", "-Tutf8", "-Wwarning,stop"}} {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			continue
		}
		ran = true
		cmd := exec.Command(path, append(tool[1:], page)...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v: %s", tool[0], err, errs.String())
		}
		look(regexp.MustCompile(".\b").ReplaceAllString(out.String(), ""))
	}
	if !ran {
		t.Skip("neither groff nor mandoc is there")
	}
}
