//go:build alltests

package report

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// A test starts one browser and opens its pages in it. Whatever a page writes to its console, throws, or asks of another
// host is a failure of the test. Check looks for what hinders readers: text of little contrast or cut off, names and
// labels that are missing, a page wider than its window.
//
// Where there is no Chromium, and without GDSVD_TEST_LONG, the tests are skipped; with GDSVD_BROWSER=required the long
// forms fail where there is none. Pictures of the pages are kept in the folder that GDSVD_PICTURES names.

// longest is how long a step in the browser may take.
const longest = time.Minute

var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}

// Browser is a running browser.
type Browser struct{ ctx context.Context }

// Start starts a browser, which ends with the test. Without one the test is skipped, or fails if one is required.
func Start(t testing.TB) *Browser {
	t.Helper()
	if !longtest.On() {
		t.Skip("pages are tested in a browser with GDSVD_TEST_LONG=1")
	}
	path := ""
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		const say = "no Chromium in PATH: pages are not tested in a browser (apt-get install chromium)"
		if os.Getenv("GDSVD_BROWSER") == "required" {
			t.Fatal(say)
		}
		t.Skip(say)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("%s does not start: %v", path, err)
	}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	})
	return &Browser{ctx}
}

// View is how a page is shown. The zero value is the browser's window, light, with scripts.
type View struct {
	Width     int64 // of the window in pixels; below 500 it is a telephone's
	Dark      bool
	Print     bool // as it is on paper
	NoScripts bool
}

func (v View) String() string {
	s := strconv.FormatInt(v.Width, 10)
	if v.Dark {
		s += "-dark"
	}
	if v.Print {
		s += "-print"
	}
	if v.NoScripts {
		s += "-noscript"
	}
	return s
}

// Page is a page in a tab of its own.
type Page struct {
	t    testing.TB
	ctx  context.Context
	url  *url.URL
	view View

	mu       sync.Mutex
	problems []string
}

// Open opens a page, whose address is that of a file or of a server. The tab closes with the test, which fails if the page has had
// problems.
func (b *Browser) Open(t testing.TB, address string, v View) *Page {
	t.Helper()
	if !strings.Contains(address, "://") {
		absolute := must.Get(filepath.Abs(address))(t)
		address = (&url.URL{Scheme: "file", Path: filepath.ToSlash(absolute)}).String()
	}
	u := must.Get(url.Parse(address))(t)
	ctx, stop := chromedp.NewContext(b.ctx)
	p := &Page{t: t, ctx: ctx, url: u}
	t.Cleanup(func() {
		stop()
		for _, problem := range p.Problems() {
			t.Errorf("%s: %s", filepath.Base(u.Path), problem)
		}
	})
	must.Do(t, chromedp.Listen(ctx, p.hear))
	p.Show(v)
	p.Load()
	return p
}

// Load loads the page, or loads it again.
func (p *Page) Load() {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url.String()))
}

// Show shows the page in another way. Scripts that have run have run.
func (p *Page) Show(v View) {
	p.t.Helper()
	p.view = v
	p.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		scheme, media := "light", ""
		if v.Dark {
			scheme = "dark"
		}
		if v.Print {
			media = "print"
		}
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if err == nil && v.Width > 0 {
			_, err = chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.Width, Height: 900, DeviceScaleFactor: 1, Mobile: v.Width < 500})
		}
		if err == nil {
			_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScripts})
		}
		return err
	}))
}

// hear takes notice of what a page should not do.
func (p *Page) hear(event any) {
	say := func(format string, args ...any) {
		p.mu.Lock()
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
		p.mu.Unlock()
	}
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		say("a script throws: %v", &chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			for _, a := range e.Args {
				say("console.%s: %s", e.Type, a.Value)
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			say("%s of the browser: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err != nil || !p.own(u) {
			say("a request of %.200s", e.Request.URL)
		}
	}
}

// own tells whether a page may ask for an address: of a file it is itself, of a server what is on the same one.
func (p *Page) own(u *url.URL) bool {
	if p.url.Scheme == "file" {
		return u.Scheme == "file" && u.Path == p.url.Path
	}
	return u.Scheme == p.url.Scheme && u.Host == p.url.Host
}

// Problems are what has been heard of since they were asked for.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.problems
	p.problems = nil
	return all
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%s: %v", p.url, err)
	}
}

// Value is that of an expression of JavaScript. It is known without scripts of the page, too.
func Value[T any](p *Page, expression string) T {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %.200s: %v", p.url, expression, err)
	}
	return v
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		p.t.Fatalf("%s: %.200s: %v", p.url, expression, err)
	}
}

// Click clicks what a selector of CSS finds first.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// Press presses keys, one for each character: "\t" goes to the next control, "\r" and " " press a button.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// Picture keeps a picture of the whole page as name and view say, if there is a folder for pictures.
func (p *Page) Picture(name string) {
	p.t.Helper()
	folder := os.Getenv("GDSVD_PICTURES")
	if folder == "" {
		return
	}
	ctx, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+"-"+p.view.String()+".png"), picture, 0o666)
	}
	if err != nil {
		p.t.Errorf("%s: a picture: %v", p.url, err)
	}
}

//go:embed testdata/audit.js
var audit string

// Audit is what hinders readers of the page as it is shown: contrast, names, labels and headings that are missing, what is cut off or
// too wide. It is what a machine can see of WCAG 2.2 on pages of text, tables and SVG.
func (p *Page) Audit() []string {
	p.t.Helper()
	return Value[[]string](p, audit)
}

// Check fails the test for what Audit finds.
func (p *Page) Check() {
	p.t.Helper()
	for _, what := range p.Audit() {
		p.t.Errorf("%s at %v: %s", p.url, p.view, what)
	}
}

// Focus is what the focus reaches, in order, by the Tab key from the beginning of the page. The test fails if something that can have the focus is
// not reached or does not look other than without it.
func (p *Page) Focus() []string {
	p.t.Helper()
	// The states without the focus are kept beside the elements.
	n := Value[int](p, `(() => {
		document.activeElement?.blur();
		window.scrollTo(0, 0);
		const can = [...document.querySelectorAll('a[href],button,input,select,textarea,summary,[tabindex]')].filter(e => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length);
		window.unfocused = new Map(can.map(e => [e, `+focus+`]));
		return can.length;
	})()`)
	var names []string
	for range n {
		p.Press("\t")
		names = append(names, Value[string](p, `(() => {
			const e = document.activeElement;
			const before = unfocused.get(e);
			if (before === undefined) return 'focus is on <' + e.tagName.toLowerCase() + '> already seen or not listed';
			unfocused.delete(e);
			const b = e.getBoundingClientRect();
			if (b.bottom < 0 || b.top > innerHeight) return 'focus is out of sight: ' + e.textContent.slice(0, 40);
			if (before === `+focus+`) return 'focus cannot be seen: ' + e.textContent.slice(0, 40);
			return (e.getAttribute('aria-label') || e.textContent).trim();
		})()`))
		if last := names[len(names)-1]; len(last) > 6 && last[:6] == "focus " {
			p.t.Errorf("%s: %s", p.url, last)
		}
	}
	if missed := Value[int](p, "unfocused.size"); missed > 0 {
		p.t.Errorf("%s: %s", p.url, fmt.Sprintf("%d of %d controls are not reached by the Tab key", missed, n))
	}
	return names
}

// focus is what shows the focus of e.
const focus = "(s => [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.backgroundColor, s.borderColor].join())(getComputedStyle(e))"
