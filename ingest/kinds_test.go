package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestKindsOfFiles: the error about an unsupported file names its kind and a remedy, also if the file is compressed
// and whatever its name is.
func TestKindsOfFiles(t *testing.T) {
	zipped := func(name string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if w, err := z.Create(name); err != nil {
			t.Fatal(err)
		} else if _, err := w.Write([]byte("1,10,3\n")); err != nil {
			t.Fatal(err)
		}
		must.Do(t, z.Close())
		return b.String()
	}
	var tarred bytes.Buffer
	w := tar.NewWriter(&tarred)
	must.Do(t, w.WriteHeader(&tar.Header{Name: "1,10,3", Size: 7}))
	must.Get(w.Write([]byte("1,10,3\n")))(t)
	must.Do(t, w.Close())
	for _, c := range []struct{ content, kind, do string }{
		{zipped("ratings.csv"), "a zip archive", "unzip -p"},
		{zipped("[Content_Types].xml"), "a spreadsheet", "CSV"},
		{"\x89HDF\r\n\x1a\n\x00\x00", "HDF5", "with gdsvd.Store.from_h5ad"},
		{"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 ." + strings.Repeat(" ", 512) + "\x89HDF\r\n\x1a\n", "HDF5", "scipy.sparse.save_npz"},
		{"MATLAB 5.0 MAT-file, Platform: GLNXA64\x00", "a MATLAB file", "scipy.sparse.save_npz"},
		{"\x80\x04\x95\x10\x00", "pickle", "CSV"},
		{"ARROW1\x00\x00\xff\xff\xff\xff\xa8", "an Arrow file", "python -m gdsvd arrow <"},
		{"FEA1\x00\x00\x00\x00", "an Arrow file", "Parquet"},
		{"\xff\xff\xff\xff\xd8\x00\x00\x00\x10\x00\x00\x00\x00\x00\n\x00", "a stream of Arrow", "python -m gdsvd arrow"},
		{"SQLite format 3\x00", "SQLite", "CSV"},
		{"\xff\xfe\x00\x001\x00\x00\x00,\x00\x00\x002\x00\x00\x00", "UTF-32", "iconv -f UTF-32"},
		{"\xff\xfe1\x00,\x002\x00", "UTF-16", "iconv"},
		{tarred.String(), "a tar archive", "tar -xOf"},
	} {
		for _, content := range []string{c.content, string(gzipped(t, []byte(c.content)))} {
			_, _, err := ingestText(t, content, Options{})
			pe := parseError(t, err, format.ErrUnsupported, 0, 0)
			if text := pe.Error(); !strings.Contains(text, c.kind) || !strings.Contains(text, c.do) || strings.Contains(text, "\n") {
				t.Errorf("%s: %v", c.kind, err)
			}
		}
	}
	_, _, err := ingestText(t, string(gzipped(t, gzipped(t, []byte("1,10,3\n")))), Options{})
	if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "compressed twice") {
		t.Error(pe)
	}
	if _, got, err := ingestText(t, "PAR1,x,3\nORC,y,4\nFEA1,z,5\n", Options{}); err != nil || len(got) != 3 {
		t.Errorf("ids like the first bytes of formats: %v, %v", got, err)
	}
}

// TestBehindGzip: zeros after a gzip stream are padding, as for gzip(1); other bytes are
// refused with their offset.
func TestBehindGzip(t *testing.T) {
	whole := gzipped(t, []byte("1,10,3\n"), []byte("2,11,4\n"))
	for _, n := range []int{1, 2, 511, 1 << 17} {
		if _, got, err := ingestText(t, string(whole)+strings.Repeat("\x00", n), Options{}); err != nil || !slices.Equal(got, []triple{{"1", "10", 3}, {"2", "11", 4}}) {
			t.Errorf("%d zeros: %v, %v", n, got, err)
		}
	}
	for _, garbage := range []string{"x", "garbage", "\x1f\x8a", "\x00\x00x", strings.Repeat("\x00", 1<<17) + "x"} {
		_, _, err := ingestText(t, string(whole)+garbage, Options{})
		at := len(whole) + 1 + strings.LastIndex(garbage, "\x00") + 1
		want := "trailing garbage behind the gzip stream, at byte " + ofInt(at)
		if pe := parseError(t, err, format.ErrCompression, 3, 0); !strings.Contains(pe.Error(), want) || strings.Contains(pe.Error(), "truncated") {
			t.Errorf("%q: %v, want %s", garbage[:1], err, want)
		}
	}
}

// TestInputsThatAreNoFiles: unsupported URLs and names that are no regular files are refused.
func TestInputsThatAreNoFiles(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{"ftp://me:secret@example.org/ratings.csv?secret", "read ftp://example.org/ratings.csv?…: URLs of https and s3 are read; fetch this one first"},
		{"http://example.org/ratings.csv?secret", "read http://example.org/ratings.csv?…: http is not encrypted"},
		{"/dev/null", "it is a device"},
		{t.TempDir(), "is a directory; name the files in it"},
	} {
		out := target(t)
		if _, err := Ingest(t.Context(), []string{c.input}, out, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.input, err, c.want)
		}
		leftovers(t, out, false)
	}
}

// TestCompressions: files of bzip2(1) and xz(1) with several streams, blocks and padding are read; a dictionary larger
// than the budget allows is refused with the memory that it needs.
func TestCompressions(t *testing.T) {
	var want []triple
	for i := range 300 {
		want = append(want, triple{ofInt(i%60 + 4), ofInt(i / 60 * 7), float64(i % 5)})
	}
	for _, name := range []string{"lines.bz2", "lines.xz"} {
		got, in, err := parsePlain(filepath.Join("testdata", name), Options{}, format.ChunkBytes)
		if err != nil || !slices.Equal(got, want) || in.Compression != strings.Replace(name[len("lines."):], "bz2", "bzip2", 1) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		whole := plain(t, filepath.Join("testdata", name))
		if got, _, err := parseAll(whole, Options{}, 64); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s as a stream: %v, %v", name, got, err)
		}
		_, _, err = ingestText(t, string(gzipped(t, whole)), Options{})
		if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "compressed twice") {
			t.Error(pe)
		}
		_, _, err = ingestText(t, string(whole)+"garbage, not a stream", Options{})
		parseError(t, err, format.ErrCompression, 301, 0)
	}
	z, err := zstd.NewWriter(nil)
	must.Do(t, err)
	pzstd := append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00\x20\x00\x00\x00"), z.EncodeAll([]byte("1 2 3\n"), nil)...) // a skippable frame first
	if _, got, err := ingestText(t, string(pzstd), Options{}); err != nil || !slices.Equal(got, []triple{{"1", "2", 3}}) {
		t.Errorf("zstd behind a frame that is skipped: %v, %v", got, err)
	}
	_, _, err = parsePlain(filepath.Join("testdata", "window.xz"), Options{}, format.ChunkBytes)
	if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "its dictionary takes 64 MiB, --memory 512MiB reads it") {
		t.Error(pe)
	}
	if rep := mustIngest(t, []string{filepath.Join("testdata", "window.xz")}, target(t), Options{Memory: 512 << 20}); rep.NNZ != 100 {
		t.Errorf("%+v", rep)
	}
}

// TestPatterns: "*" does not match hidden files, as in a shell, and a file named twice is refused: it would count twice.
func TestPatterns(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.csv": "1,10,3\n", "b.csv": "2,10,4\n", ".a.csv.swp": "3,10,5\n", "._a.csv": "4,10,6\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		inputs []string
		want   string // the ids of the rows, or the end of the error
	}{
		{[]string{at("*")}, "1 2"},
		{[]string{at(".*")}, "3 4"},
		{[]string{at("a*"), at(".a*")}, "1 3"},
		{[]string{at("._a.csv")}, "4"},
		{[]string{at("a.csv"), at("a.csv")}, "a.csv: named twice"},
		{[]string{at("*"), dir + "/./b.csv"}, "b.csv: named twice"},
	} {
		out := target(t)
		_, err := Ingest(t.Context(), c.inputs, out, Options{Duplicates: Sum})
		got := fmt.Sprint(err)
		if err == nil {
			var rows []string
			for _, e := range contents(t, out) {
				rows = append(rows, e.Row)
			}
			got = strings.Join(rows, " ")
		}
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%v: %s, want %s", c.inputs, got, c.want)
		}
	}
}
