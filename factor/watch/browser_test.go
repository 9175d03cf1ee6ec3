package watch

import (
	"testing"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/browsertest"
	"github.com/gdsvd/gdsvd/vfs"
)

// A page of a run changes while it is looked at: its curve moves and its state is said to be another one at the end. It asks nothing of
// another host, and is read on a telephone and in the dark.
func TestBrowserLive(t *testing.T) {
	b := browsertest.Start(t)
	r := live.Record(vfs.OS(), live.About{Command: "svd", Rank: 5, Tol: 1e-8})
	pass := func(from, to int) {
		for n := from; n < to; n++ {
			r.Pass(factor.Event{Phase: "iterate", Pass: n, Residual: factor.Number(1 / float64(n)), Open: 2, Worst: factor.Number(1 / float64(n))}, live.Stage{})
		}
	}
	pass(1, 4)
	p := b.Open(t, begin(t, Options{Name: "a.svd", Source: Of(r)}).URL(), browsertest.View{Width: 1280})
	const curve = "document.querySelector('svg path.l').getAttribute('d')"
	p.Wait("document.querySelector('svg path.l') !== null")
	before := browsertest.Value[string](p, curve)
	pass(4, 40)
	p.Wait("document.querySelector('svg path.l')?.getAttribute('d').length > " + browsertest.Value[string](p, "String("+curve+".length)"))
	if after := browsertest.Value[string](p, curve); after == before {
		t.Error("the curve has not moved")
	}
	for _, v := range []browsertest.View{{Width: 1280, Dark: true}, {Width: 390}} {
		p.Show(v)
		p.Check()
		p.Picture("live")
	}
	p.Focus()
	r.End(live.Finished, "")
	p.Wait("document.querySelector('.state').textContent.includes('finished')")
}

// The list of runs shows names and messages as they are, and every run is reached by keys.
func TestBrowserList(t *testing.T) {
	b := browsertest.Start(t)
	p := b.Open(t, begin(t, Options{Name: "runs"}).URL(), browsertest.View{Width: 390, Dark: true})
	p.Check()
	p.Focus()
	p.Picture("runs")
	if n := browsertest.Value[int](p, "document.querySelectorAll('main b, main script').length"); n > 1 {
		t.Errorf("%d elements that a name has made", n)
	}
}
