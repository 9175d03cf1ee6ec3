package csr_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// memFS serves the files of one store from memory; it implements the methods that readers use.
type memFS struct {
	vfs.FS
	files map[string][]byte
}

type memFile struct {
	vfs.File
	*bytes.Reader
	name string
}

type memInfo struct {
	name string
	size int64
}

type memMapping []byte

func (m memMapping) Size() int64                           { return int64(len(m)) }
func (m memMapping) Advise(vfs.Advice, int64, int64) error { return nil }
func (m memMapping) Cached(int64, int64) (bool, error)     { return false, errors.ErrUnsupported }
func (m memMapping) Close() error                          { return nil }

func (m memMapping) Bytes(off, n int64, _ bool) ([]byte, error) { return m[off : off+n], nil }

func (m memMapping) ReadDirect(*vfs.Buffer, int, int64) error { return errors.ErrUnsupported }

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return 0 }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return false }
func (i memInfo) Sys() any           { return nil }

func (f memFile) Read(b []byte) (int, error)              { return f.Reader.Read(b) }
func (f memFile) ReadAt(b []byte, off int64) (int, error) { return f.Reader.ReadAt(b, off) }
func (f memFile) Stat() (fs.FileInfo, error)              { return memInfo{f.name, f.Size()}, nil }
func (f memFile) Close() error                            { return nil }
func (m memFS) Map(name string) (vfs.Mapping, error) {
	b, err := m.get(name)
	return memMapping(b), err
}
func (m memFS) ReadDir(string) ([]fs.DirEntry, error) { return nil, nil }

func (m memFS) get(name string) ([]byte, error) {
	b, ok := m.files[filepath.Base(name)]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

func (m memFS) Open(name string) (vfs.File, error) {
	b, err := m.get(name)
	return memFile{nil, bytes.NewReader(b), name}, err
}

func (m memFS) Stat(name string) (fs.FileInfo, error) {
	b, err := m.get(name)
	return memInfo{name, int64(len(b))}, err
}

// smallStores returns a store in memory for each coding, of one shard each.
func smallStores(t testing.TB) []map[string][]byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(15, 16))
	var stores []map[string][]byte
	for _, next := range []func() float64{
		func() float64 { return 2 },
		func() float64 { return float64(rng.IntN(5)) },
		func() float64 { return float64(rng.IntN(50)) },
		func() float64 { return float64(rng.IntN(1 << rng.IntN(20))) },
		func() float64 { return float64(rng.Float32()) },
		rng.NormFloat64,
	} {
		m := randomMatrix(rng, 30, 400, 30, next)
		path := filepath.Join(t.TempDir(), "x.csr")
		w := must.Get(csr.Create(path, csr.CreateOptions{Cols: m.cols, Values: m.stats()}))(t)
		for _, r := range m.rows {
			must.Do(t, w.AppendRow(r.cols, r.vals))
		}
		if m.stats().Coding == csr.Dict4 { // only one store has two blocks, as they take long
			must.Do(t, errors.Join(w.AppendEmptyRows(csr.BlockRows), w.AppendRow(m.rows[0].cols, m.rows[0].vals)))
		}
		must.Do(t, w.Commit())
		files := map[string][]byte{}
		for _, name := range []string{"MANIFEST.json", "shard-000000.csr"} {
			files[name] = must.Get(os.ReadFile(filepath.Join(path, name)))(t)
		}
		stores = append(stores, files)
	}
	return stores
}

// requireValidOrError opens and reads a store: it must give an explained error, or blocks that keep
// the guarantees of Block. It must not panic.
func requireValidOrError(t *testing.T, fsys vfs.FS) {
	t.Helper()
	s, err := csr.Open("x.csr", csr.OpenOptions{FS: fsys})
	if err != nil {
		requireExplained(t, err)
		return
	}
	defer s.Close()
	var b csr.Block
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, &b); err != nil {
			requireExplained(t, err)
			continue
		}
		info := s.Block(i)
		valued := s.Values().Coding != csr.Constant
		if b.Rows() != info.Rows || b.NNZ() != info.NNZ || valued && len(b.Code)+len(b.Val) != info.NNZ || b.RowPtr[0] != 0 || int(b.RowPtr[info.Rows]) != info.NNZ {
			t.Fatalf("block %d: lengths %d, %d, %d, %d, %d for %+v", i, len(b.RowPtr), len(b.Col16), len(b.Col), len(b.Code), len(b.Val), info)
		}
		for r := range b.Rows() {
			if b.RowPtr[r] > b.RowPtr[r+1] {
				t.Fatalf("block %d: offsets %v", i, b.RowPtr)
			}
			cols, vals := rowOf(&b, r)
			for k, c := range cols {
				if int64(c) >= s.Cols() || k > 0 && c <= cols[k-1] {
					t.Fatalf("block %d: columns %v of %d", i, cols, s.Cols())
				}
				if math.IsNaN(vals[k]) || math.IsInf(vals[k], 0) {
					t.Fatalf("block %d: value %v", i, vals[k])
				}
			}
		}
	}
}

func requireExplained(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, csr.ErrCorrupt) && !errors.Is(err, csr.ErrVersion) && !errors.Is(err, csr.ErrNotStore) {
		t.Fatalf("unexpected error %v", err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Fatalf("more than a line: %q", err)
	}
}

// mutated returns a store with a mutated shard. repair 1 corrects the crcs, repair 2 also makes the manifest follow the footer.
func mutated(manifest, shard []byte, repair int) memFS {
	switch repair % 3 {
	case 1:
		manifest = csr.Reseal(manifest, shard)
	case 2:
		manifest = csr.FollowShard(manifest, shard)
	}
	return memFS{files: map[string][]byte{"MANIFEST.json": manifest, "shard-000000.csr": shard}}
}

// FuzzOpenShard opens a store with a mutated shard.
func FuzzOpenShard(f *testing.F) {
	stores := smallStores(f)
	for i, files := range stores {
		for repair := range uint8(3) {
			f.Add(files["shard-000000.csr"], uint8(i), repair)
		}
	}
	f.Fuzz(func(t *testing.T, shard []byte, store, repair uint8) {
		fsys := mutated(stores[int(store)%len(stores)]["MANIFEST.json"], slices.Clone(shard), int(repair))
		requireValidOrError(t, fsys)
		report := must.Get(csr.Check(t.Context(), "x.csr", csr.CheckOptions{FS: fsys}))(t)
		for _, p := range report.Problems {
			requireExplained(t, p)
		}
	})
}

// FuzzManifest opens a store with a mutated manifest, with its crc repaired or not.
func FuzzManifest(f *testing.F) {
	stores := smallStores(f)
	for i, files := range stores {
		f.Add(files["MANIFEST.json"], uint8(i), true)
		f.Add(files["MANIFEST.json"], uint8(i), false)
	}
	f.Fuzz(func(t *testing.T, manifest []byte, store uint8, repair bool) {
		manifest = slices.Clone(manifest)
		if repair {
			csr.RepairManifest(manifest)
		}
		fsys := memFS{files: map[string][]byte{
			"MANIFEST.json":    manifest,
			"shard-000000.csr": stores[int(store)%len(stores)]["shard-000000.csr"],
		}}
		requireValidOrError(t, fsys)
	})
}

// FuzzIDs reads a mutated file of ids with a manifest that agrees with it.
func FuzzIDs(f *testing.F) {
	manifests := map[csr.IDKind][]byte{}
	for kind, write := range map[csr.IDKind]func(path string) error{
		csr.IntIDs:    func(path string) error { return writeIDs(path, []int64{-7, 1, 2, 1 << 60}, nil) },
		csr.StringIDs: func(path string) error { return writeIDs(path, nil, []string{"", "a", "ab", "b"}) },
	} {
		path := filepath.Join(f.TempDir(), "x.csr")
		must.Do(f, write(path))
		ids := must.Get(os.ReadFile(filepath.Join(path, "rows.ids")))(f)
		manifests[kind] = must.Get(os.ReadFile(filepath.Join(path, "MANIFEST.json")))(f)
		shard := must.Get(os.ReadFile(filepath.Join(path, "shard-000000.csr")))(f)
		number := uint8(0)
		if kind == csr.StringIDs {
			number = 1
		}
		f.Add(ids, shard, number)
	}
	f.Fuzz(func(t *testing.T, ids, shard []byte, kind uint8) {
		manifest := csr.EditManifest(manifests[[]csr.IDKind{csr.IntIDs, csr.StringIDs}[kind%2]], func(m *csr.Manifest) {
			m.IDs.Rows.Size, m.IDs.Rows.CRC = int64(len(ids)), csr.CRC(ids)
		})
		manifest = csr.Reseal(manifest, slices.Clone(shard))
		fsys := memFS{files: map[string][]byte{"MANIFEST.json": manifest, "shard-000000.csr": shard, "rows.ids": ids}}
		s, err := csr.Open("x.csr", csr.OpenOptions{FS: fsys})
		if err != nil {
			requireExplained(t, err)
			return
		}
		defer s.Close()
		r, err := s.IDs(csr.RowAxis)
		if err != nil {
			requireExplained(t, err)
			return
		}
		n, last, lastInt := int64(0), "", int64(0)
		for ; r.Next(); n++ {
			if r.Kind() == csr.IntIDs && n > 0 && r.Int() <= lastInt || r.Kind() == csr.StringIDs && n > 0 && r.String() <= last {
				t.Fatalf("id %v after %v", r, last)
			}
			last, lastInt = r.String(), r.Int()
		}
		if r.Err() != nil {
			requireExplained(t, r.Err())
		} else if n != r.Count() {
			t.Fatalf("%d ids of %d", n, r.Count())
		}
	})
}

// TestMutatedShards runs a short version of FuzzOpenShard: bytes changed, runs of bytes copied or
// cut, with every kind of repair.
func TestMutatedShards(t *testing.T) {
	stores := smallStores(t)
	rng := rand.New(rand.NewPCG(17, 18))
	opened, tries := 0, longtest.Pick(3000, 900)
	for n := range tries {
		files := stores[n%len(stores)]
		shard := slices.Clone(files["shard-000000.csr"])
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(shard))
			switch rng.IntN(4) {
			case 0:
				shard[at] ^= 1 << rng.IntN(8)
			case 1:
				shard[at] = byte(rng.Uint32())
			case 2:
				copy(shard[at:], shard[rng.IntN(len(shard)):])
			case 3:
				shard = append(shard[:at], shard[min(len(shard), at+rng.IntN(4)):]...)
			}
		}
		fsys := mutated(files["MANIFEST.json"], shard, n/len(stores))
		if s, err := csr.Open("x.csr", csr.OpenOptions{FS: fsys}); err == nil {
			opened++
			s.Close()
		}
		requireValidOrError(t, fsys)
	}
	if opened < tries/6 {
		t.Errorf("only %d mutated stores got past open: the decoder was hardly tried", opened)
	}
}
