package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/factor/report"
)

// Of returns a Source of the run that a recorder of this process records.
func Of(r *live.Recorder) Source { return own{r} }

type own struct{ *live.Recorder }

func (o own) States(context.Context) ([]*live.State, error) { return []*live.State{o.State()}, nil }
func (own) Single() bool                                    { return true }

// freshFor is the time for which states that have been read are shown.
const freshFor = time.Second

// board holds the states of runs and the pages made of them, so that both are made once for all clients.
type board struct {
	source Source

	mu    sync.Mutex
	read  time.Time
	runs  []*live.State
	err   error
	pages map[string][]byte // pages of these states
}

// states returns the states of all runs, at most freshFor old. The caller holds the lock.
func (b *board) states() ([]*live.State, error) {
	if now := time.Now(); b.read.IsZero() || now.Sub(b.read) >= freshFor {
		b.runs, b.err = b.source.States(context.Background()) // the states are for all clients, not for the first one
		b.read, b.pages = time.Now(), map[string][]byte{}
	}
	return b.runs, b.err
}

func (b *board) one(runs []*live.State, name string) (*live.State, error) {
	for _, s := range runs {
		if s.Name == name || name == "" && b.source.Single() {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%q: %w", name, live.ErrNoRun)
}

// page returns the page at a path, of a run or of all runs.
func (b *board) page(ctx context.Context, path, run, name string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs, err := b.states()
	if err != nil {
		return nil, err
	}
	var s *live.State
	if run != "" || b.source.Single() && path == "/" {
		if s, err = b.one(runs, run); err != nil {
			return nil, err
		}
		run = s.Name
	}
	key := path + "?" + run
	if page, made := b.pages[key]; made {
		return page, nil
	}
	page, err := b.make(ctx, path, s, runs, name)
	if err == nil {
		b.pages[key] = page
	}
	return page, err
}

// make makes a page of a run, or of all runs if s is nil.
func (b *board) make(ctx context.Context, path string, s *live.State, runs []*live.State, name string) ([]byte, error) {
	o := report.LiveOptions{Script: "/watch.js", Listed: !b.source.Single()}
	var page bytes.Buffer
	switch {
	case path == "/metrics" && s != nil:
		return live.Metrics([]*live.State{s}), nil
	case path == "/metrics":
		return live.Metrics(runs), nil
	case path == "/api/runs" && s != nil:
		return json.Marshal(struct {
			*live.State
			Passes []factor.Event `json:"passes"`
		}{s, append([]factor.Event{}, s.Passes.Events...)})
	case path == "/api/runs":
		return json.Marshal(append([]*live.State{}, runs...))
	case s != nil:
		err := report.WriteRun(ctx, &page, s, o)
		return page.Bytes(), err
	}
	err := report.WriteRuns(&page, name, runs, o)
	return page.Bytes(), err
}

// changes returns, as JSON, the states of one run or of all runs that differ from those in seen, which it replaces.
func (b *board) changes(run string, seen map[string]string) (all [][]byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	runs, err := b.states()
	if err != nil {
		return nil, err
	}
	if run != "" {
		s, err := b.one(runs, run)
		if err != nil {
			return nil, err
		}
		runs = []*live.State{s}
	}
	names := map[string]bool{}
	for _, s := range runs {
		names[s.Name] = true
		key := "state?" + s.Name
		text, made := b.pages[key]
		if !made {
			if text, err = json.Marshal(s); err != nil {
				return nil, err
			}
			b.pages[key] = text
		}
		if seen[s.Name] != string(text) {
			seen[s.Name] = string(text)
			all = append(all, text)
		}
	}
	for name := range seen {
		if !names[name] {
			delete(seen, name)
			text, err := json.Marshal(map[string]string{"name": name, "status": "gone"})
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	return all, nil
}

const (
	lookEvery  = time.Second
	blankEvery = 15 * time.Second // longest time between two lines, so that a client that went away is noticed
)

// events streams states that have changed. A slow client gets the latest states when it is ready, and not those between.
func (s *Server) events(w http.ResponseWriter, r *http.Request, run string) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many clients follow the events", http.StatusServiceUnavailable)
		return
	}
	seen := map[string]string{}
	changed, err := s.board.changes(run, seen)
	if err != nil {
		http.Error(w, "there is no such run", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	client := http.NewResponseController(w)
	_ = client.SetReadDeadline(time.Time{}) // net/http reads on to notice that the client went away
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	sent := time.Time{}
	for {
		text := []byte(nil)
		for _, state := range changed {
			text = append(append(append(text, "event: run\ndata: "...), state...), "\n\n"...)
		}
		if text == nil && time.Since(sent) >= blankEvery {
			text = []byte(": nothing new\n\n")
		}
		if text != nil {
			if err := client.SetWriteDeadline(time.Now().Add(patience)); err != nil {
				return
			}
			if _, err := w.Write(text); err != nil {
				return
			}
			if err := client.Flush(); err != nil {
				return
			}
			sent = time.Now()
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if changed, err = s.board.changes(run, seen); err != nil {
			return // the client connects again
		}
	}
}
