package ids

import (
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestRestoreOfTexts: ids that look like integers are texts after a resume, too, if a text among them was filtered out.
func TestRestoreOfTexts(t *testing.T) {
	s := &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(t.TempDir(), "scratch")}
	rows, cols := New(false), New(false)
	var b format.Batch
	for _, id := range []string{"9", "x", "10"} {
		b.Row.Add([]byte(id))
		b.Col.AddInt(1)
		b.AddValue(1)
	}
	b.Keep(func(n int) bool { return n != 1 })
	must.Get(Pairs(nil, &b, rows, cols))(t)
	for i, a := range []*Axis{rows, cols} {
		_, _, err := a.Save(s)
		must.Do(t, err)
		again := New(false)
		must.Do(t, again.Restore(s, a.State()))
		for _, a := range []*Axis{a, again} {
			must.Do(t, a.Settle(t.Context(), s, extsort.Budget{}, nil, nil))
			if first, _ := a.Name(s, 0); a.Text != (i == 0) || a.N != int64(2-i) || first != []string{"10", "1"}[i] {
				t.Errorf("axis %d: %d ids, texts: %v, the first %q", i, a.N, a.Text, first)
			}
			must.Do(t, a.Close())
		}
	}
}

// TestTurnDuringSave: the log of a dictionary that is turned stays open, since a save may be syncing it, even if no other
// file may wait for a save.
func TestTurnDuringSave(t *testing.T) {
	s := &scratch.Dir{FS: vfs.OS(), Name: filepath.Join(t.TempDir(), "scratch"), Durable: true, Most: 1}
	a := New(false)
	var b format.Batch
	b.Row.AddInt(1)
	a.Number(&b.Row)
	log, _, err := a.Save(s)
	must.Do(t, err)
	must.Do(t, a.Turn(s))
	if err := log.Sync(); err != nil {
		t.Error(err)
	}
	must.Do(t, s.Close())
}
