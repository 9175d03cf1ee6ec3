//go:build alltests

package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

const sound = `<!DOCTYPE html><html lang="en"><head><meta name="viewport" content="width=device-width"><title>t</title></head><body style="background:#fff;color:#000"><main><h1>Sound</h1>%s</main></body></html>`

// recorder records the failures of a test that is expected to fail.
type recorder struct {
	testing.TB
	said     []string
	cleanups []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// TestAudit: each kind of obstacle is found in a page that has it, and none in a sound page.
func TestAudit(t *testing.T) {
	b := Start(t)
	file := filepath.Join(t.TempDir(), "page.html")
	write := func(body string) {
		must.Do(t, os.WriteFile(file, fmt.Appendf(nil, sound, body), 0o666))
	}
	write(`<h2>x</h2><button>b</button><svg role="img" aria-label="s" viewBox="0 0 90 30" width="90"><text x="5" y="20">word</text><path d="M0 0h5v5z"/></svg>`)
	p := b.Open(t, file, View{Width: 390})
	if all := p.Audit(); len(all) > 0 {
		t.Errorf("of a sound page: %q", all)
	}
	if got := p.Focus(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("the focus reaches %q", got)
	}
	for body, want := range map[string]string{
		`<h3>x</h3>`:                              "h3 follows h1",
		`<h1>x</h1>`:                              "not one h1",
		`<p style="color:#888">x</p>`:             "contrast of 3.54",
		`<p style="opacity:.5">x</p>`:             "contrast of 3.98",
		`<div style="background:#333">x</div>`:    "contrast of 1.66",
		`<button></button>`:                       "control has no name",
		`<input>`:                                 "field has no label",
		`<svg viewBox="0 0 9 9" width="9"></svg>`: "picture has no name",
		`<img>`: "picture has no name",
		`<table><caption>c</caption><tr><th>x</th></tr></table>`:                                                                       "no scope",
		`<table><tr><th scope="col">x</th></tr></table>`:                                                                               "table has no name",
		`<div style="width:900px">x</div>`:                                                                                             "pixels wide in a window of 390",
		`<div style="overflow:auto;height:20px"><p>x</p><p>y</p></div>`:                                                                "cannot be reached by keys",
		`<div style="overflow:hidden;width:20px">xxxxxxxxxxxxxx</div>`:                                                                 "text is cut off",
		`<svg role="img" aria-label="s" viewBox="0 0 90 30" width="90"><text x="70" y="20">words</text></svg>`:                         "is cut off",
		`<svg role="img" aria-label="s" viewBox="0 0 90 30" width="90"><text x="5" y="20">ab</text><text x="9" y="20">cd</text></svg>`: `is covered by "cd"`,
		`<svg role="img" aria-label="s" viewBox="0 0 90 30" width="90"><path style="fill:#bbb" d="M0 0h5v5z"/></svg>`:                  "of a drawing",
		`<p id="a">x</p><p id="a">y</p>`:                                                                                               "id a is there twice",
		`<p tabindex="2" aria-label="x">x</p>`:                                                                                         "changes the order",
	} {
		Value[bool](p, "(document.body.innerHTML = "+strconv.Quote("<main><h1>x</h1>"+body+"</main>")+") !== ''")
		if all := p.Audit(); !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%s: %q, want %s", body, all, want)
		}
	}
	write(`<style>:focus{outline:none}</style><button>b</button>`)
	r := &recorder{TB: t}
	p.t = r
	p.Load()
	p.Focus()
	if p.t = t; len(r.said) != 1 || !strings.Contains(r.said[0], "cannot be seen") {
		t.Errorf("a focus without a mark: %q", r.said)
	}
}

// TestProblems: exceptions, console errors and requests to other hosts fail the test of the page.
func TestProblems(t *testing.T) {
	b := Start(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, sound, r.URL.Query().Get("body"))
	}))
	defer server.Close()
	for body, want := range map[string]string{
		`<script>throw Error('thrown')</script>`:                       "thrown",
		`<script>console.error('said')</script>`:                       "said",
		`<img alt="x" src="http://localhost:1/outside.png">`:           "a request of http://localhost:1/outside.png",
		`<img alt="x" src="/missing.png">`:                             "404",
		`<script>fetch('http://localhost:1/f').catch(e => 0)</script>`: "a request of http://localhost:1/f",
	} {
		r := &recorder{TB: t}
		p := b.Open(r, server.URL+"/?body="+strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", " ", "%20").Replace(body), View{})
		p.Wait("document.readyState === 'complete'")
		r.end()
		if !strings.Contains(strings.Join(r.said, "\n"), want) {
			t.Errorf("%s: %q, want %s", body, r.said, want)
		}
	}
	quiet := b.Open(t, server.URL+"/?body=%3Cscript%3Edocument.title='run'%3C/script%3E", View{NoScripts: true})
	if got := Value[string](quiet, "document.title"); got != "t" {
		t.Errorf("scripts run: %q", got)
	}
}
