package lines_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/lines"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func walk(all []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// TestRoundTrip: lines are found by number and by order, and the file is the lines themselves,
// or escaped lines if one contains a line break.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.OneOf(rapid.StringMatching(`[a-z\\]{0,9}`), rapid.Map(rapid.StringMatching(`[a-z]{1,9}`), func(s string) string { return strings.Repeat(s, 900) }), rapid.String())
		all := rapid.SliceOfN(line, 0, 3000/rapid.IntRange(1, 3000).Draw(t, "share")).Draw(t, "lines")
		all = append(all, make([]string, rapid.SampledFrom([]int{0, 1, 9000}).Draw(t, "empty"))...)
		slices.Sort(all)
		dir := must.Get(os.MkdirTemp("", "lines"))(t)
		defer os.RemoveAll(dir)
		name := filepath.Join(dir, "x")
		sum := must.Get(lines.Write(vfs.OS(), name, walk(all)))(t)
		text := must.Get(os.ReadFile(name))(t)
		breaks := slices.ContainsFunc(all, func(s string) bool { return strings.ContainsAny(s, "\r\n") })
		if plain := strings.Join(append(slices.Clone(all), ""), "\n"); sum.Escaped != breaks || !breaks && plain != string(text) {
			t.Fatalf("escaped %v, %v wanted; %d bytes, %d wanted", sum.Escaped, breaks, len(text), len(plain))
		}
		if sum.Size != int64(len(text)) || sum.CRC != crc.Of(text) {
			t.Fatalf("%+v of %d bytes with checksum %x", sum, len(text), crc.Of(text))
		}
		x := must.Get(lines.Open(context.Background(), vfs.OS(), name, sum, int64(len(all))))(t)
		defer x.Close()
		for range 50 {
			if len(all) == 0 {
				break
			}
			i := rapid.IntRange(0, len(all)-1).Draw(t, "i")
			if got, err := x.At(int64(i)); err != nil || got != all[i] {
				t.Fatalf("line %d: %q, %v; want %q", i, got, err, all[i])
			}
		}
		for i, want := range all {
			if got, err := x.At(int64(i)); err != nil || got != want {
				t.Fatalf("line %d: %q, %v; want %q", i, got, err, want)
			}
		}
		for _, s := range append(slices.Clone(all[:min(9, len(all))]), rapid.String().Draw(t, "any"), "", "zzzz") {
			want, _ := slices.BinarySearch(all, s)
			if got, err := x.Find(func(line string) bool { return line >= s }); err != nil || got != int64(want) {
				t.Fatalf("%q: %d, %v; want %d", s, got, err, want)
			}
		}
	})
}

// TestDamage: Open refuses a file with a byte changed, added or missing.
func TestDamage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	var all []string
	for i := range 3000 {
		all = append(all, fmt.Sprint("id", i))
	}
	sum := must.Get(lines.Write(vfs.OS(), name, walk(all)))(t)
	text := must.Get(os.ReadFile(name))(t)
	refused := func(what string, b []byte, sum lines.Sum, count int64) {
		t.Helper()
		must.Do(t, os.WriteFile(name, b, 0o666))
		x, err := lines.Open(context.Background(), vfs.OS(), name, sum, count)
		if err == nil {
			x.Close()
		}
		if !errors.Is(err, lines.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := 0; i < len(text); i += 97 {
		b := slices.Clone(text)
		b[i] ^= 1
		refused(fmt.Sprint("byte ", i), b, sum, int64(len(all)))
	}
	refused("shorter", text[:len(text)-1], sum, int64(len(all)))
	refused("longer", append(slices.Clone(text), 'x'), sum, int64(len(all)))
	refused("more lines wanted", text, sum, int64(len(all))+1)
	open := append(slices.Clone(text), 'x')
	refused("no last end", open, lines.Sum{Size: int64(len(open)), CRC: crc.Of(open)}, int64(len(all)))
}

// TestFaults fails each operation in turn: Write or a read returns the error.
func TestFaults(t *testing.T) {
	all := []string{"a", "b\nc", "d"}
	vfstest.EachFault(t, 8, 1, func(_ int, fsys *vfstest.FaultFS) error {
		name := filepath.Join(t.TempDir(), "x")
		sum, err := lines.Write(fsys, name, walk(all))
		if err == nil {
			var x *lines.File
			if x, err = lines.Open(context.Background(), fsys, name, sum, 3); err == nil {
				_, err = x.At(1)
				err = errors.Join(err, x.Close())
			}
		}
		return err
	})
}

// TestSource: Write returns the error of the sequence that it writes.
func TestSource(t *testing.T) {
	bad := errors.New("bad")
	_, err := lines.Write(vfs.OS(), filepath.Join(t.TempDir(), "x"), func(yield func(string, error) bool) {
		_ = yield("a", nil) && yield("", bad)
	})
	if !errors.Is(err, bad) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	name := filepath.Join(t.TempDir(), "y")
	sum := must.Get(lines.Write(vfs.OS(), name, walk([]string{"a"})))(t)
	if _, err := lines.Open(ctx, vfs.OS(), name, sum, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzOpen: Open refuses a file, or each of the stated number of lines can be read by number.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("a\nb\n"), int64(2), false)
	f.Add([]byte("a\\n\\\\b\n\n"), int64(2), true)
	f.Add(bytes.Repeat([]byte("0123456789\n"), 1000), int64(1000), false)
	f.Fuzz(func(t *testing.T, text []byte, count int64, escaped bool) {
		name := filepath.Join(t.TempDir(), "x")
		must.Do(t, os.WriteFile(name, text, 0o666))
		x, err := lines.Open(context.Background(), vfs.OS(), name, lines.Sum{Size: int64(len(text)), CRC: crc.Of(text), Escaped: escaped}, count)
		if err != nil {
			if !errors.Is(err, lines.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		defer x.Close()
		want := strings.SplitAfter(string(text), "\n")
		if want = want[:len(want)-1]; int64(len(want)) != count {
			t.Fatalf("%d lines, %d said", len(want), count)
		}
		for i := count - 1; i >= 0; i-- {
			if got, err := x.At(i); err != nil || !escaped && got+"\n" != want[i] {
				t.Fatalf("line %d: %q, %v; want %q", i, got, err, want[i])
			}
		}
	})
}

// BenchmarkOpen opens a million ids and finds 1000 of them by number and by order.
func BenchmarkOpen(b *testing.B) {
	const n = 1_000_000
	name := filepath.Join(b.TempDir(), "x")
	sum, err := lines.Write(vfs.OS(), name, func(yield func(string, error) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("user-%09d", i), nil) {
				return
			}
		}
	})
	must.Do(b, err)
	b.SetBytes(sum.Size)
	b.ResetTimer()
	for b.Loop() {
		x := must.Get(lines.Open(context.Background(), vfs.OS(), name, sum, n))(b)
		for i := range int64(1000) {
			at := i * 7919 % n
			id, err := x.At(at)
			if got, bad := x.Find(func(line string) bool { return line >= id }); err != nil || bad != nil || got != at {
				b.Fatal(got, at, err, bad)
			}
		}
		must.Do(b, x.Close())
	}
}

// TestLongLine: a line longer than any id or title is refused, although the checksum is right.
func TestLongLine(t *testing.T) {
	const maxLine = 2 << 20
	for _, n := range []int{1, maxLine - 1, maxLine + 3<<20} {
		text := "a\n" + strings.Repeat("b", n) + "\nc\n"
		name := filepath.Join(t.TempDir(), "x")
		must.Do(t, os.WriteFile(name, []byte(text), 0o666))
		x, err := lines.Open(t.Context(), vfs.OS(), name, lines.Sum{Size: int64(len(text)), CRC: crc.Of([]byte(text))}, 3)
		if n > maxLine {
			if !errors.Is(err, lines.ErrDamaged) || !strings.Contains(err.Error(), "line 2") {
				t.Error(err)
			}
			continue
		}
		must.Do(t, err)
		if line, err := x.At(1); len(line) != n || err != nil {
			t.Errorf("%d bytes, %v", len(line), err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAnyOrder: lines are read in any order, from many more blocks than are cached.
func TestAnyOrder(t *testing.T) {
	all := make([]string, 150_000)
	for i := range all {
		all[i] = fmt.Sprintf("%09d", i)
	}
	name := filepath.Join(t.TempDir(), "x")
	sum := must.Get(lines.Write(vfs.OS(), name, walk(all)))(t)
	x := must.Get(lines.Open(t.Context(), vfs.OS(), name, sum, int64(len(all))))(t)
	defer x.Close()
	for n := range 20_000 {
		i := n * n % len(all)
		if n%2 == 1 {
			i = n % 300 // the same few blocks again
		}
		if got, err := x.At(int64(i)); err != nil || got != all[i] {
			t.Fatalf("line %d: %q, %v", i, got, err)
		}
	}
}
