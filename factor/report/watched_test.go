//go:build alltests

package report_test

import (
	"context"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/factor/report"
	"github.com/gdsvd/gdsvd/factor/watch"
	"github.com/gdsvd/gdsvd/internal/must"
)

// served starts a server that ends with the test and returns its address.
func served(t *testing.T, o watch.Options) string {
	t.Helper()
	o.Listen = "127.0.0.1:0"
	s := must.Get(watch.Listen(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// runs is a source of a running run and of a dead one with a hostile name.
type runs struct{}

func (runs) Single() bool { return false }
func (runs) States(context.Context) ([]*live.State, error) {
	passes := []factor.Event{{Phase: "iterate", Pass: 1, Residual: 0.9, Open: 2, Worst: 0.9}, {Phase: "iterate", Pass: 3, Residual: 0.5, Open: 2, Worst: 0.5}}
	return []*live.State{
		{Format: live.Format, Name: "a.svd", Status: live.Running, About: live.About{Command: "svd", Rank: 5, Tol: 1e-8}, Last: &factor.Event{Pass: 3, Worst: 0.5}, Passes: live.Thinned{Events: passes}},
		{Format: live.Format, Name: `<b>"&` + "'x", Status: live.Died, Message: "<script>alert(1)</script>", About: live.About{Command: "ingest"}},
	}, nil
}

// TestBrowserLive: the page of a run changes while it is open: its curve moves and the end is shown. It makes no requests
// to other hosts and passes the audit on a telephone and in the dark.
func TestBrowserLive(t *testing.T) {
	b := report.Start(t)
	r := live.Record(vfs.OS(), live.About{Command: "svd", Rank: 5, Tol: 1e-8})
	pass := func(from, to int) {
		for n := from; n < to; n++ {
			r.Pass(factor.Event{Phase: "iterate", Pass: n, Residual: factor.Number(1 / float64(n)), Open: 2, Worst: factor.Number(1 / float64(n))}, live.Stage{})
		}
	}
	pass(1, 4)
	p := b.Open(t, served(t, watch.Options{Name: "a.svd", Source: watch.Of(r)}), report.View{Width: 1280})
	const curve = "document.querySelector('svg path.l').getAttribute('d')"
	p.Wait("document.querySelector('svg path.l') !== null")
	before := report.Value[string](p, curve)
	pass(4, 40)
	p.Wait("document.querySelector('svg path.l')?.getAttribute('d').length > " + report.Value[string](p, "String("+curve+".length)"))
	if after := report.Value[string](p, curve); after == before {
		t.Error("the curve has not moved")
	}
	for _, v := range []report.View{{Width: 1280, Dark: true}, {Width: 390}} {
		p.Show(v)
		p.Check()
		p.Picture("live")
	}
	p.Focus()
	r.End(live.Finished, "")
	p.Wait("document.querySelector('.state').textContent.includes('finished')")
}

// TestBrowserList: the list of runs shows names and messages as text, and the Tab key reaches each run.
func TestBrowserList(t *testing.T) {
	b := report.Start(t)
	p := b.Open(t, served(t, watch.Options{Name: "runs", Source: runs{}}), report.View{Width: 390, Dark: true})
	p.Check()
	p.Focus()
	p.Picture("runs")
	if n := report.Value[int](p, "document.querySelectorAll('main b, main script').length"); n > 1 {
		t.Errorf("%d elements that a name has made", n)
	}
}
