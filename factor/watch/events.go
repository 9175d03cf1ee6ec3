package watch

import (
	"net/http"
	"time"
)

const (
	lookEvery  = time.Second
	blankEvery = 15 * time.Second // a comment at least so often, so that a client that went away is noticed
)

// events streams states that have changed. A client that is slow gets the latest ones when it can take them, and not those
// between.
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
			return // the client asks again
		}
	}
}
