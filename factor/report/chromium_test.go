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

// A test starts one browser and opens its pages in it. A test fails if a page writes errors to its console, throws, or
// makes a request to another host. Check looks for text of little contrast or cut off, missing names and labels,
// and pages wider than the window.
//
// Without Chromium, or without GDSVD_TEST_LONG, the tests are skipped; with GDSVD_BROWSER=required the long
// forms fail without Chromium. Pictures of the pages are written to the folder GDSVD_PICTURES.

// longest is the time limit of a step in the browser.
const longest = time.Minute

var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell"}

// Browser is a running browser.
type Browser struct{ ctx context.Context }

// Start starts a browser that ends with the test. Without Chromium the test is skipped, or fails if it is required.
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

// View says how a page is shown. The zero value is the browser's window, light, with scripts.
type View struct {
	Width     int64 // of the window in pixels; below 500 a telephone is emulated
	Dark      bool
	Print     bool // with the style of print
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

// Page is a page in its own tab.
type Page struct {
	t    testing.TB
	ctx  context.Context
	url  *url.URL
	view View

	mu       sync.Mutex
	problems []string
}

// Open opens the page at the address of a file or server. The tab closes with the test, which fails if there were
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

// Load loads or reloads the page.
func (p *Page) Load() {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url.String()))
}

// Show changes how the page is shown. It does not undo the work of scripts.
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

// hear records console errors, exceptions and requests to other hosts.
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

// own reports whether a page may request u: the file itself, or any address of the same server.
func (p *Page) own(u *url.URL) bool {
	if p.url.Scheme == "file" {
		return u.Scheme == "file" && u.Path == p.url.Path
	}
	return u.Scheme == p.url.Scheme && u.Host == p.url.Host
}

// Problems returns the problems recorded since its last call.
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

// Value returns the value of a JavaScript expression. It also works if the scripts of the page are disabled.
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

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.ctx, longest)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		p.t.Fatalf("%s: %.200s: %v", p.url, expression, err)
	}
}

// Click clicks the first element that matches a CSS selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// Press presses keys, one for each character: "\t" goes to the next control, "\r" and " " press a button.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// Picture writes a picture of the whole page, named by name and view, if GDSVD_PICTURES is set.
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

// Audit returns the obstacles to readers in the page as shown: missing contrast, names, labels and headings, text cut off
// or too wide. It covers what a program can check of WCAG 2.2 in text, tables and SVG.
func (p *Page) Audit() []string {
	p.t.Helper()
	return Value[[]string](p, audit)
}

// Check fails the test for each result of Audit.
func (p *Page) Check() {
	p.t.Helper()
	for _, what := range p.Audit() {
		p.t.Errorf("%s at %v: %s", p.url, p.view, what)
	}
}

// Focus returns the elements that the Tab key reaches from the beginning of the page, in order. The test fails if a
// focusable element is not reached or looks the same with and without focus.
func (p *Page) Focus() []string {
	p.t.Helper()
	// unfocused holds the style of each element without focus.
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

// focus is a JavaScript expression of the styles of e that can show the focus.
const focus = "(s => [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.backgroundColor, s.borderColor].join())(getComputedStyle(e))"
