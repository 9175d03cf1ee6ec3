package ingest

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// folder writes files into a new directory and compresses those whose names end in .gz.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if strings.HasSuffix(name, ".gz") {
			content = string(gzipped(t, []byte(content)))
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	return dir
}

const (
	tenXMatrix   = "%%MatrixMarket matrix coordinate integer general\n%metadata_json: {\"format_version\": 2}\n3 2 3\n3 1 4\n1 1 1\n2 2 7\n"
	tenXFeatures = "ENSG3\tC\tGene Expression\nENSG1\tA\tGene Expression\nENSG2\tB\tGene Expression\n"
	tenXGenes    = "ENSG3\tC\nENSG1\tA\nENSG2\tB\n"
	tenXBarcodes = "TTT-1\nAAA-1\n"
)

func TestTenX(t *testing.T) {
	want := []triple{{"ENSG1", "AAA-1", 7}, {"ENSG2", "TTT-1", 4}, {"ENSG3", "TTT-1", 1}}
	v3 := map[string]string{"matrix.mtx.gz": tenXMatrix, "features.tsv.gz": tenXFeatures, "barcodes.tsv.gz": tenXBarcodes}
	var stores []string
	for _, c := range []struct {
		name   string
		files  map[string]string
		prefix string
	}{
		{"version 3", v3, ""},
		{"version 2", map[string]string{"matrix.mtx": tenXMatrix, "genes.tsv": tenXGenes, "barcodes.tsv": tenXBarcodes, "README": "x"}, ""},
		{"prefix", map[string]string{"v3.matrix.mtx.gz": tenXMatrix, "v3.features.tsv.gz": tenXFeatures, "v3.barcodes.tsv.gz": tenXBarcodes}, ""},
		{"one of two prefixes", map[string]string{"a_matrix.mtx": tenXMatrix, "a_genes.tsv": tenXGenes, "a_barcodes.tsv": tenXBarcodes,
			"b_matrix.mtx": tenXMatrix, "b_genes.tsv": tenXGenes, "b_barcodes.tsv": tenXBarcodes}, "/a_"},
	} {
		out := target(t)
		in := folder(t, c.files) + filepath.FromSlash(c.prefix)
		rep := mustIngest(t, []string{in}, out, Options{})
		if got := contents(t, out); rep.Format != "mtx" || rep.Rows != 3 || rep.Cols != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, %v", c.name, rep, got)
		}
		if got, want := fmt.Sprint(titledOf(t, out, format.RowSide)), "map[ENSG1:A ENSG2:B ENSG3:C]"; got != want || rep.RowTitles != 3 {
			t.Errorf("%s: titles %s, %d, want %s", c.name, got, rep.RowTitles, want)
		}
		stores = append(stores, rep.Fingerprint)
		if d, err := Sniff(t.Context(), []string{in}, Options{}); err != nil || d.Inputs[0].Format != "mtx" {
			t.Errorf("%s: %+v, %v", c.name, d, err)
		}
		if rep, err := Ingest(t.Context(), []string{in}, out, Options{Resume: true}); err != nil || !rep.Finished {
			t.Errorf("%s, finished: %+v, %v", c.name, rep, err)
		}
	}
	if len(slices.Compact(stores)) != 1 {
		t.Errorf("other stores: %v", stores)
	}
	dir := folder(t, v3)
	ids := write(t, "ids", "c\na\nb\n")
	out, _ := ingested(t, []string{dir}, Options{RowIDs: ids})
	if got := contents(t, out); got[0] != (triple{"a", "AAA-1", 7}) {
		t.Errorf("other ids: %v", got)
	}
	out = target(t)
	mustIngest(t, []string{filepath.Join(dir, "matrix.mtx.gz")}, out, Options{})
	if got := contents(t, out); !slices.Equal(got, []triple{{"0", "0", 1}, {"1", "1", 7}, {"2", "0", 4}}) {
		t.Errorf("the matrix alone: %v", got)
	}
}

// TestTenXRefused: an incomplete folder is refused in one line that names a remedy.
func TestTenXRefused(t *testing.T) {
	whole := map[string]string{"matrix.mtx": tenXMatrix, "features.tsv": tenXFeatures, "barcodes.tsv": tenXBarcodes}
	for _, c := range []struct {
		name, file, content string // content "-": the file is removed
		says                string
	}{
		{"no matrix", "matrix.mtx", "-", "is a directory; name the files in it"},
		{"no barcodes", "barcodes.tsv", "-", "there is no barcodes.tsv"},
		{"no features", "features.tsv", "-", "there is no features.tsv; a folder of 10x has features.tsv (or genes.tsv)"},
		{"two versions", "genes.tsv", tenXGenes, "take one away"},
		{"plain and compressed", "matrix.mtx.gz", tenXMatrix, "it has both matrix.mtx and matrix.mtx.gz; take one away"},
		{"two matrices", "b_matrix.mtx", tenXMatrix, "it has 2 matrices; name one by what its files begin with"},
		{"too few barcodes", "barcodes.tsv", "AAA-1\n", "barcodes.tsv:1: wrong number of entries: 1 ids for the 2 columns"},
		{"too many features", "features.tsv", tenXFeatures + "ENSG4\tD\n", "features.tsv:4: wrong number of entries: more ids than the 3 rows"},
		{"a feature twice", "features.tsv", strings.Replace(tenXFeatures, "ENSG2", "ENSG3", 1), `features.tsv:3: "ENSG3": an id that another has`},
		{"a bad matrix", "matrix.mtx", "x\n", "matrix.mtx"},
	} {
		files := map[string]string{}
		for name, content := range whole {
			files[name] = content
		}
		if files[c.file] = c.content; c.content == "-" {
			delete(files, c.file)
		}
		out := target(t)
		if _, err := Ingest(t.Context(), []string{folder(t, files)}, out, Options{}); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.says)
		}
		leftovers(t, out, false)
	}
	dir := folder(t, whole)
	if _, err := Ingest(t.Context(), []string{dir, dir}, target(t), Options{}); err == nil || !strings.Contains(err.Error(), "stands alone") {
		t.Errorf("two folders: %v", err)
	}
}

// TestTenXResumes: an ingest of a folder that is killed and resumed makes the same store.
func TestTenXResumes(t *testing.T) {
	mm, n := tenXText(60, 40)
	features, barcodes := "", ""
	for i := range 60 {
		features += "G" + strconv.Itoa(i*7919%61) + "\tname\n"
	}
	for j := range 40 {
		barcodes += "B" + strconv.Itoa(j*31%41) + "\n"
	}
	dir := folder(t, map[string]string{"matrix.mtx.gz": mm, "genes.tsv.gz": features, "barcodes.tsv.gz": barcodes})
	u := &unlucky{"10x", []string{dir}, Options{}, tiny()}
	if rep := u.resumes(t, nil); rep.NNZ != int64(n) {
		t.Errorf("%+v", rep)
	}
}

// tenXText returns a matrix in Matrix Market format and its number of entries.
func tenXText(rows, cols int) (string, int) {
	var b strings.Builder
	n := 0
	for j := range cols {
		for i := j % 5; i < rows; i += 5 {
			b.WriteString(strconv.Itoa((i*7)%rows+1) + " " + strconv.Itoa(j+1) + " " + strconv.Itoa(1+i%9) + "\n")
			n++
		}
	}
	return strings.Replace(mmInt, "\n", "\n"+strconv.Itoa(rows)+" "+strconv.Itoa(cols)+" "+strconv.Itoa(n)+"\n", 1) + b.String(), n
}

// TestRealTenX: a folder of Cell Ranger 3 is read as its matrix, with the ids of the lines of the other files.
func TestRealTenX(t *testing.T) {
	dir := filepath.Join(dataDir(t), "10x")
	out, rep := ingested(t, []string{dir}, Options{})
	want, _, _ := parseAll(plain(t, filepath.Join(dir, "v3.matrix.mtx.gz")), Options{}, format.ChunkBytes)
	features := strings.Split(string(plain(t, filepath.Join(dir, "v3.features.tsv.gz"))), "\n")
	barcodes := strings.Split(string(plain(t, filepath.Join(dir, "v3.barcodes.tsv.gz"))), "\n")
	for i, e := range want {
		row, _ := strconv.Atoi(e.Row)
		col, _ := strconv.Atoi(e.Col)
		want[i].Row, _, _ = strings.Cut(features[row], "\t")
		want[i].Col = barcodes[col]
	}
	slices.SortFunc(want, compareTriples)
	if rep.Rows != 507 || rep.Cols != 1107 || rep.NNZ != 23866 || !slices.Equal(contents(t, out), want) {
		t.Errorf("%+v: other entries", rep)
	}
}

// TestSniffOfReaders: the notes of Sniff say how columns count and which types are read, and entries are counted.
func TestSniffOfReaders(t *testing.T) {
	for _, c := range []struct {
		content, says string
		entries       int64
	}{
		{"1 1:1 3:2\n0 2:1\n", "columns count from 1, from 0 if an index is 0", 3},
		{string(smallCSR.bytes(t, zip.Deflate)), "CSR, values '<f8'", 4},
		{mmArray + "2 2\n1\n0\n0\n4\n", "zeros are left out", 2},
	} {
		d, err := Sniff(t.Context(), []string{write(t, "in", c.content)}, Options{})
		if err != nil || d.Entries != c.entries || !strings.Contains(strings.Join(d.Inputs[0].Notes, "\n"), c.says) {
			t.Errorf("%+v, %v, want %s", d, err, c.says)
		}
	}
	d, err := Sniff(t.Context(), []string{write(t, "in", "# Column indices are zero-based\n1 1:1\n")}, Options{})
	if err != nil || !slices.Contains(d.Flags, format.Flag{Name: "index-base", Value: "0"}) {
		t.Errorf("%+v, %v", d, err)
	}
}
