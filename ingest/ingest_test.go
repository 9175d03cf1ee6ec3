package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/all"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	longtest.Rapid()
	goleak.VerifyTestMain(m)
}

func gzipped(t testing.TB, parts ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		must.Get(z.Write(p))(t)
		must.Do(t, z.Close())
	}
	return b.Bytes()
}

// ratings returns n ratings of different places in random order. The users are integers with
// gaps; if strings is set, they begin with a letter.
func ratings(r *rand.Rand, n int, strings bool) []string {
	users := n/7 + 1
	lines := make([]string, 0, n)
	for _, k := range r.Perm(20 * users)[:n] {
		u, i := k%users*3+1, k/users*5
		v := float64(r.IntN(10)+1) / 2
		if strings {
			lines = append(lines, fmt.Sprintf("u%d::%d::%g::7", u, i, v))
		} else {
			lines = append(lines, fmt.Sprintf("%d::%d::%g::7", u, i, v))
		}
	}
	return lines
}

var sumsInManifest = regexp.MustCompile(`"input_sums": \[[^]]*\]|"crc": "[0-9a-f]*"\s*}\s*$`)

// TestStoreDependsOnEntriesAlone: the bytes of a store do not depend on the order of the input, the number of
// workers, the memory or the temporary files.
func TestStoreDependsOnEntriesAlone(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, strs := range []bool{false, true} {
		for _, dup := range []Duplicates{DuplicatesError, Sum, Mean, Max} {
			lines := ratings(r, 2000, strs)
			if dup != DuplicatesError {
				for range 300 { // 0.1 + 0.2 + 0.3 depends on the order of the additions
					place := strings.SplitN(lines[r.IntN(200)], "::", 3)
					lines = append(lines, fmt.Sprintf("%s::%s::%g::7", place[0], place[1], r.Float64()*1e3))
				}
			}
			var want map[string]string
			for try, p := range []plan{mustPlan(t), tiny(), tiny(), {chunk: 1000, jobs: 2, Budget: extsort.Budget{Space: 64 << 20, Keep: 10 << 10, Run: 500, First: 100, ReadBuf: 64, FanIn: 3}, unsynced: 64, window: 1 << 20}} {
				r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
				in, out := write(t, "ratings", strings.Join(lines, "\n")), target(t)
				o := Options{Workers: 1 + try*2%5, Duplicates: dup, FS: lazyFS{vfs.OS()}}
				rep := must.Get(ingest(t.Context(), []string{in}, out, o.withDefaults(), p))(t)
				if spilled := rep.SpilledBytes > 0; spilled != (try > 0) {
					t.Errorf("spilled: %v", spilled)
				}
				leftovers(t, out, true)
				got := vfstest.Contents(t, out)
				// The manifest holds checksums of the inputs, which depend on the order of the lines.
				got["MANIFEST.json"] = sumsInManifest.ReplaceAllString(got["MANIFEST.json"], "")
				if want == nil {
					want = got
				}
				for name := range want {
					if got[name] != want[name] {
						t.Errorf("strings %v, %v, try %d: %s differs", strs, dup, try, name)
					}
				}
			}
		}
	}
}

// TestContentsMatchNaiveReading compares stores of several shards and orientations with naiveLines.
func TestContentsMatchNaiveReading(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, strs := range []bool{false, true} {
		for _, orient := range []Orientation{OrientAuto, OrientRows, OrientCols} {
			text := strings.Join(ratings(r, 1500, strs), "\n")
			want, _ := naiveLines(text, "::", []int{0, 1, 2})
			slices.SortFunc(want, compareTriples)
			rep, got, err := ingestText(t, text, Options{Orient: orient, ShardSize: 512})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("strings %v, %v: %v, contents differ", strs, orient, err)
			}
			wantTransposed := map[Orientation]bool{OrientAuto: rep.Cols > rep.Rows, OrientRows: false, OrientCols: true}[orient]
			if rep.Transposed != wantTransposed || rep.Rows != 215 || rep.Cols != 20 {
				t.Errorf("%v: %+v", orient, rep)
			}
		}
	}
}

// TestIDsAreOrderedAndMayBeNatural: ids are sorted by value, or by bytes if some are no integers, and
// are not written if they are 0 … n−1.
func TestIDsAreOrderedAndMayBeNatural(t *testing.T) {
	for _, c := range []struct {
		text       string
		rows, cols []string // nil: no file of ids
	}{
		{"10,2,1\n9,-3,2\n-1,2,3\n", []string{"-1", "9", "10"}, []string{"-3", "2"}},
		{"10,b,1\n9,a,2\nx,a,3\n", []string{"10", "9", "x"}, []string{"a", "b"}},
		{"1,1,1\n0,0,2\n2,0,3\n", nil, nil},
		{"0,b,1\n1,a,2\n2,é,3\n", nil, []string{"a", "b", "é"}},
	} {
		out, _ := ingested(t, []string{write(t, "in", c.text)}, Options{})
		s := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
		for axis, want := range map[csr.Axis][]string{csr.RowAxis: c.rows, csr.ColAxis: c.cols} {
			if want == nil {
				if _, err := os.Stat(filepath.Join(out, axis.String()+".ids")); err == nil {
					t.Errorf("%q: %v written", c.text, axis)
				}
			} else if got := idsOf(t, s, axis, int64(len(want))); !slices.Equal(got, want) {
				t.Errorf("%q: %v are %v, want %v", c.text, axis, got, want)
			}
		}
		must.Do(t, s.Close())
	}
}

func TestDuplicatePolicies(t *testing.T) {
	text := "1,1,0.75\n2,1,4\n1,1,0.25\n1,2,-5\n1,1,0.5\n1,2,-7\n"
	for _, c := range []struct {
		policy   Duplicates
		one, two float64
	}{
		{Sum, 1.5, -12}, {Mean, 0.5, -6}, {First, 0.75, -5}, {Last, 0.5, -7}, {Max, 0.75, -5},
	} {
		for _, p := range []plan{mustPlan(t), tiny(), {chunk: 16, jobs: 2, Budget: extsort.Budget{Space: 1 << 20, Run: 1, First: 1, ReadBuf: 1, FanIn: 2}, unsynced: 64, window: 1 << 20}} {
			out := target(t)
			rep := must.Get(ingest(t.Context(), []string{write(t, "in", text)}, out, Options{Duplicates: c.policy}.withDefaults(), p))(t)
			want := []triple{{"1", "1", c.one}, {"1", "2", c.two}, {"2", "1", 4}}
			if got := contents(t, out); !slices.Equal(got, want) || rep.Duplicates != 3 || rep.NNZ != 3 {
				t.Errorf("%v: %v, %+v, want %v", c.policy, got, rep, want)
			}
		}
	}
	_, _, err := ingestText(t, "1,1,1e308\n1,1,1e308\n", Options{Duplicates: Sum})
	if !errors.Is(err, format.ErrOverflow) {
		t.Errorf("overflowing sum: %v", err)
	}
}

func TestDuplicateErrorNamesBothLines(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.csv"), filepath.Join(dir, "b.csv")
	for path, text := range map[string]string{a: "user,item,r\nann,x,1\nbob,x,2\n", b: "user,item,r\n\nann,y,1\nbob,x,2\n"} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	}
	_, err := Ingest(t.Context(), []string{a, b}, target(t), Options{})
	var de *duplicateError
	if !errors.As(err, &de) || *de != (duplicateError{Row: "bob", Col: "x", FirstFile: a, First: format.Position{Line: 3, Byte: 20}, SecondFile: b, Second: format.Position{Line: 4, Byte: 21}, Count: 1, Entries: 4, Places: 1}) {
		t.Errorf("got %v", err)
	}
	_, err = Ingest(t.Context(), []string{"-"}, target(t), Options{Stdin: strings.NewReader("1,1,1\n1,1,2\n")})
	if !errors.As(err, &de) || *de != (duplicateError{Row: "1", Col: "1", Count: 1, Entries: 2, Places: 1}) {
		t.Errorf("from standard input: got %v", err)
	}
}

// TestDuplicatesAreCounted: the error about duplicates gives their number, with and without temporary files.
func TestDuplicatesAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	lines := ratings(r, 1500, false)
	lines = append(append(lines, lines[:300]...), lines[:100]...)
	for _, p := range []plan{mustPlan(t), tiny()} {
		out := target(t)
		_, err := ingest(t.Context(), []string{write(t, "in", strings.Join(lines, "\n"))}, out, Options{}.withDefaults(), p)
		var de *duplicateError
		if !errors.As(err, &de) || de.Count != 400 || de.Places != 300 || de.Entries != 1900 || de.First.Line == 0 || !strings.Contains(err.Error(), "400 entries repeat a place, of 1900; --duplicates sum") {
			t.Errorf("got %v", err)
		}
		leftovers(t, out, false)
	}
}

func TestInputsAreConcatenated(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, b, 0o666))
		return path
	}
	zw := must.Get(zstd.NewWriter(nil))(t)
	defer zw.Close()
	put("part-2.x", gzipped(t, []byte("user,item,r\n2,1,2\n"), []byte("2,2,2\n3,"), []byte("3,3\n"))) // two gzip members
	put("part-1.x", []byte("user,item,r\n1,1,1\n"))
	put("part-3.x", zw.EncodeAll([]byte("4,4,4"), nil)) // no header and no newline at the end
	want := []triple{{"1", "1", 1}, {"2", "1", 2}, {"2", "2", 2}, {"3", "3", 3}, {"4", "4", 4}}
	for _, o := range []Options{{}, {Columns: []string{"user", "item", "r"}}} {
		out, rep := ingested(t, []string{filepath.Join(dir, "part-?.x")}, o)
		if got := contents(t, out); !slices.Equal(got, want) || rep.Lines != 5 {
			t.Errorf("got %v, %+v", got, rep)
		}
	}
	// A name that exists is not used as a pattern; "-" may stand among file names.
	put("odd[1].csv", []byte("5,5,5\n"))
	out, _ := ingested(t, []string{filepath.Join(dir, "odd[1].csv"), "-"}, Options{Stdin: bytes.NewReader(gzipped(t, []byte("6,6,6\n")))})
	if got := contents(t, out); !slices.Equal(got, []triple{{"5", "5", 5}, {"6", "6", 6}}) {
		t.Errorf("got %v", got)
	}
}

func TestInputsThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	mm := write(t, "a", mmReal+"1 1 1\n1 1 1\n")
	plain := write(t, "b", "1,1,1\n")
	pairs := write(t, "c", "2\t2\n")
	empty := write(t, "d", "")
	for _, c := range []struct {
		name   string
		inputs []string
		want   error
	}{
		{"none", nil, nil},
		{"missing", []string{filepath.Join(dir, "nothing")}, fs.ErrNotExist},
		{"glob without match", []string{filepath.Join(dir, "*.csv")}, fs.ErrNotExist},
		{"directory", []string{dir}, nil},
		{"no standard input", []string{"-"}, nil},
		{"standard input twice", []string{"-", "-"}, nil},
		{"two of declared shape", []string{mm, write(t, "a", mmReal+"1 1 1\n1 1 1\n")}, format.ErrUnsupported},
		{"text behind one of declared shape", []string{mm, plain}, format.ErrUnsupported},
		{"declared shape behind text", []string{plain, mm}, format.ErrUnsupported},
		{"values in one part only", []string{plain, pairs}, text.ErrParts},
		{"an empty one among others", []string{plain, empty}, format.ErrEmpty},
	} {
		out := target(t)
		_, err := Ingest(t.Context(), c.inputs, out, Options{})
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		leftovers(t, out, false)
	}
}

// TestDamagedCompression: truncated gzip, zstd, bzip2 and xz files are refused,
// and gzip files with the line of the error.
func TestDamagedCompression(t *testing.T) {
	text := []byte(strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 300, true), "\n"))
	zw, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true))
	must.Do(t, err)
	defer zw.Close()
	for name, whole := range map[string][]byte{
		"gzip": gzipped(t, text), "zstd": zw.EncodeAll(text, nil),
		"bzip2": plain(t, filepath.Join("testdata", "lines.bz2")), "xz": plain(t, filepath.Join("testdata", "lines.xz")),
	} {
		if _, _, err := parseAll(whole, Options{}, format.ChunkBytes); err != nil {
			t.Fatal(err)
		}
		for n := 12; n < len(bytes.TrimRight(whole, "\x00")); n += 4 { // a multiple of 4, as xz blocks
			if slices.Contains(map[string][]int{"bzip2": {348}, "xz": {516, 520, 524}}[name], n) { // between two complete streams
				continue
			}
			_, _, err := parseAll(whole[:n], Options{}, format.ChunkBytes)
			if !errors.Is(err, format.ErrTruncated) && !errors.Is(err, format.ErrCompression) {
				t.Errorf("%s cut at %d: %v", name, n, err)
			}
		}
		bad := slices.Clone(whole)
		bad[len(bytes.TrimRight(bad, "\x00"))-2] ^= 1 // in the checksum or the length
		if _, _, err := parseAll(bad, Options{}, format.ChunkBytes); !errors.Is(err, format.ErrCompression) {
			t.Errorf("%s with a flipped bit: %v", name, err)
		}
	}
	cut := gzipped(t, text)
	_, _, err = ingestText(t, string(cut[:len(cut)-100]), Options{MaxBadLines: 1000})
	if pe := parseError(t, err, format.ErrTruncated, int64(bytes.Count(text, []byte("\n"))-linesLost(t, cut[:len(cut)-100], text)), 0); !strings.Contains(pe.Error(), "bytes uncompressed") {
		t.Errorf("got %v", pe)
	}
	_, _, err = ingestText(t, string(gzipped(t, text))+"garbage, not a member", Options{})
	parseError(t, err, format.ErrCompression, int64(1+bytes.Count(text, []byte("\n"))), 0)
}

// linesLost returns how many complete lines of text cannot be decompressed from cut, minus one:
// the error is reported at the line after the last complete one.
func linesLost(t *testing.T, cut, text []byte) int {
	t.Helper()
	z := must.Get(gzip.NewReader(bytes.NewReader(cut)))(t)
	got, err := io.ReadAll(z)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n")) - bytes.Count(got, []byte("\n")) - 1
}

// TestCutMemberHeader: a gzip file that ends within the header of a later member is refused as
// truncated, also if it ends within the file name of the header.
func TestCutMemberHeader(t *testing.T) {
	var second bytes.Buffer
	z := gzip.NewWriter(&second)
	z.Name = "ratings.dat"
	must.Get(z.Write([]byte("4::5::6\n")))(t)
	must.Do(t, z.Close())
	first := gzipped(t, []byte("1::2::3\n"))
	for n := range second.Len() {
		_, _, err := parseAll(slices.Concat(first, second.Bytes()[:n]), Options{}, format.ChunkBytes)
		if n == 0 && err != nil || n > 0 && !errors.Is(err, format.ErrTruncated) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func TestExistingStore(t *testing.T) {
	in, out := write(t, "in", "1,1,1\n"), target(t)
	mustIngest(t, []string{in}, out, Options{})
	before := vfstest.Contents(t, out)
	other := write(t, "in", "5,5,5\n")
	if _, err := Ingest(t.Context(), []string{other}, out, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want %v", err, fs.ErrExist)
	}
	if _, err := Ingest(t.Context(), []string{write(t, "in", "5,5,x\n")}, out, Options{Force: true}); err == nil {
		t.Error("bad input accepted")
	}
	if after := vfstest.Contents(t, out); len(after) != len(before) || after["MANIFEST.json"] != before["MANIFEST.json"] {
		t.Error("a failed ingest changed the existing store")
	}
	mustIngest(t, []string{other}, out, Options{Force: true})
	if got := contents(t, out); !slices.Equal(got, []triple{{"5", "5", 5}}) {
		t.Errorf("got %v", got)
	}
}

// endless is a standard input without end that calls cancel after 1 MiB.
type endless struct {
	cancel func()
	n      int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n += len(p); e.n > 1<<20 {
		e.cancel()
	}
	line := []byte("1::2::3\n")
	n := 0
	for n+len(line) <= len(p) {
		n += copy(p[n:], line)
	}
	return n, nil
}

func TestCancellation(t *testing.T) {
	t.Run("while reading", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		out := target(t)
		_, err := ingest(ctx, []string{"-"}, out, Options{Stdin: &endless{cancel: cancel}}.withDefaults(), tiny())
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leftovers(t, out, false)
	})
	t.Run("while standard input blocks", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		defer w.Close()
		out := target(t)
		go func() {
			_, _ = w.Write([]byte("1::2::3\n"))
			cancel()
		}()
		_, err := Ingest(ctx, []string{"-"}, out, Options{Stdin: r})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leftovers(t, out, false)
	})
	for _, stage := range []string{StageRead, stageSort, stageWrite} {
		t.Run("at "+stage, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := target(t)
			in := write(t, "in", strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 2000, false), "\n"))
			o := Options{Observer: func(p Progress) {
				if p.Stage == stage {
					cancel()
				}
			}}
			_, err := ingest(ctx, []string{in}, out, o.withDefaults(), tiny())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if keeps(t, err, out) != (stage != StageRead) { // the journal is written at the end of the reading
				t.Errorf("got %v", err)
			}
			if stage == StageRead {
				leftovers(t, out, false)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	var got []Progress
	in := write(t, "in", strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 2000, false), "\n"))
	fi := must.Get(os.Stat(in))(t)
	rep := mustIngest(t, []string{in}, target(t), Options{Observer: func(p Progress) { got = append(got, p) }})
	var stages []string
	for _, p := range got {
		stages = append(stages, p.Stage)
		if p.Total != map[string]int64{StageRead: fi.Size(), stageSort: 2000, stageWrite: 2000}[p.Stage] || p.Done > p.Total {
			t.Errorf("got %+v", p)
		}
	}
	if !slices.Equal(slices.Compact(stages), []string{StageRead, stageSort, stageWrite}) {
		t.Errorf("stages %v", stages)
	}
	if last := got[len(got)-1]; last.Done != 2000 || last.Entries != 2000 {
		t.Errorf("last: %+v", last)
	}
	if rep.InputBytes != fi.Size() || rep.Format != "movielens" || rep.NNZ != 2000 || len(rep.Fingerprint) != 64 || rep.Bytes == 0 {
		t.Errorf("report: %+v", rep)
	}
}

func TestBudgets(t *testing.T) {
	in := write(t, "in", "1,1,1\n")
	var me *budget.Error
	_, err := Ingest(t.Context(), []string{in}, target(t), Options{Memory: 1 << 20})
	if !errors.As(err, &me) || me.Need <= 1<<20 || me.Need > 64<<20 {
		t.Errorf("got %v", err)
	}
	if _, err := Ingest(t.Context(), []string{in}, target(t), Options{Memory: me.Need}); err != nil {
		t.Errorf("with the memory asked for: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"one column":    {Columns: []string{"1"}},
		"five columns":  {Columns: []string{"1", "2", "3", "4", "5"}},
		"line end":      {Separator: "\n"},
		"quote":         {Separator: `"`},
		"negative bad":  {MaxBadLines: -1},
		"negative size": {Memory: -1},
		"features":      {Features: -1},
		"format":        {Format: "xml"},
	} {
		if _, err := Ingest(t.Context(), []string{write(t, "in", "1,1,1\n")}, target(t), o); err == nil {
			t.Errorf("%s accepted", name)
		}
	}
	want := []string{"auto"}
	for _, f := range all.Formats(all.Options{}) {
		if f.Name != "" {
			want = append(want, f.Name)
		}
	}
	if got := (Options{}).formatNames(); !slices.Equal(got, want) || !slices.Contains(got, "movielens") || !slices.Contains(got, "mtx") {
		t.Errorf("formats %v, want %v", got, want)
	}
	if h := format.Header(9).String(); h != "unknown(9)" || Orientation(9).String() != h || Max.String() != "max" {
		t.Error(h)
	}
}

// TestLockedTarget: Ingest refuses a target that another ingest has locked.
func TestLockedTarget(t *testing.T) {
	out := target(t)
	s := must.Get(csr.Stage(vfs.OS(), out, false))(t)
	if _, err := Ingest(t.Context(), []string{write(t, "in", "1,1,1\n")}, out, Options{}); !errors.Is(err, vfs.ErrLocked) {
		t.Errorf("got %v, want %v", err, vfs.ErrLocked)
	}
	must.Do(t, s.Abort())
}
