package browsertest

import (
	_ "embed"
	"fmt"
)

//go:embed audit.js
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
		window.unfocused = new Map(can.map(e => [e, `+look+`]));
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
			if (before === `+look+`) return 'focus cannot be seen: ' + e.textContent.slice(0, 40);
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

// look is what shows the focus of e.
const look = "(s => [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.backgroundColor, s.borderColor].join())(getComputedStyle(e))"
