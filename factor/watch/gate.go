package watch

import (
	"net"
	"sync"
	"time"
)

// gate is a listener that lets MaxConns connections be open at a time, and a number begin in a second; the others wait in
// the queue of the system.
type gate struct {
	net.Listener
	slots chan struct{}
	shut  chan struct{}
	rate  time.Duration // between two
	once  sync.Once
	next  time.Time // when the next one may begin
}

func newGate(l net.Listener, rate int) *gate {
	return &gate{Listener: l, slots: make(chan struct{}, MaxConns), shut: make(chan struct{}), rate: time.Second / time.Duration(rate)}
}

// Accept is called by one goroutine.
func (g *gate) Accept() (net.Conn, error) {
	const burst = 2 * time.Second
	select {
	case g.slots <- struct{}{}:
	case <-g.shut:
		return nil, net.ErrClosed
	}
	now := time.Now()
	if g.next = g.next.Add(g.rate); g.next.Before(now.Add(-burst)) {
		g.next = now.Add(-burst)
	}
	if wait := g.next.Sub(now); wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-g.shut:
		}
	}
	c, err := g.Listener.Accept()
	if err != nil {
		<-g.slots
		return nil, err
	}
	return &counted{Conn: c, gone: func() { <-g.slots }}, nil
}

// Close ends Accept.
func (g *gate) Close() error {
	g.once.Do(func() { close(g.shut) })
	return g.Listener.Close()
}

// counted is a connection that gives its place back.
type counted struct {
	net.Conn
	once sync.Once
	gone func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.gone)
	return err
}
