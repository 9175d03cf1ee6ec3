package ingest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// npyFile returns an array of a type as numpy.save writes it.
func npyFile(descr string, fortran bool, shape string, data ...byte) []byte {
	order := map[bool]string{false: "False", true: "True"}[fortran]
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	b := append([]byte(npy.Magic), 1, 0)
	return append(append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...), data...)
}

func float64s(v ...float64) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

var npyCases = []struct {
	name string
	data []byte
	err  error // nil: accepted
	at   int64
	says string
}{
	{"empty", nil, format.ErrHeader, 0, ""},
	{"cut header", npyFile("<f8", false, "(2, 2)")[:60], format.ErrHeader, 0, "byte 60"},
	{"version 4", append([]byte("\x93NUMPY\x04"), npyFile("<f8", false, "(2, 2)")[7:]...), format.ErrHeader, 0, "format 4"},
	{"too short", npyFile("<f8", false, "(2, 2)", make([]byte, 31)...), format.ErrTruncated, 0, "31 bytes of data, the header declares 32"},
	{"too long", npyFile("<f8", false, "(2, 2)", make([]byte, 33)...), format.ErrCount, 0, "32 bytes"},
	{"NaN", npyFile("<f8", false, "(2, 2)", float64s(0, 1, math.NaN(), 0)...), format.ErrNotFinite, 144, "row 1, column 0"},
	{"infinite, by columns", npyFile("<f8", true, "(2, 2)", float64s(0, 1, math.Inf(-1), 0)...), format.ErrNotFinite, 144, "row 0, column 1"},
	{"vector", npyFile("<f8", false, "(4,)", make([]byte, 32)...), format.ErrUnsupported, 0, "reshape(rows, -1)"},
	{"number", npyFile("<f8", false, "()", make([]byte, 8)...), format.ErrUnsupported, 0, "0 dimensions"},
	{"cube", npyFile("<f8", false, "(1, 1, 1)", make([]byte, 8)...), format.ErrUnsupported, 0, "3 dimensions"},
	{"complex", npyFile("<c16", false, "(1, 1)", make([]byte, 16)...), format.ErrUnsupported, 0, "astype('<f8')"},
	{"objects", npyFile("|O", false, "()", 0x80, 4), format.ErrUnsupported, 0, "scipy.sparse.save_npz"},
	{"carriage return", npyFile("<f\r", false, "(1, 1)", make([]byte, 8)...), format.ErrUnsupported, 0, `"<f\r"`},
	{"records", []byte("\x93NUMPY\x01\x00\x3d\x00{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}"), format.ErrHeader, 0, "records"},
	{"dimensions overflow", npyFile("<f8", false, "(9223372036854775807, 9223372036854775807)"), format.ErrHeader, 0, "too large"},
	{"data overflow", npyFile("<f8", false, "(4294967296, 2147483648)"), format.ErrHeader, 0, "too large"},
	{"no rows", npyFile("<f8", false, "(0, 3)"), nil, 0, ""},
	{"no columns", npyFile("<f8", true, "(3, 0)"), nil, 0, ""},
	{"float16", npyFile("<f2", false, "(1, 2)", 0, 0x3c, 0, 0x80), nil, 0, ""},
	{"infinite float16", npyFile(">f2", false, "(1, 2)", 0x3c, 0, 0x7c, 0), format.ErrNotFinite, 130, "row 0, column 1"},
	{"booleans", npyFile("|b1", false, "(2, 3)", 0, 1, 0, 0, 0, 1), nil, 0, ""},
}

func TestNPY(t *testing.T) {
	for _, c := range npyCases {
		t.Run(c.name, func(t *testing.T) {
			for _, content := range [][]byte{c.data, gzipped(t, c.data)} {
				_, _, err := ingestText(t, string(content), Options{Format: "npy", MaxBadLines: 100})
				if c.err == nil {
					if err != nil {
						t.Error(err)
					}
					continue
				}
				if pe := parseError(t, err, c.err, 0, 0); pe.Byte != c.at || !strings.Contains(pe.Error(), c.says) {
					t.Errorf("got %v at %d, want %s at %d", pe, pe.Byte, c.says, c.at)
				}
			}
		})
	}
}

// TestNPYTypes: 15 arrays that NumPy 2.4.6 wrote of one matrix, with all types, byte and index orders and versions.
func TestNPYTypes(t *testing.T) {
	z := must.Get(zip.OpenReader(filepath.Join("testdata", "numpy-types.npz")))(t)
	defer z.Close()
	want := []triple{{"0", "1", 1}, {"0", "3", 2}, {"2", "0", 3}, {"2", "2", 100}}
	for _, f := range z.File {
		r := must.Get(f.Open())(t)
		b := must.Get(io.ReadAll(r))(t)
		streamed, _, err1 := parseAll(b, Options{}, format.ChunkBytes)
		got, in, err2 := parsePlain(write(t, "in", string(b)), Options{}, format.ChunkBytes)
		slices.SortFunc(streamed, compareTriples)
		slices.SortFunc(got, compareTriples)
		if err1 != nil || err2 != nil || in.format != "npy" || *in.shape != (format.Shape{Rows: 3, Cols: 4}) || !slices.Equal(got, want) || !slices.Equal(streamed, want) {
			t.Errorf("%s: %+v, %v, %v, %v, %v", f.Name, in.shape, got, streamed, err1, err2)
		}
	}
	if len(z.File) != 15 {
		t.Errorf("%d arrays", len(z.File))
	}
}

// bigNPY returns a random matrix with many zeros, in row or column order, and its entries.
func bigNPY(rows, cols int, fortran bool) ([]byte, []triple) {
	r := rand.New(rand.NewPCG(6, 6))
	data := make([]byte, 0, 8*rows*cols)
	var want []triple
	for k := range rows * cols {
		i, j := k/cols, k%cols
		if fortran {
			i, j = k%rows, k/rows
		}
		v := float64(max(0, r.IntN(12)-6)) / 2
		data = append(data, float64s(v)...)
		if v != 0 {
			want = append(want, triple{fmt.Sprint(i), fmt.Sprint(j), v})
		}
	}
	slices.SortFunc(want, compareTriples)
	return npyFile("<f8", fortran, fmt.Sprintf("(%d, %d)", rows, cols), data...), want
}

// TestNPYResumes: an ingest that is killed and resumed makes the same store, from plain and from compressed input.
func TestNPYResumes(t *testing.T) {
	b, want := bigNPY(40, 23, true)
	stores := map[string]bool{}
	for name, content := range map[string][]byte{"plain": b, "compressed": gzipped(t, b)} {
		u := &unlucky{name, []string{write(t, "in", string(content))}, Options{Orient: OrientCols}, tiny()}
		stores[u.resumes(t, want).Fingerprint] = true
	}
	if len(stores) != 1 {
		t.Error("the stores differ")
	}
}

// parsePlain is parseAll for the file at path.
func parsePlain(path string, o Options, chunkLen int) ([]triple, *source, error) {
	op := input.Opener{Files: input.Files{FS: vfs.OS()}, Bytes: new(atomic.Int64), MaxWindow: 8 << 20}
	return parseInput(context.Background(), op, path, o, chunkLen)
}

// FuzzNPY: an array is read from a file, by random access, as from a stream, and refused in both or in neither.
func FuzzNPY(f *testing.F) {
	for _, c := range npyCases {
		f.Add(c.data)
	}
	path := filepath.Join(f.TempDir(), "in")
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte(npy.Magic)) {
			t.Skip("no array")
		}
		must.Do(t, os.WriteFile(path, data, 0o666))
		want, _, streamed := parseAll(data, Options{}, 64)
		got, in, err := parsePlain(path, Options{}, format.ChunkBytes)
		if (streamed == nil) != (err == nil) || err != nil && strings.ContainsAny(err.Error(), "\n\r") || err == nil && !slices.Equal(got, want) {
			t.Fatalf("%q: %v, %v as a stream, %v, %v at any place", data, want, streamed, got, err)
		}
		if h, bad := npy.ReadHeader(bytes.NewReader(data)); bad == nil && err == nil {
			kind, _ := npy.TypeOf(h.Descr)
			if in.shape.Rows*in.shape.Cols*int64(kind.Size) != int64(len(data))-h.Size {
				t.Fatalf("%q: %+v", data, in.shape)
			}
		}
	})
}
