package csr_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// columns returns a store of one row and n columns.
func columns(t testing.TB, path string, n int) *csr.Store {
	t.Helper()
	w, err := csr.Create(path, csr.CreateOptions{Cols: int64(n), Force: true, Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}})
	if err == nil {
		err = errors.Join(w.AppendRow([]uint32{0}, []float64{1}), w.Commit())
	}
	must.Do(t, err)
	s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func given(titles []string, err error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range titles {
			if !yield(s, nil) {
				return
			}
		}
		if err != nil {
			yield("", err)
		}
	}
}

// titlesOf reads all titles of an axis, from the last to the first, and returns them in order.
func titlesOf(s *csr.Store, axis csr.Axis) (titles []string, known int64, err error) {
	r, err := s.Titles(axis)
	if r == nil || err != nil {
		return nil, 0, err
	}
	defer r.Close()
	for i := r.Count() - 1; i >= 0; i-- {
		title, err := r.At(i)
		if err != nil {
			return nil, 0, err
		}
		titles = append(titles, title)
	}
	slices.Reverse(titles)
	return titles, r.Known(), nil
}

// naiveTitles reads a file of titles by FORMAT.md alone: the oracle.
func naiveTitles(b []byte) (titles []string) {
	end := b[len(b)-64:]
	at := binary.LittleEndian.Uint64(end)
	count := binary.LittleEndian.Uint64(end[8:])
	for rest := b[16:at]; len(rest) > 0; {
		n, k := binary.Uvarint(rest)
		titles, rest = append(titles, string(rest[k:k+int(n)])), rest[k+int(n):]
	}
	sum := crc32.Checksum(slices.Concat(b[:16], b[at:len(b)-4]), crc32.MakeTable(crc32.Castagnoli))
	if uint64(len(titles)) != count || sum != binary.LittleEndian.Uint32(end[60:]) {
		return nil
	}
	return titles
}

func TestTitlesRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csr")
	for _, n := range []int{1, 127, 128, 129, 1000} {
		s := columns(t, path, n)
		if r, err := s.Titles(csr.ColAxis); r != nil || err != nil {
			t.Fatalf("before: %v, %v", r, err)
		}
		for _, ending := range []string{"", " (1995)", strings.Repeat("é", 3000)} {
			var want []string
			known := int64(0)
			for i := range n {
				title := ""
				if i%3 > 0 {
					title = fmt.Sprintf("Title %d%s", i, ending)
					known++
				}
				want = append(want, title)
			}
			must.Do(t, s.WriteTitles(csr.ColAxis, given(want, nil)))
			got, k, err := titlesOf(s, csr.ColAxis)
			if err != nil || k != known || !slices.Equal(got, want) {
				t.Fatalf("%d: %d titles, %d known, %v", n, len(got), k, err)
			}
			b, err := os.ReadFile(filepath.Join(path, "cols.titles"))
			if err != nil || !slices.Equal(naiveTitles(b), want) || !bytes.Contains(b, must.Get(hex.DecodeString(s.Fingerprint()))(t)) {
				t.Fatalf("%d: the file is not what FORMAT.md says", n)
			}
		}
		if r, err := s.Titles(csr.RowAxis); r != nil || err != nil {
			t.Errorf("of the other axis: %v, %v", r, err)
		}
		report, err := csr.Check(t.Context(), path, csr.CheckOptions{})
		if err != nil || len(report.Problems)+len(report.Warnings) != 0 {
			t.Errorf("check: %+v, %v", report, err)
		}
		r := must.Get(s.Titles(csr.ColAxis))(t)
		for _, i := range []int64{-1, int64(n)} {
			if _, err := r.At(i); err == nil {
				t.Errorf("title %d of %d: no error", i, n)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestTitlesWithTheStore checks that a Writer publishes titles together with the store, and nothing if there are too few.
func TestTitlesWithTheStore(t *testing.T) {
	for _, titles := range [][]string{{"a", "", "c"}, {"a"}} {
		path := filepath.Join(t.TempDir(), "a.csr")
		w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 3, Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}}))(t)
		w.SetTitles(csr.ColAxis, given(titles, nil))
		if err := w.Commit(); len(titles) < 3 {
			if _, there := os.Stat(path); err == nil || there == nil {
				t.Errorf("too few: %v", err)
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
		if got, _, err := titlesOf(s, csr.ColAxis); err != nil || !slices.Equal(got, titles) {
			t.Errorf("got %q, %v", got, err)
		}
		must.Do(t, s.Close())
	}
}

// TestTitlesRefused checks that a failed WriteTitles leaves the old titles.
func TestTitlesRefused(t *testing.T) {
	s := columns(t, filepath.Join(t.TempDir(), "a.csr"), 2)
	must.Do(t, s.WriteTitles(csr.ColAxis, given([]string{"a", "b"}, nil)))
	failed := errors.New("failed")
	for what, titles := range map[string]iter.Seq2[string, error]{
		"too few":  given([]string{"x"}, nil),
		"too many": given([]string{"x", "y", "z"}, nil),
		"too long": given([]string{"x", strings.Repeat("y", 1<<14)}, nil),
		"failing":  given([]string{"x"}, failed),
	} {
		if err := s.WriteTitles(csr.ColAxis, titles); err == nil || what == "failing" && !errors.Is(err, failed) {
			t.Errorf("%s: %v", what, err)
		}
		if got, _, err := titlesOf(s, csr.ColAxis); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: then %q, %v", what, got, err)
		}
	}
	files, err := os.ReadDir(s.Path())
	if err != nil || len(files) != 3 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// TestTitlesOfAReplacedStore checks that titles are not written into another store that has taken the place of the open one.
func TestTitlesOfAReplacedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.csr")
	old := columns(t, path, 2)
	now := columns(t, path, 3)
	err := old.WriteTitles(csr.ColAxis, given([]string{"a", "b"}, nil))
	if err == nil || !strings.Contains(err.Error(), "has been replaced") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if titles, err := now.Titles(csr.ColAxis); titles != nil || err != nil {
		t.Errorf("the other store has titles: %v", err)
	}
	if report, err := csr.Check(t.Context(), path, csr.CheckOptions{}); err != nil || len(report.Problems)+len(report.Warnings) > 0 {
		t.Errorf("the other store: %+v, %v", report, err)
	}
}

// TestTitlesDamaged changes every byte and cuts at every length: each gives an error, and so do the titles of another matrix.
func TestTitlesDamaged(t *testing.T) {
	s := columns(t, filepath.Join(t.TempDir(), "a.csr"), 130)
	titles := make([]string, 130)
	for i := range titles {
		titles[i] = fmt.Sprint(i)
	}
	must.Do(t, s.WriteTitles(csr.ColAxis, given(titles, nil)))
	name := filepath.Join(s.Path(), "cols.titles")
	whole := must.Get(os.ReadFile(name))(t)
	refused := func(what string, content []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(name, content, 0o666))
		_, _, err := titlesOf(s, csr.ColAxis)
		if !errors.Is(err, csr.ErrCorrupt) && !errors.Is(err, csr.ErrVersion) {
			t.Errorf("%s: %v", what, err)
		}
		report, err := csr.Check(t.Context(), s.Path(), csr.CheckOptions{Quick: true})
		if err != nil || len(report.Problems) != 1 {
			t.Errorf("%s: check finds %v, %v", what, report, err)
		}
	}
	for i := range whole {
		if i%7 > 0 && i > 40 && i < len(whole)-100 {
			continue
		}
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		refused(fmt.Sprint("flipped at ", i), flipped)
		refused(fmt.Sprint("cut at ", i), whole[:i])
	}
	refused("longer", append(bytes.Clone(whole), 0))
	other := columns(t, filepath.Join(t.TempDir(), "b.csr"), 131)
	must.Do(t, other.WriteTitles(csr.ColAxis, given(append(titles, ""), nil)))
	refused("of another store", must.Get(os.ReadFile(filepath.Join(other.Path(), "cols.titles")))(t))
}

// FuzzTitles checks that any content of a file of titles gives an error or is read.
func FuzzTitles(f *testing.F) {
	path := filepath.Join(f.TempDir(), "a.csr")
	s := columns(f, path, 130)
	titles := make([]string, 130)
	titles[0], titles[129] = "first", "last"
	must.Do(f, s.WriteTitles(csr.ColAxis, given(titles, nil)))
	name := filepath.Join(path, "cols.titles")
	whole := must.Get(os.ReadFile(name))(f)
	f.Add(whole, true)
	f.Add(whole[:len(whole)-1], false)
	f.Add(append(bytes.Repeat([]byte{0}, 16+2*65), whole[len(whole)-88:]...), true)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if b = bytes.Clone(b); seal && len(b) >= 16+24+64 { // damage with correct checksums
			at := len(b) - 64 - 24
			for i, block := range [][2]int{{16, (16 + at) / 2}, {(16 + at) / 2, at}} {
				binary.LittleEndian.PutUint64(b[at+12*i:], uint64(block[0]))
				binary.LittleEndian.PutUint32(b[at+12*i+8:], crc32.Checksum(b[block[0]:block[1]], crc32.MakeTable(crc32.Castagnoli)))
			}
			copy(b, whole[:16])
			copy(b[len(b)-64:], whole[len(whole)-64:])
			binary.LittleEndian.PutUint64(b[len(b)-64:], uint64(at))
			sum := crc32.Checksum(slices.Concat(b[:16], b[at:len(b)-4]), crc32.MakeTable(crc32.Castagnoli))
			binary.LittleEndian.PutUint32(b[len(b)-4:], sum)
		}
		must.Do(t, os.WriteFile(name, b, 0o666))
		got, _, err := titlesOf(s, csr.ColAxis)
		if err == nil && len(got) != 130 || err != nil && !errors.Is(err, csr.ErrCorrupt) && !errors.Is(err, csr.ErrVersion) {
			t.Errorf("%d titles, %v", len(got), err)
		}
	})
}
