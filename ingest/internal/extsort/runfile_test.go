package extsort

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestRunFile: a run file is read as it was written, and a changed or truncated one is refused.
func TestRunFile(t *testing.T) {
	dir := t.TempDir()
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		bits := rapid.IntRange(1, 63).Draw(t, "bits")
		e := randomEntries(r, rapid.IntRange(1, 3*BlockEntries).Draw(t, "n"), bits, rapid.Bool().Draw(t, "few values"))
		isSorted := rapid.Bool().Draw(t, "sorted")
		if isSorted {
			e = sorted(e, false)
		}
		name := filepath.Join(dir, fmt.Sprint(number))
		number++
		f := must.Get(vfs.OS().Create(name))(t)
		w := newRunWriter(f, runInfo{sorted: isSorted, users: 3, items: 4}, new(Coder))
		for rest := e; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(2*BlockEntries))
			must.Do(t, w.add(rest[:n]))
			rest = rest[n:]
		}
		must.Do(t, errors.Join(w.end(), f.Close()))
		got, info, err := readRun(name)
		if err != nil || info != w.info {
			t.Fatalf("%v, header %+v, want %+v", err, info, w.info)
		}
		if diff := cmp.Diff(e, got, cmp.AllowUnexported(Entry{})); diff != "" {
			t.Fatal(diff)
		}
		b := must.Get(os.ReadFile(name))(t)
		if r.IntN(4) == 0 {
			b = b[:r.IntN(len(b))]
		} else {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		must.Do(t, os.WriteFile(name, b, 0o666))
		if _, _, err := readRun(name); err == nil {
			t.Fatal("damage goes unnoticed")
		}
	})
}

func readRun(name string) (e []Entry, info runInfo, err error) {
	if info, err = readRunInfo(vfs.OS(), name); err != nil {
		return nil, info, err
	}
	r, err := openRun(vfs.OS(), name, info, 100)
	if err != nil {
		return nil, info, err
	}
	defer r.close()
	buf, c := make([]Entry, BlockEntries), new(Coder)
	for {
		n, err := r.next(c, buf)
		if err != nil || n == 0 {
			return e, info, err
		}
		e = append(e, buf[:n]...)
	}
}

// FuzzBlock: decoding any bytes does not panic and gives at most BlockEntries entries.
func FuzzBlock(f *testing.F) {
	c := new(Coder)
	f.Add(c.Encode(nil, []Entry{{1, 2}, {5, 2}}, true), true)
	f.Add(c.Encode(nil, []Entry{{9, 2}, {5, 1}}, false), false)
	f.Fuzz(func(t *testing.T, b []byte, sorted bool) {
		e := make([]Entry, BlockEntries)
		if n, size, err := c.decode(e, b, sorted); err == nil && (n < 1 || n > BlockEntries || size > len(b)) {
			t.Errorf("%d entries of %d bytes", n, size)
		}
	})
}
