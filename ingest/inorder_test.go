package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// An indexed is an entry with row and column counted from 0.
type indexed struct {
	row int64
	col uint32
	val float64
}

// indexedStream returns entries in the given order as a csr-stream, with frames of about frame entries.
func indexedStream(t testing.TB, h streamHeader, entries []indexed, frame int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newStreamWriter(&b, h)
	for i, e := range entries {
		if err == nil && (i%frame == 0 || e.row < entries[i-1].row) {
			err = w.Flush()
		}
		if err == nil {
			err = w.AppendRow(e.row, []uint32{e.col}, []float64{e.val})
		}
	}
	if err == nil {
		err = w.Close()
	}
	must.Do(t, err)
	return b.Bytes()
}

// indexedMarket returns the same entries as a Matrix Market file.
func indexedMarket(h streamHeader, entries []indexed) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", h.rows, h.cols, len(entries))
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %d %v\n", e.row+1, e.col+1, e.val)
	}
	return []byte(b.String())
}

// bothWays ingests in twice, written straight to the store as far as it is in order, and sorted: the results are equal.
func bothWays(t testing.TB, in string, o Options, held int64) (rep *Report) {
	t.Helper()
	o.FS = lazyFS{vfs.OS()}
	var stores []map[string]string
	var says []string
	for _, held := range []int64{held, 0} {
		out := target(t)
		p := tiny()
		p.held = held
		r, err := ingest(t.Context(), []string{in}, out, o.withDefaults(), p)
		leftovers(t, out, err == nil)
		says, stores = append(says, fmt.Sprint(err)), append(stores, nil)
		if err == nil {
			stores[len(stores)-1] = vfstest.Contents(t, out)
		}
		if held > 0 {
			rep = r
		} else if r != nil && rep != nil && (r.Duplicates != rep.Duplicates || r.NNZ != rep.NNZ || r.Lines != rep.Lines || r.InputBytes != rep.InputBytes) {
			t.Errorf("reports differ: %+v and %+v", rep, r)
		}
	}
	if says[0] != says[1] {
		t.Errorf("%s\ninstead of %s", says[0], says[1])
	}
	for name, b := range stores[1] {
		if stores[0][name] != b || len(stores[0]) != len(stores[1]) {
			t.Errorf("%s differs, or another file", name)
		}
	}
	return rep
}

// TestInOrderIsTheSame: entries in row order, or nearly so, give the store or the error that a sort of all entries gives.
func TestInOrderIsTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	straightOnes := 0
	rapid.Check(t, func(rt *rapid.T) {
		types := []string{"", "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"}
		h := streamHeader{colKeys: rapid.SampledFrom([]string{"i4", "u4", "i8", "u8"}).Draw(rt, "columns"), values: rapid.SampledFrom(types).Draw(rt, "values"),
			rows: rapid.Int64Range(1, 60).Draw(rt, "rows"), cols: rapid.Int64Range(1, 60).Draw(rt, "cols")}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		share, kinds := r.Float64(), 1+r.IntN(600)
		var entries []indexed
		add := func(row int64, col uint32) {
			v := float64(r.IntN(kinds))
			switch h.values {
			case "":
				v = 1
			case "b1", "i1":
				v = float64(r.IntN(2))
			case "u1":
				v = float64(r.IntN(256))
			case "f4":
				v = float64(float32(v) / 7)
			case "f8":
				v /= 7
			}
			entries = append(entries, indexed{row, col, v})
		}
		byColumn := rapid.Bool().Draw(rt, "column by column")
		outer, inner := h.rows, h.cols
		if byColumn {
			outer, inner = inner, outer
		}
		for i := range outer {
			for j := range inner {
				switch {
				case r.Float64() > share || i%7 == 3:
				case byColumn:
					add(j, uint32(i))
				default:
					add(i, uint32(j))
				}
			}
		}
		switch n := len(entries); rapid.SampledFrom([]string{"in order", "in order", "swapped", "repeated"}).Draw(rt, "order") {
		case "swapped":
			if n > 1 {
				i := r.IntN(n - 1)
				entries[i], entries[i+1] = entries[i+1], entries[i]
			}
		case "repeated":
			if n > 0 {
				i := r.IntN(n)
				entries = slices.Insert(entries, i, entries[i])
			}
		}
		in, content := filepath.Join(dir, "in"), []byte(nil)
		if byColumn || rapid.Bool().Draw(rt, "text") {
			content = indexedMarket(h, entries)
		} else {
			content = indexedStream(t, h, entries, rapid.IntRange(1, 300).Draw(rt, "frame"))
		}
		must.Do(t, os.WriteFile(in, content, 0o666))
		o := Options{Duplicates: rapid.SampledFrom([]Duplicates{DuplicatesError, Sum, Last}).Draw(rt, "duplicates"), Orient: rapid.SampledFrom([]Orientation{OrientAuto, OrientRows, OrientCols}).Draw(rt, "orientation"),
			Events: rapid.IntRange(0, 9).Draw(rt, "events") == 0}
		if o.Events {
			o.Duplicates = Sum
		}
		if rep := bothWays(t, in, o, rapid.SampledFrom([]int64{1, 1 << 20}).Draw(rt, "held")); rep != nil && rep.Runs == 0 {
			straightOnes++
		}
	})
	if !t.Failed() && straightOnes == 0 { // in about a third of the 20 tries of a short run
		t.Error("none was in order: the test misses what it is for")
	}
}

// TestInOrderPours: entries written before the first one out of order, or with a value outside the coding, are not lost.
func TestInOrderPours(t *testing.T) {
	const rows, n = 200000, 17000 // the first blocks of 65,536 rows are full long before the end
	for name, spoil := range map[string]func(e []indexed){
		"nothing":       func([]indexed) {},
		"order":         func(e []indexed) { e[n-5], e[n-3] = e[n-3], e[n-5] },
		"coding":        func(e []indexed) { e[n-3].val = 7 },
		"coding of end": func(e []indexed) { e[n-1].val = 7 },
	} {
		entries := make([]indexed, n)
		for i := range entries {
			entries[i] = indexed{int64(i) * rows / n, uint32(i % 3), 2}
		}
		spoil(entries)
		o, in := Options{FS: lazyFS{vfs.OS()}, Duplicates: Sum}, write(t, "in", string(indexedStream(t, streamHeader{colKeys: "u4", values: "f4", rows: rows, cols: 50}, entries, 3000)))
		var stores []map[string]string
		for _, held := range []int64{1, 0} {
			p := mustPlan(t)
			p.held = held
			out := target(t)
			rep := must.Get(ingest(t.Context(), []string{in}, out, o.withDefaults(), p))(t)
			leftovers(t, out, true)
			if straight := held > 0 && name == "nothing"; straight != (rep.Runs == 0) {
				t.Errorf("%s: %d runs", name, rep.Runs)
			}
			stores = append(stores, vfstest.Contents(t, out))
		}
		if !maps.Equal(stores[0], stores[1]) {
			t.Errorf("%s: other stores", name)
		}
	}
}

// TestInOrderStops: Ingest leaves no files if the stream is truncated or the context is cancelled.
func TestInOrderStops(t *testing.T) {
	var entries []indexed
	for i := range 20000 {
		entries = append(entries, indexed{10 * int64(i), uint32(i % 3), 2})
	}
	stream := indexedStream(t, streamHeader{colKeys: "u4", values: "f4", rows: 200000, cols: 50}, entries, 3000)
	out := target(t)
	if _, err := Ingest(t.Context(), []string{"-"}, out, Options{Stdin: bytes.NewReader(stream[:len(stream)-40])}); err == nil || !strings.Contains(err.Error(), "its writer has stopped") {
		t.Errorf("cut: %v", err)
	}
	leftovers(t, out, false)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	go func() {
		_, _ = w.Write(stream[:len(stream)-40])
		cancel()
	}()
	if _, err := Ingest(ctx, []string{"-"}, out, Options{Stdin: r}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	leftovers(t, out, false)
}

// TestInOrderFaults fails each operation in turn, for entries in order and not: Ingest returns the error, no file is left.
func TestInOrderFaults(t *testing.T) {
	t.Parallel()
	for _, last := range []int64{70000, 3} {
		var entries []indexed
		for i := range int64(7000) {
			entries = append(entries, indexed{10 * i, uint32(i % 3), 2})
		}
		entries = append(entries, indexed{last, 40, 2})
		in := write(t, "in", string(indexedStream(t, streamHeader{colKeys: "u4", values: "f4", rows: 70001, cols: 50}, entries, 3000)))
		faulty := func(out string, inject func(vfstest.Op) error) (int, error) {
			p := mustPlan(t)
			p.held = 1
			fsys := &vfstest.FaultFS{FS: lazyFS{vfs.OS()}, Inject: inject}
			_, err := ingest(t.Context(), []string{in}, out, Options{FS: fsys}.withDefaults(), p)
			return fsys.Count(), err
		}
		count, err := faulty(target(t), nil)
		if err != nil || count < 20 {
			t.Fatal(count, err)
		}
		for n := 0; n < count; n += longtest.Pick(1, 7) {
			out := target(t)
			_, err := faulty(out, vfstest.FailAt(n))
			if !errors.Is(err, vfstest.ErrInjected) {
				t.Errorf("operation %d: %v", n, err)
			}
			if text := errText(err); !strings.Contains(text, "remove") && !strings.Contains(text, "lock") {
				if _, gone := os.Stat(out); gone != nil {
					leftovers(t, out, false)
				}
			}
		}
	}
}
