package main

import (
	"sync"
	"time"
)

// clock tells how long the process has been running, without the time in which it
// was stopped: a long run shares its machine with others that stop it (Ctrl-Z, a
// lid, a queue), and run times are what it measures. It ticks; where a tick is
// late by more than any scheduler makes it, the process was not there.
type clock struct {
	done chan struct{}

	mu    sync.Mutex
	begun time.Time
	last  time.Time // tick
	lost  time.Duration
}

const (
	tick = 20 * time.Millisecond
	late = 300 * time.Millisecond
)

func startClock() *clock {
	now := time.Now()
	c := &clock{done: make(chan struct{}), begun: now, last: now}
	go func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				c.seconds()
			case <-c.done:
				return
			}
		}
	}()
	return c
}

// seconds returns the time since the clock was started.
func (c *clock) seconds() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(time.Now())
}

func (c *clock) at(now time.Time) float64 {
	if gap := now.Sub(c.last); gap > late {
		c.lost += gap - tick
	}
	c.last = now
	return (now.Sub(c.begun) - c.lost).Seconds()
}

func (c *clock) stop() { close(c.done) }
