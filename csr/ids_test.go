package csr_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// writeIDs writes a store without columns whose rows have the given ids.
func writeIDs(path string, ints []int64, texts []string, more ...func(*csr.IDWriter)) error {
	w, err := csr.Create(path, csr.CreateOptions{Values: csr.Values{Coding: csr.Float64}})
	if err != nil {
		return err
	}
	defer w.Abort()
	kind := csr.IntIDs
	if texts != nil {
		kind = csr.StringIDs
	}
	iw, err := w.IDs(csr.RowAxis, kind)
	if err != nil {
		return err
	}
	for _, f := range more {
		f(iw)
	}
	for _, id := range ints {
		if err := iw.AppendInt(id); err != nil {
			return err
		}
	}
	for _, id := range texts {
		if err := iw.AppendString(id); err != nil {
			return err
		}
	}
	if err := iw.Close(); err != nil {
		return err
	}
	if err := w.AppendEmptyRows(int64(len(ints) + len(texts))); err != nil {
		return err
	}
	return w.Commit()
}

// readIDs reads the ids of an axis as text.
func readIDs(s *csr.Store, a csr.Axis) ([]string, error) {
	r, err := s.IDs(a)
	if err != nil {
		return nil, err
	}
	ids := []string{}
	for r.Next() {
		if r.Kind() == csr.IntIDs && strconv.FormatInt(r.Int(), 10) != r.String() {
			return nil, errors.New("Int and String disagree")
		}
		ids = append(ids, r.String())
	}
	if r.Err() == nil && r.Count() != int64(len(ids)) {
		return nil, errors.New("count is wrong")
	}
	return ids, errors.Join(r.Err(), r.Close())
}

func TestIntIDs(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Int64Range(-5, 300), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
		ids := rapid.SliceOfNDistinct(id, 1, 100, rapid.ID[int64]).Draw(t, "ids")
		slices.Sort(ids)
		var want []string
		for _, id := range ids {
			want = append(want, strconv.FormatInt(id, 10))
		}
		requireIDs(t, dir, ids, nil, want)
	})
}

func TestStringIDs(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`(user|item)-[a-c]{0,3}[0-9]{0,2}`), rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		ids := rapid.SliceOfNDistinct(id, 1, 100, rapid.ID[string]).Draw(t, "ids")
		slices.Sort(ids)
		requireIDs(t, dir, nil, ids, ids)
	})
}

// TestLongPrefixes checks that ids with long shared prefixes are read back, from a file at least
// 1/258 as long as the ids, and that a file that repeats a prefix more often is refused.
func TestLongPrefixes(t *testing.T) {
	long := strings.Repeat("x", 100000)
	var ids []string
	total := 0
	for i := range 600 {
		ids = append(ids, long+strconv.Itoa(10000+i))
		total += len(ids[i])
	}
	path := filepath.Join(t.TempDir(), "x.csr")
	must.Do(t, writeIDs(path, nil, ids))
	s := csrtest.Open(t, path, csr.OpenOptions{})
	if got, err := readIDs(s, csr.RowAxis); err != nil || !slices.Equal(got, ids) {
		t.Errorf("%d of %d ids, %v", len(got), len(ids), err)
	}
	info := s.Manifest().IDs.Rows
	if int64(total) > 258*info.Size {
		t.Errorf("%d bytes of ids in %d", total, info.Size)
	}

	bomb := []byte("GDSVDIDS\x01\x00\x00\x00\x01\x00\x00\x00") // version, kind
	bomb = binary.AppendUvarint(append(bomb, 0), uint64(len(long)))
	bomb = append(bomb, long...)
	for range 1000 {
		bomb = append(binary.AppendUvarint(bomb, uint64(len(long))), 1, 'y')
		long += "y"
	}
	bomb = binary.LittleEndian.AppendUint64(bomb, 1001)
	name := filepath.Join(path, info.File)
	must.Do(t, os.WriteFile(name, bomb, 0o666))
	info.Size, info.Count = int64(len(bomb)), 1001
	if got, err := readIDs(s, csr.RowAxis); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), "prefixes") {
		t.Errorf("a bomb: %d ids, %v", len(got), err)
	}
}

func requireIDs(t *rapid.T, dir string, ints []int64, texts, want []string) {
	path := filepath.Join(dir, "x.csr")
	must.Do(t, os.RemoveAll(path))
	must.Do(t, writeIDs(path, ints, texts))
	s := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
	defer s.Close()
	got := must.Get(readIDs(s, csr.RowAxis))(t)
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if ids, err := readIDs(s, csr.ColAxis); len(ids) > 0 || err != nil {
		t.Fatalf("ids of columns: %v, %v", ids, err)
	}
}

// TestIDsInGivenOrder checks that KeepOrder returns the ids in the given order, the extremes of
// int64 among them, and that ascending ids make the same file as without it.
func TestIDsInGivenOrder(t *testing.T) {
	for _, c := range []struct {
		ints    []int64
		texts   []string
		ordered bool
	}{
		{ints: []int64{3, math.MinInt64, math.MaxInt64, -1, 0, math.MaxInt64 - 1, math.MinInt64 + 1}},
		{ints: []int64{math.MinInt64, 5, math.MaxInt64}, ordered: true},
		{texts: []string{"d2", "d10", "", "d1", "d10x", "d"}},
		{texts: []string{"a", "b"}, ordered: true},
	} {
		path := filepath.Join(t.TempDir(), "x.csr")
		must.Do(t, writeIDs(path, c.ints, c.texts, (*csr.IDWriter).KeepOrder))
		want := slices.Clone(c.texts)
		for _, id := range c.ints {
			want = append(want, strconv.FormatInt(id, 10))
		}
		requireSound(t, path)
		s := csrtest.Open(t, path, csr.OpenOptions{})
		if got, err := readIDs(s, csr.RowAxis); !slices.Equal(got, want) || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		r := must.Get(s.IDs(csr.RowAxis))(t)
		defer r.Close()
		if r.Ordered() != c.ordered || (s.Manifest().IDs.Rows.Order == csr.Ascending) != c.ordered {
			t.Errorf("%q: ordered %v", want, r.Ordered())
		}
	}
}

// TestIdentityIDsLeaveNoFile checks that the integer ids 0 … n−1 are stored as no ids.
func TestIdentityIDsLeaveNoFile(t *testing.T) {
	for name, c := range map[string]struct {
		ints  []int64
		texts []string
		file  bool
	}{
		"0 to 2":         {[]int64{0, 1, 2}, nil, false},
		"none":           {nil, nil, false},
		"1 to 2":         {[]int64{1, 2}, nil, true},
		"0 and 2":        {[]int64{0, 2}, nil, true},
		"string 0, 1":    {nil, []string{"0", "1"}, true},
		"empty string":   {nil, []string{"", "a"}, true},
		"longest string": {nil, []string{strings.Repeat("x", csr.MaxIDLen-1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.csr")
			must.Do(t, writeIDs(path, c.ints, c.texts))
			if _, err := os.Stat(filepath.Join(path, "rows.ids")); (err == nil) != c.file {
				t.Errorf("file: %v", err)
			}
			requireSound(t, path)
		})
	}
}

func TestIDWriterRefuses(t *testing.T) {
	for name, ids := range map[string]struct {
		ints  []int64
		texts []string
	}{
		"equal":          {[]int64{3, 3}, nil},
		"descending":     {[]int64{3, -3}, nil},
		"equal text":     {nil, []string{"a", "a"}},
		"text descends":  {nil, []string{"b", "abc"}},
		"prefix after":   {nil, []string{"abc", "ab"}},
		"two empty":      {nil, []string{"", ""}},
		"both kinds":     {[]int64{1}, []string{"a"}},
		"one MiB string": {nil, []string{strings.Repeat("x", csr.MaxIDLen)}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if writeIDs(filepath.Join(dir, "x.csr"), ids.ints, ids.texts) == nil {
				t.Error("no error")
			}
			requireEmpty(t, dir)
		})
	}
}

// TestCommitWithoutAllIDs checks that Commit fails if ids are too few, too many, or not closed.
func TestCommitWithoutAllIDs(t *testing.T) {
	for name, c := range map[string]struct {
		ids    int
		closed bool
	}{"few": {1, true}, "many": {3, true}, "open": {2, false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			w := must.Get(csr.Create(filepath.Join(dir, "x.csr"), csr.CreateOptions{Cols: 2, Values: csr.Values{Coding: csr.Float64}}))(t)
			iw := must.Get(w.IDs(csr.ColAxis, csr.IntIDs))(t)
			if _, err := w.IDs(csr.ColAxis, csr.IntIDs); err == nil {
				t.Error("ids begun twice")
			}
			for i := range c.ids {
				must.Do(t, iw.AppendInt(int64(10*i)))
			}
			if c.closed {
				must.Do(t, iw.Close())
			}
			if w.Commit() == nil {
				t.Error("committed")
			}
			requireEmpty(t, dir)
		})
	}
}
