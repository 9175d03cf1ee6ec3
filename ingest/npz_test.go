package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func int32s(v ...int32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

func vector(descr string, n int, data []byte) []byte {
	return npyFile(descr, false, fmt.Sprintf("(%d,)", n), data...)
}

// An npzFile holds the members of an archive by the names of the arrays.
type npzFile map[string][]byte

// with returns f with the given members added or replaced; a nil member is removed.
func (f npzFile) with(members npzFile) npzFile {
	g := npzFile{}
	for _, m := range []npzFile{f, members} {
		for name, b := range m {
			if g[name] = b; b == nil {
				delete(g, name)
			}
		}
	}
	return g
}

// bytes returns the archive as numpy.savez or savez_compressed writes it.
func (f npzFile) bytes(t testing.TB, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"indices", "indptr", "row", "col", "coords", "offsets", "format", "shape", "data", "_is_array", "arr_0"} {
		if f[name] == nil {
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err == nil {
			_, err = w.Write(f[name])
		}
		must.Do(t, err)
	}
	must.Do(t, z.Close())
	return b.Bytes()
}

func shapeOf(rows, cols int32) []byte { return vector("<i4", 2, int32s(rows, cols)) }

// smallCSR is [0 1.5 0 −2; 0 0 0 0; 3 0 100 0].
var (
	smallCSR = npzFile{
		"format": npyFile("|S3", false, "()", []byte("csr")...), "shape": shapeOf(3, 4),
		"indptr": vector("<i4", 4, int32s(0, 2, 2, 4)), "indices": vector("<i4", 4, int32s(1, 3, 0, 2)),
		"data": vector("<f8", 4, float64s(1.5, -2, 3, 100)),
	}
	smallCOO = smallCSR.with(npzFile{
		"format": npyFile("|S3", false, "()", []byte("coo")...), "indptr": nil, "indices": nil,
		"row": vector("<i4", 4, int32s(0, 0, 2, 2)), "col": vector("<i4", 4, int32s(1, 3, 0, 2)),
	})
	smallEntries = []triple{{"0", "1", 1.5}, {"0", "3", -2}, {"2", "0", 3}, {"2", "2", 100}}
)

var npzCases = []struct {
	name    string
	members npzFile
	err     error // nil: read as want
	part    string
	says    string
	want    []triple
}{
	{name: "CSR", members: smallCSR, want: smallEntries},
	{name: "CSC", members: smallCSR.with(npzFile{"format": npyFile("|S3", false, "()", []byte("csc")...), "shape": shapeOf(4, 3)}),
		want: []triple{{"0", "2", 3}, {"1", "0", 1.5}, {"2", "2", 100}, {"3", "0", -2}}},
	{name: "COO", members: smallCOO, want: smallEntries},
	{name: "coordinates", members: smallCOO.with(npzFile{"row": nil, "col": nil, "coords": npyFile("<i4", false, "(2, 4)", int32s(0, 0, 2, 2, 1, 3, 0, 2)...)}), want: smallEntries},
	{name: "int64 and int16, Unicode", members: smallCSR.with(npzFile{"format": npyFile("<U3", false, "()", []byte("c\x00\x00\x00s\x00\x00\x00r\x00\x00\x00")...),
		"indptr": vector(">i8", 4, []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04")),
		"data":   vector("<i2", 4, []byte{1, 0, 0xfe, 0xff, 3, 0, 100, 0})}), want: []triple{{"0", "1", 1}, {"0", "3", -2}, {"2", "0", 3}, {"2", "2", 100}}},
	{name: "explicit zeros", members: smallCSR.with(npzFile{"data": vector("<f8", 4, float64s(0, math.Copysign(0, -1), 3, 0))}),
		want: []triple{{"0", "1", 0}, {"0", "3", 0}, {"2", "0", 3}, {"2", "2", 0}}},
	{name: "no entries", members: npzFile{"format": smallCSR["format"], "shape": shapeOf(2, 3), "indptr": vector("<i4", 3, int32s(0, 0, 0)),
		"indices": vector("<i4", 0, nil), "data": vector("<f8", 0, nil)}},

	{name: "no sparse matrix", members: npzFile{"arr_0": npyFile("<f8", false, "(1, 1)", float64s(1)...)}, err: format.ErrUnsupported, says: "arrays arr_0: not supported; save it with scipy.sparse.save_npz"},
	{name: "bsr", members: smallCSR.with(npzFile{"format": npyFile("|S3", false, "()", []byte("bsr")...)}), err: format.ErrUnsupported, says: `"bsr": not supported; save x.tocsr()`},
	{name: "format of numbers", members: smallCSR.with(npzFile{"format": vector("<i4", 1, int32s(1))}), err: format.ErrHeader, part: "format.npy"},
	{name: "format too long", members: smallCSR.with(npzFile{"format": npyFile("|S999999999", false, "()")}), err: format.ErrHeader, part: "format.npy"},
	{name: "format cut", members: smallCSR.with(npzFile{"format": npyFile("|S3", false, "()", []byte("cs")...)}), err: format.ErrTruncated, part: "format.npy"},
	{name: "no shape", members: smallCSR.with(npzFile{"shape": nil}), err: format.ErrHeader, part: "shape.npy", says: "there are data, format, indices, indptr"},
	{name: "one dimension", members: smallCSR.with(npzFile{"shape": vector("<i4", 1, int32s(4))}), err: format.ErrUnsupported, part: "shape.npy", says: "1 dimensions"},
	{name: "shape of floats", members: smallCSR.with(npzFile{"shape": vector("<f8", 2, float64s(3, 4))}), err: format.ErrHeader, part: "shape.npy"},
	{name: "negative shape", members: smallCSR.with(npzFile{"shape": shapeOf(3, -4)}), err: format.ErrHeader, part: "shape.npy"},
	{name: "no indptr", members: smallCSR.with(npzFile{"indptr": nil}), err: format.ErrHeader, part: "indptr.npy"},
	{name: "too few pointers", members: smallCSR.with(npzFile{"shape": shapeOf(4, 4)}), err: format.ErrCount, part: "indptr.npy", says: "4 pointers for 4 lines"},
	{name: "pointers from 1", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(1, 2, 2, 4))}), err: format.ErrCount, part: "indptr.npy", says: "the first pointer is 1"},
	{name: "descending pointers", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, 2, 1, 4))}), err: format.ErrCount, part: "indptr.npy", says: "byte 136: wrong number of entries: pointer 1 after 2"},
	{name: "negative pointer", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, -2, 1, 4))}), err: format.ErrCount, part: "indptr.npy", says: "pointer -2 after 0"},
	{name: "pointer behind the end", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, 2, 2, 5))}), err: format.ErrCount, part: "indptr.npy", says: "pointer 5 behind the last of 4"},
	{name: "pointers end before", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, 2, 2, 3))}), err: format.ErrCount, part: "indptr.npy", says: "x.prune()"},
	{name: "descending behind the last entry", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, 4, 4, 3))}), err: format.ErrCount, part: "indptr.npy", says: "pointer 3 after 4"},
	{name: "index too large", members: smallCSR.with(npzFile{"indices": vector("<i4", 4, int32s(1, 3, 4, 2))}), err: text.ErrIndex, part: "indices.npy", says: "byte 136: index 4"},
	{name: "negative index", members: smallCSR.with(npzFile{"indices": vector("<i4", 4, int32s(1, 3, 0, -1))}), err: text.ErrIndex, part: "indices.npy", says: "index -1"},
	{name: "unsigned index beyond int64", members: smallCSR.with(npzFile{"indices": vector("<u8", 4, bytes.Repeat([]byte{255}, 32))}), err: text.ErrIndex, part: "indices.npy"},
	{name: "indices of floats", members: smallCSR.with(npzFile{"indices": vector("<f4", 4, int32s(1, 3, 0, 1))}), err: format.ErrHeader, part: "indices.npy"},
	{name: "indices in two dimensions", members: smallCSR.with(npzFile{"indices": npyFile("<i4", false, "(2, 2)", int32s(1, 3, 0, 1)...)}), err: format.ErrHeader, part: "indices.npy"},
	{name: "fewer values", members: smallCSR.with(npzFile{"data": vector("<f8", 3, float64s(1, 2, 3))}), err: format.ErrCount, part: "data.npy", says: "3 values for 4 indices"},
	{name: "complex values", members: smallCSR.with(npzFile{"data": vector("<c16", 4, float64s(1, 0, 2, 0, 3, 0, 4, 0))}), err: format.ErrUnsupported, part: "data.npy"},
	{name: "NaN", members: smallCSR.with(npzFile{"data": vector("<f8", 4, float64s(1, 2, math.NaN(), 4))}), err: format.ErrNotFinite, part: "data.npy", says: "byte 144"},
	{name: "short data", members: smallCSR.with(npzFile{"data": vector("<f8", 4, float64s(1, 2, 3))}), err: format.ErrTruncated, part: "data.npy"},
	{name: "long data", members: smallCSR.with(npzFile{"data": vector("<f8", 4, float64s(1, 2, 3, 4, 5))}), err: format.ErrCount, part: "data.npy", says: "more data"},
	{name: "long pointers", members: smallCSR.with(npzFile{"indptr": vector("<i4", 4, int32s(0, 2, 2, 4, 4))}), err: format.ErrCount, part: "indptr.npy", says: "more data"},
	{name: "header cut", members: smallCSR.with(npzFile{"data": smallCSR["data"][:40]}), err: format.ErrHeader, part: "data.npy"},
	{name: "no array", members: smallCSR.with(npzFile{"data": []byte("1 2 3")}), err: format.ErrHeader, part: "data.npy"},
	{name: "COO without rows", members: smallCOO.with(npzFile{"row": nil}), err: format.ErrHeader, part: "row.npy"},
	{name: "COO of two lengths", members: smallCOO.with(npzFile{"row": vector("<i4", 3, int32s(0, 0, 2))}), err: format.ErrCount, part: "row.npy"},
	{name: "COO row outside", members: smallCOO.with(npzFile{"row": vector("<i4", 4, int32s(0, 3, 2, 2))}), err: text.ErrIndex, part: "row.npy", says: "byte 132: index 3"},
	{name: "coordinates in Fortran order", members: smallCOO.with(npzFile{"row": nil, "col": nil, "coords": npyFile("<i4", true, "(2, 4)", int32s(0, 0, 2, 2, 1, 3, 0, 2)...)}), err: format.ErrHeader, part: "coords.npy"},
	{name: "three coordinates", members: smallCOO.with(npzFile{"row": nil, "col": nil, "coords": npyFile("<i4", false, "(3, 4)", int32s(0, 0, 2, 2, 1, 3, 0, 2, 0, 0, 0, 0)...)}), err: format.ErrHeader, part: "coords.npy"},
}

func TestNPZ(t *testing.T) {
	for _, c := range npzCases {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []uint16{zip.Store, zip.Deflate} {
				rep, got, err := ingestText(t, string(c.members.bytes(t, method)), Options{MaxBadLines: 100})
				if c.err == nil {
					if err != nil || rep.Format != "npz" || !slices.Equal(got, c.want) {
						t.Errorf("got %+v, %v, %v, want %v", rep, got, err, c.want)
					}
					continue
				}
				if pe := parseError(t, err, c.err, 0, 0); pe.Part != c.part || !strings.Contains(pe.Error(), c.says) || strings.Contains(pe.Error(), "\n") {
					t.Errorf("got %v, want one of %s with %s", pe, c.part, c.says)
				}
			}
		})
	}
}

// TestSciPy reads csr_matrix (float64, deflated), csc_array (int16, stored), coo_array (float32, deflated) of SciPy 1.17.1.
func TestSciPy(t *testing.T) {
	for _, name := range []string{"csr", "csc", "coo"} {
		out, rep := ingested(t, []string{filepath.Join("testdata", "scipy-"+name+".npz")}, Options{})
		if got := contents(t, out); rep.Rows != 3 || rep.Cols != 4 || !slices.Equal(got, []triple{{"0", "1", 1}, {"0", "3", 2}, {"2", "0", 3}, {"2", "2", 100}}) {
			t.Errorf("%s: %+v, %v", name, rep, got)
		}
	}
}

// TestDamagedNPZ: a truncated archive is refused, one with a changed byte is refused or read as before, each in one line.
func TestDamagedNPZ(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		whole, step := smallCSR.bytes(t, method), longtest.Pick(5, 23)
		_, want, err := parsePlain(write(t, "in", string(whole)), Options{}, format.ChunkBytes)
		must.Do(t, err)
		path := write(t, "in", "")
		try := func(what string, b []byte, refused bool) {
			t.Helper()
			must.Do(t, os.WriteFile(path, b, 0o666))
			got, in, err := parsePlain(path, Options{Format: "npz"}, format.ChunkBytes)
			var pe *format.ParseError
			switch {
			case err != nil && (!errors.As(err, &pe) || strings.ContainsAny(err.Error(), "\n\r")):
				t.Errorf("%s: %v", what, err)
			case err == nil && (refused || !slices.Equal(got, smallEntries) || *in.shape != *want.shape):
				t.Errorf("%s: read as %v", what, got)
			}
		}
		for cut := 0; cut < len(whole); cut += step {
			try(fmt.Sprintf("cut at %d", cut), whole[:cut], true)
			b := bytes.Clone(whole)
			b[cut] ^= 0x11
			try(fmt.Sprintf("changed at %d", cut), b, false)
		}
	}
	_, _, err := ingestText(t, string(gzipped(t, smallCSR.bytes(t, zip.Store))), Options{})
	if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "uncompressed file") {
		t.Error(pe)
	}
}

// randomNPZ returns a matrix of n rows, many of them empty, and its entries.
func randomNPZ(n, cols int) (npzFile, []triple) {
	r := rand.New(rand.NewPCG(8, 8))
	indptr, indices, data := int32s(0), []byte(nil), []byte(nil)
	var want []triple
	for i := range n {
		for j := r.IntN(cols); j < cols && r.IntN(3) > 0; j += 1 + r.IntN(cols/3) {
			indices = append(indices, int32s(int32(j))...)
			v := float64(r.IntN(50))
			data = append(data, float64s(v)...)
			want = append(want, triple{fmt.Sprint(i), fmt.Sprint(j), v})
		}
		indptr = append(indptr, int32s(int32(len(want)))...)
	}
	k := len(want)
	slices.SortFunc(want, compareTriples)
	return smallCSR.with(npzFile{"shape": shapeOf(int32(n), int32(cols)), "indptr": vector("<i4", n+1, indptr),
		"indices": vector("<i4", k, indices), "data": vector("<f8", k, data)}), want
}

func TestNPZResumes(t *testing.T) {
	t.Parallel()
	f, want := randomNPZ(300, 60)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		u := &unlucky{"npz", []string{write(t, "in", string(f.bytes(t, method)))}, Options{Orient: OrientRows}, tiny()}
		u.resumes(t, want)
	}
}

// TestNPZOfManyMembers: an archive whose list of members takes more memory than the limit is refused.
func TestNPZOfManyMembers(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 1 << 15 {
		must.Get(z.CreateHeader(&zip.FileHeader{Name: fmt.Sprint(i, ".npy")}))(t)
	}
	must.Do(t, z.Close())
	_, _, err := ingestText(t, b.String(), Options{})
	if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "list of members") || strings.Contains(pe.Error(), "\n") {
		t.Error(err)
	}
}

// TestNPZPlaces: the error about a duplicate names member and byte, and a failing read is not reported as damage.
func TestNPZPlaces(t *testing.T) {
	twice := smallCSR.with(npzFile{"indices": vector("<i4", 4, int32s(1, 3, 2, 2))}).bytes(t, zip.Deflate)
	_, _, err := ingestText(t, string(twice), Options{})
	if de := (*duplicateError)(nil); !errors.As(err, &de) || de.Row != "3" || !strings.Contains(err.Error(), "in, data.npy, byte 152: row 3, column 3") {
		t.Errorf("got %v", err)
	}
	if rep, _, err := ingestText(t, string(twice), Options{Duplicates: Sum}); err != nil || rep.NNZ != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	in := write(t, "in", string(smallCSR.bytes(t, zip.Deflate)))
	for n := range 12 {
		reads := 0
		fsys := &vfstest.FaultFS{FS: vfs.OS(), Inject: oneByOne(func(op vfstest.Op) error {
			if op.Kind != vfstest.OpRead && op.Kind != vfstest.OpReadAt || op.Name != in {
				return nil
			}
			if reads++; reads > n {
				return &os.PathError{Op: "read", Path: in, Err: syscall.EIO}
			}
			return nil
		})}
		_, err := Ingest(t.Context(), []string{in}, target(t), Options{FS: fsys, CheckpointEvery: -1})
		if pe := (*format.ParseError)(nil); !errors.Is(err, syscall.EIO) || errors.As(err, &pe) {
			t.Errorf("read %d fails: %v", n, err)
		}
	}
}

// FuzzNPZ: no archive makes the reader panic, and entries and errors do not depend on the chunk size.
func FuzzNPZ(f *testing.F) {
	for _, c := range npzCases {
		f.Add(c.members.bytes(f, zip.Store))
	}
	f.Add(smallCSR.bytes(f, zip.Deflate))
	path := filepath.Join(f.TempDir(), "in")
	f.Fuzz(func(t *testing.T, data []byte) {
		must.Do(t, os.WriteFile(path, data, 0o666))
		want, in, wantErr := parsePlain(path, Options{Format: "npz"}, format.ChunkBytes)
		got, _, err := parsePlain(path, Options{Format: "npz"}, 64)
		if (err == nil) != (wantErr == nil) || err == nil && !slices.Equal(got, want) {
			t.Fatalf("%q: %v, %v in small chunks, %v, %v in one", data, got, err, want, wantErr)
		}
		if errors.Is(err, io.EOF) {
			t.Fatalf("%q: %v", data, err)
		}
		if err == nil && in.format == "npz" && int64(len(want)) > 0 && (in.shape.Rows == 0 || in.shape.Cols == 0) {
			t.Fatalf("%q: entries in %+v", data, in.shape)
		}
	})
}

// TestMNISTInAllFormats: 400 images give the same store from IDX, npz, npy, svmlight and Matrix Market.
func TestMNISTInAllFormats(t *testing.T) {
	const rows, cols = 400, 784
	images := plain(t, filepath.Join(dataDir(t), "mnist", "train-images-idx3-ubyte.gz"))[16 : 16+rows*cols]
	indptr, indices, major, data := int32s(0), []byte(nil), []byte(nil), []byte(nil)
	var svm, mm strings.Builder
	for i := range rows {
		svm.WriteString("7")
		for j, v := range images[i*cols : (i+1)*cols] {
			if v != 0 {
				indices, major, data = append(indices, int32s(int32(j))...), append(major, int32s(int32(i))...), append(data, v)
				fmt.Fprintf(&svm, " %d:%d", j+1, v)
				fmt.Fprintf(&mm, "%d %d %d\n", i+1, j+1, v)
			}
		}
		svm.WriteString("\n")
		indptr = append(indptr, int32s(int32(len(data)))...)
	}
	n := len(data)
	csr := npzFile{"format": smallCSR["format"], "shape": shapeOf(rows, cols), "indptr": vector("<i4", rows+1, indptr),
		"indices": vector("<i4", n, indices), "data": vector("|u1", n, data)}
	coo := csr.with(npzFile{"format": smallCOO["format"], "indptr": nil, "indices": nil, "row": vector("<i4", n, major), "col": csr["indices"]})
	want := ""
	for _, c := range []struct {
		name    string
		content []byte
		o       Options
	}{
		{"idx", append([]byte{0, 0, 8, 3, 0, 0, rows >> 8, rows & 255, 0, 0, 0, 28, 0, 0, 0, 28}, images...), Options{}},
		{"npz", csr.bytes(t, zip.Store), Options{}},
		{"npz", coo.bytes(t, zip.Deflate), Options{}},
		{"npy", npyFile("|u1", false, "(400, 784)", images...), Options{}},
		{"svmlight", []byte(svm.String()), Options{Features: cols}}, // the last columns have no entry
		{"mtx", []byte(fmt.Sprintf("%s%d %d %d\n%s", mmInt, rows, cols, n, mm.String())), Options{}},
	} {
		rep := mustIngest(t, []string{write(t, "in", string(c.content))}, target(t), c.o)
		if want == "" {
			want = rep.Fingerprint
		}
		if rep.Format != c.name || rep.Rows != rows || rep.Cols != cols || rep.NNZ != int64(n) || rep.Fingerprint != want {
			t.Errorf("%s: %+v, want the store %s", c.name, rep, want)
		}
	}
}
