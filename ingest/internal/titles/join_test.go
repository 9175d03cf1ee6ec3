package titles

import (
	"errors"
	"io"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// listed is a list of ids; closed counts the calls of Close.
type listed struct {
	ids    []string
	closed *int
}

func (l *listed) Next() (format.Label, error) {
	if len(l.ids) == 0 {
		return format.Label{}, io.EOF
	}
	id := l.ids[0]
	l.ids = l.ids[1:]
	return format.Label{ID: []byte(id)}, nil
}

func (l *listed) Close() error {
	*l.closed++
	return nil
}

// TestChain: Chain reads and closes both lists; if the second does not open, it returns the error and closes the first.
func TestChain(t *testing.T) {
	failed := errors.New("no such list")
	for _, c := range []struct {
		err  error
		want string
		open int
	}{{nil, "abc", 2}, {failed, "a", 1}} {
		closed := 0
		list := func(ids ...string) Source {
			return func() (format.IDs, error) { return &listed{ids, &closed}, nil }
		}
		second := list("b", "c")
		if c.err != nil {
			second = func() (format.IDs, error) { return nil, c.err }
		}
		ids, err := Chain(list("a"), second)()
		must.Do(t, err)
		got := ""
		for {
			var l format.Label
			if l, err = ids.Next(); err != nil {
				break
			}
			got += string(l.ID)
		}
		if want := c.err; got != c.want || want == nil && err != io.EOF || want != nil && !errors.Is(err, want) {
			t.Errorf("got %q, %v", got, err)
		}
		if err := ids.Close(); err != nil || closed != c.open {
			t.Errorf("closed %d lists, want %d: %v", closed, c.open, err)
		}
	}
}
