package look_test

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// random returns a store of a random matrix with three entries per row.
func random(t *testing.T, rows, cols int, seed uint64) *csr.Store {
	t.Helper()
	r, all := rand.New(rand.NewPCG(seed, 1)), make([][]csrtest.Entry, rows)
	for i := range all {
		at := r.IntN(cols / 3)
		for j := range 3 {
			all[i] = append(all[i], csrtest.Entry{Col: uint32(at + j*cols/3), Val: float64(1 + r.IntN(5))})
		}
	}
	return csrtest.Build(t, int64(cols), all, csr.CreateOptions{})
}

// pipeline returns the parsed view.
func pipeline(t *testing.T, text string) view.Pipeline {
	t.Helper()
	return must.Get(view.Parse(text))(t)
}

// logged returns a logger and the buffer that it writes to.
func logged() (*slog.Logger, *bytes.Buffer) {
	said := new(bytes.Buffer)
	return slog.New(slog.NewTextHandler(said, nil)), said
}

// TestLooksTellOfUnknownIDs: Peek and Summarise log the number of listed ids that the matrix does not have.
func TestLooksTellOfUnknownIDs(t *testing.T) {
	store, list := random(t, 50, 12, 3), filepath.Join(t.TempDir(), "ids.txt")
	must.Do(t, os.WriteFile(list, []byte("0\n3\nnone\n7"), 0o666))
	view := pipeline(t, "keep=columns,"+list+" · log1p")
	const want = "unknown=1 ids=4"
	log, said := logged()
	if _, err := look.Peek(t.Context(), store, look.PeekOptions{Head: 1, Entries: 1, Options: look.Options{View: view, Log: log}}); err != nil || !strings.Contains(said.String(), want) {
		t.Errorf("Peek says %q, %v", said, err)
	}
	log, said = logged()
	o := look.StatsOptions{Dir: filepath.Join(t.TempDir(), "stats"), Options: look.Options{View: view, Log: log}}
	if _, err := look.Summarise(t.Context(), store, o); err != nil || !strings.Contains(said.String(), want) {
		t.Errorf("Summarise says %q, %v", said, err)
	}
}

// TestPeekTellsOfReads: Peek logs that a row of a transposed store takes a read of the whole store.
func TestPeekTellsOfReads(t *testing.T) {
	for _, transposed := range []bool{false, true} {
		log, said := logged()
		o := look.PeekOptions{Rows: []string{"bob"}, Entries: 1, Options: look.Options{Log: log}}
		if _, err := look.Peek(t.Context(), cinema(t, transposed), o); err != nil || strings.Contains(said.String(), "takes a read of the whole store") != transposed {
			t.Errorf("transposed %t: %q, %v", transposed, said, err)
		}
	}
}
