package ingest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format/plink"
	"github.com/gdsvd/gdsvd/internal/must"
)

// cohort writes genotypes, samples × variants with values 0 to 3, as .bed, .fam and .bim. It returns the .bed path.
func cohort(t testing.TB, dir string, g [][]byte, bySample bool) (bed string) {
	t.Helper()
	n, m := len(g), len(g[0])
	code := [4]byte{3, 2, 0, 1}
	lines, across, at := m, n, func(line, k int) byte { return g[k][line] }
	b := []byte(plink.Magic + "\x01")
	if bySample {
		b[2] = 0
		lines, across, at = n, m, func(line, k int) byte { return g[line][k] }
	}
	for line := range lines {
		bits := make([]byte, (across+3)/4)
		for k := range across {
			bits[k/4] |= code[at(line, k)] << (2 * (k % 4))
		}
		b = append(b, bits...)
	}
	var fam, bim strings.Builder
	for i := range n {
		fmt.Fprintf(&fam, "F%d s%02d 0 0 0 -9\n", i, i)
	}
	for j := range m {
		fmt.Fprintf(&bim, "1\trs%02d\t0\t%d\tA\tG\n", j, 100+j)
	}
	bed = filepath.Join(dir, "cohort.bed")
	for name, text := range map[string]string{"cohort.bed": string(b), "cohort.fam": fam.String(), "cohort.bim": bim.String()} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	return bed
}

func randomCohort(n, m int) (g [][]byte) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	for range n {
		row := make([]byte, m)
		for j := range row {
			row[j] = byte(r.IntN(4))
		}
		g = append(g, row)
	}
	return g
}

// TestGenotypes: .bed files by sample and by variant give the same store, with ids, and with missing entries marked.
func TestGenotypes(t *testing.T) {
	g := randomCohort(13, 9)
	prints := map[string]bool{}
	for _, bySample := range []bool{false, true} {
		dir := t.TempDir()
		bed := cohort(t, dir, g, bySample)
		out := filepath.Join(dir, "g.csr")
		must.Get(Ingest(t.Context(), []string{bed}, out, Options{Memory: 128 << 20, Orient: OrientCols}))(t)
		s := must.Get(csr.Open(out, csr.OpenOptions{Missing: true}))(t)
		if v, ok := s.Missing(); !ok || v != plink.Missing {
			t.Errorf("missing entries as %v, %v", v, ok)
		}
		prints[s.Fingerprint()] = true
		must.Do(t, s.Close())
		for _, e := range contents(t, out) {
			var i, j int
			if _, err := fmt.Sscanf(e.Row+" "+e.Col, "s%02d rs%02d_A", &i, &j); err != nil || float64(g[i][j]) != e.Val {
				t.Errorf("%+v, %v", e, err)
			}
			g[i][j] |= 0x80
		}
		for i := range g {
			for j := range g[i] {
				if g[i][j]&0x7f != 0 && g[i][j]&0x80 == 0 {
					t.Errorf("sample %d, variant %d is not there", i, j)
				}
				g[i][j] &= 0x7f
			}
		}
	}
	if len(prints) != 1 {
		t.Errorf("the stores differ: %v", prints)
	}
}

// TestAllCalled: a cohort without missing genotypes is a store that any reader can open.
func TestAllCalled(t *testing.T) {
	g := randomCohort(5, 6)
	for i := range g {
		for j := range g[i] {
			g[i][j] %= 3
		}
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "g.csr")
	must.Get(Ingest(t.Context(), []string{cohort(t, dir, g, false)}, out, Options{Memory: 128 << 20}))(t)
	s := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestGenotypesRefused: files that do not match are refused in one line that names a remedy.
func TestGenotypesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"no .bim":        {func(dir string) error { return os.Remove(filepath.Join(dir, "cohort.bim")) }, "--rows-ids and --cols-ids"},
		"no .fam":        {func(dir string) error { return os.Remove(filepath.Join(dir, "cohort.fam")) }, "--rows-ids and --cols-ids"},
		"a short .bed":   {func(dir string) error { return os.Truncate(filepath.Join(dir, "cohort.bed"), 20) }, "20 bytes, but 13 samples and 9 variants take 39"},
		"a variant more": {appended("cohort.bim", "1 rs99 0 9 A G\n"), "13 samples and 10 variants take 43"},
		"a sample more":  {appended("cohort.fam", "F s99 0 0 0 -9\nF s98 0 0 0 -9\nF s97 0 0 0 -9\nF s96 0 0 0 -9\n"), "17 samples"},
		"a sample twice": {func(dir string) error { return changedFile(dir, "cohort.fam", "s02", "s01") }, "cohort.fam:3: \"s01\": an id that another has: that of"},
		"a damaged .fam": {appended("cohort.fam", "what\n"), "cohort.fam:14: \"what\": wrong number of fields"},
		"another .bed": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "cohort.bed"), []byte("\x6c\x1b"), 0o666)
		}, ""},
		"bits behind lines": {appended("cohort.bed", ""), ""},
	} {
		dir := t.TempDir()
		bed := cohort(t, dir, randomCohort(13, 9), false)
		if name == "bits behind lines" {
			b := must.Get(os.ReadFile(bed))(t)
			b[6] |= 0x80
			must.Do(t, os.WriteFile(bed, b, 0o666))
			c.want = "bits behind the last genotype"
		} else if err := c.change(dir); err != nil {
			t.Fatal(err)
		}
		_, err := Ingest(t.Context(), []string{bed}, filepath.Join(dir, "g.csr"), Options{Memory: 128 << 20})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func appended(name, text string) func(dir string) error {
	return func(dir string) error {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(text); err != nil {
			return err
		}
		return f.Close()
	}
}

func changedFile(dir, name, old, new string) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(string(b), old, new, 1)), 0o666)
}

// TestGenotypesWithPackedIDs: files of ids given for genotypes may be compressed with zstd or xz.
func TestGenotypesWithPackedIDs(t *testing.T) {
	var rows, cols strings.Builder
	for i := range 13 {
		fmt.Fprintf(&rows, "r%02d\n", i)
	}
	for j := range 9 {
		fmt.Fprintf(&cols, "c%02d\n", j)
	}
	g := randomCohort(13, 9)
	for _, row := range g {
		for j := range row {
			row[j] %= 3 // no genotype is missing
		}
	}
	dir := t.TempDir()
	bed := cohort(t, dir, g, false)
	list := func(name, text string) string {
		return must.Get(filepath.Abs(write(t, name, text)))(t)
	}
	want, _ := ingested(t, []string{bed}, Options{RowIDs: list("r", rows.String()), ColIDs: list("c", cols.String())})
	for name, pack := range map[string]func(io.Writer) (io.WriteCloser, error){
		"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		"xz":   func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	} {
		packed := func(text string) string {
			var b strings.Builder
			w := must.Get(pack(&b))(t)
			must.Get(io.WriteString(w, text))(t)
			must.Do(t, w.Close())
			return b.String()
		}
		out, _ := ingested(t, []string{bed}, Options{RowIDs: list("r", packed(rows.String())), ColIDs: list("c", packed(cols.String()))})
		if fingerprint(t, out) != fingerprint(t, want) {
			t.Errorf("%s: another matrix", name)
		}
	}
}

// TestTextNamedBed: a text of that name is no list of genotypes, and a finished store of it is recognised.
func TestTextNamedBed(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.bed"), target(t)
	must.Do(t, os.WriteFile(in, []byte("1,2,3\n4,5,6\n"), 0o666))
	for i := range 2 {
		if rep := mustIngest(t, []string{in}, out, Options{Resume: true}); rep.Finished != (i > 0) || rep.NNZ != 2 {
			t.Errorf("%+v", rep)
		}
	}
}
