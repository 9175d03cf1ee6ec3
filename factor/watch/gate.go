package watch

import (
	"context"
	"net"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"
)

// gate is a listener that lets MaxConns connections be open at a time, and a number begin in a second; the others wait in
// the queue of the system.
type gate struct {
	net.Listener
	pace *rate.Limiter
	open context.Context // until Close
	shut context.CancelFunc
}

func newGate(l net.Listener, perSecond int) *gate {
	const burst = 2 // seconds
	g := &gate{Listener: netutil.LimitListener(l, MaxConns), pace: rate.NewLimiter(rate.Limit(perSecond), burst*perSecond)}
	g.open, g.shut = context.WithCancel(context.Background())
	return g
}

// Accept is called by one goroutine.
func (g *gate) Accept() (net.Conn, error) {
	if g.pace.Wait(g.open) != nil {
		return nil, net.ErrClosed
	}
	return g.Listener.Accept()
}

// Close ends Accept.
func (g *gate) Close() error {
	g.shut()
	return g.Listener.Close()
}
