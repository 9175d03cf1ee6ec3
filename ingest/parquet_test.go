package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/parquet"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// TestParquetOfPyArrow: files of pyarrow 26 and pandas 3 with other encodings, codecs and page versions.
func TestParquetOfPyArrow(t *testing.T) {
	six := []triple{{"1", "a", 1.5}, {"1", "b", 2}, {"2", "a", 0}, {"3", "ü", 4.25}, {"5", "c", -3}, {"8", "7", 5}}
	some := []triple{six[0], six[4], six[5]}
	liked := slices.Clone(six)
	for i, v := range []float64{1, 0, 1, 1, 0, 1} {
		liked[i].val = v
	}
	events := slices.Clone(six)
	for i := range events {
		events[i].val = 1
	}
	for _, c := range []struct {
		file string
		o    Options
		want []triple
		bad  int64
		says string
	}{
		{"dictionary", Options{}, six, 0, ""}, // zstd, two row groups, a column of times
		{"v2-delta", Options{}, six, 0, ""},   // pages of version 2, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT, gzip
		{"decimal", Options{}, six, 0, ""},    // uint16 ids, DELTA_LENGTH_BYTE_ARRAY, decimal128, snappy
		{"bool", Options{Columns: []string{"member", "book", "liked"}}, liked, 0, ""},
		{"bool", Options{Columns: []string{"member", "2"}}, events, 0, ""},
		{"pandas-nulls", Options{MaxBadLines: 3}, some, 3, ""},
		{"pandas-nulls", Options{}, nil, 0, "pandas-nulls.parquet:2: user: null, in row group 0; drop such rows first"},
		{"nested", Options{}, []triple{{"4", "x", 1}, {"5", "y", 2}}, 0, ""},
		{"nested", Options{Columns: []string{"user", "product", "rating"}}, nil, 0, `column "user" is nested: not supported as the row; --columns chooses others`},
		{"nested", Options{Columns: []string{"customer", "product", "item"}}, nil, 0, `column "item" is nested: not supported as the value`},
		{"nested", Options{Columns: []string{"customer", "book"}}, nil, 0, `no column "book"`},
		{"dictionary", Options{Columns: []string{"user_id", "item", "time"}}, nil, 0, `column "time" is a time: not supported as the value`},
		{"brotli", Options{}, six, 0, ""},
		{"lz4", Options{}, six, 0, ""}, // LZ4_RAW
		{"lzo", Options{}, nil, 0, `row group 0, column "user": compressed with LZO: not supported; write it with snappy, zstd or gzip`}, // brotli.parquet with another codec in its footer
	} {
		out := target(t)
		rep, err := Ingest(t.Context(), []string{filepath.Join("testdata", "parquet", c.file+".parquet")}, out, c.o)
		if c.says != "" {
			if pe := (*format.ParseError)(nil); !errors.As(err, &pe) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %s", c.file, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		slices.SortFunc(c.want, compareTriples)
		if got := contents(t, out); rep.Format != "parquet" || rep.BadLines != c.bad || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v: %v, want %v", c.file, rep, got, c.want)
		}
	}
}

// written is a file of rows made by another implementation; each of groups rows is a row group.
func written[T any](t testing.TB, rows []T, groups int, o ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b, o...)
	for part := range slices.Chunk(rows, groups) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type parquetRow struct {
	User   string   `parquet:"user,dict"`
	Item   int64    `parquet:"item,delta"`
	Rating *float64 `parquet:"rating,optional"`
	Note   []string `parquet:"note"`
}

func parquetRows(n int) (rows []parquetRow, want []triple) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, k := range r.Perm(70 * n)[:n] {
		v := math.Round(r.NormFloat64()*8) / 8
		row := parquetRow{User: "user " + strconv.Itoa(k/70), Item: int64(k%70) * 1e12, Rating: &v, Note: make([]string, k%3)}
		rows = append(rows, row)
		want = append(want, triple{row.User, strconv.FormatInt(row.Item, 10), v})
	}
	slices.SortFunc(want, compareTriples)
	return rows, want
}

// TestParquetVariants: codecs, page versions and sizes, as parquet-go writes them.
func TestParquetVariants(t *testing.T) {
	rows, want := parquetRows(3000)
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Gzip, &pq.Zstd} {
		for version := 1; version <= 2; version++ {
			b := written(t, rows, 1100, pq.Compression(codec), pq.DataPageVersion(version), pq.PageBufferSize(1500))
			_, got, err := ingestText(t, string(b), Options{})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, version %d: %v, %d entries of %d", codec, version, err, len(got), len(want))
			}
		}
	}
}

// TestParquetKinds: every type that can be an id or a value, and what can be wrong with it.
func TestParquetKinds(t *testing.T) {
	type ids struct {
		User  float64 `parquet:"user"`
		Item  uint64  `parquet:"item"`
		Count uint32  `parquet:"count"`
	}
	type texts struct {
		User [16]byte `parquet:"user,uuid"`
		Item []byte   `parquet:"item"`
		Rate string   `parquet:"rate"`
	}
	type decimals struct {
		User  int32 `parquet:"user"`
		Item  int8  `parquet:"item"`
		Value int64 `parquet:"value,decimal(3:18)"`
	}
	type doubles struct {
		User  int64   `parquet:"user"`
		Item  int64   `parquet:"item"`
		Value float32 `parquet:"value"`
	}
	for _, c := range []struct {
		data []byte
		want []triple
		says string
	}{
		{written(t, []ids{{3, 1 << 63, 1<<32 - 1}, {-2, 7, 0}}, 9), []triple{{"-2", "7", 0}, {"3", "9223372036854775808", 1<<32 - 1}}, ""},
		{written(t, []ids{{3, 1, 1}, {2.5, 7, 2}}, 1), nil, `:2: user "2.5": not an integer, as an id has to be, in row group 1`},
		{written(t, []ids{{math.NaN(), 1, 1}}, 9), nil, `:1: user "NaN": not an integer`},
		{written(t, []texts{{[16]byte{0x12, 15: 0xff}, []byte("x"), "1e-3"}}, 9), []triple{{"12000000-0000-0000-0000-0000000000ff", "x", 1e-3}}, ""},
		{written(t, []texts{{Item: []byte("x"), Rate: "high"}}, 9), nil, `:1: rate "high": not a number`},
		{written(t, []texts{{Rate: "1"}}, 9), nil, `:1: item: empty field`},
		{written(t, []decimals{{1, -2, -12345}, {1, 3, 9007199254740993}}, 9), []triple{{"1", "-2", -12.345}, {"1", "3", 9007199254740.993}}, ""},
		{written(t, []doubles{{1, 2, float32(math.Inf(1))}}, 9), nil, `:1: value "+Inf": not a finite number, in row group 0`},
		{written(t, []doubles{}, 9), nil, "no entries"},
		{written(t, []doubles{{1, 2, 3}, {4, 5, 6}, {1, 2, 7}}, 2), nil, "in:3: row 1, column 2: more than one entry (the first is at "},
		{written(t, []struct {
			A, B, C int
		}{{1, 2, 3}}, 9), nil, "ambiguous"},
		{written(t, []struct {
			User, Item int
			Rating     []float64 `parquet:",list"`
		}{{1, 2, []float64{3}}}, 9), nil, `column "Rating" is nested: not supported as the value; --columns chooses others`},
		{written(t, []struct {
			User, Item int
			Rating     time.Time
		}{{1, 2, time.Unix(1e9, 0)}}, 9), nil, `column "Rating" is a time: not supported as the value`},
		{written(t, []struct {
			User, Item int
			Score      []float64 `parquet:",list"`
			Plays      int
		}{{1, 2, []float64{3}, 4}}, 9), []triple{{"1", "2", 4}}, ""},
	} {
		_, got, err := ingestText(t, string(c.data), Options{})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.says)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, %v, want %v", got, err, c.want)
		}
	}
}

// TestParquetParts: files agree on names and values, in any order of columns.
func TestParquetParts(t *testing.T) {
	type one struct {
		User  int64   `parquet:"user"`
		Item  int64   `parquet:"item"`
		Value float64 `parquet:"rating"`
	}
	type other struct {
		Value float32 `parquet:"rating"`
		Item  int32   `parquet:"itemId"`
		User  int64   `parquet:"user_id"`
	}
	type pair struct {
		User, Item int64
	}
	a := write(t, "a", string(written(t, []one{{1, 2, 3}}, 1)))
	out := target(t)
	mustIngest(t, []string{a, write(t, "b", string(written(t, []other{{4, 5, 6}}, 1)))}, out, Options{})
	if got := contents(t, out); !slices.Equal(got, []triple{{"1", "2", 3}, {"6", "5", 4}}) {
		t.Error(got)
	}
	if _, err := Ingest(t.Context(), []string{a, write(t, "b", string(written(t, []pair{{1, 3}}, 1)))}, target(t), Options{}); !errors.Is(err, text.ErrParts) {
		t.Error(err)
	}
	if _, err := Ingest(t.Context(), []string{write(t, "b.gz", string(gzipped(t, written(t, []pair{{1, 3}}, 1))))}, target(t), Options{}); err == nil || !strings.Contains(err.Error(), "save it as a plain file") {
		t.Error(err)
	}
}

// TestParquetAfterDeath: rows that have been taken are not read again.
func TestParquetAfterDeath(t *testing.T) {
	rows, want := parquetRows(300)
	u := unlucky{"parquet", []string{write(t, "in", string(written(t, rows, 110, pq.PageBufferSize(300))))}, Options{}, tiny()}
	u.plan.chunk = 4 << 10 // a few dozen rows
	whole := target(t)
	rep, _, err := u.run(t, whole, -1)
	if err != nil || rep.Runs < 3 || rep.SpilledBytes == 0 || !slices.Equal(contents(t, whole), want) {
		t.Fatalf("%+v, %v", rep, err)
	}
	resumesAfterDeath(t, &u, whole, rep)
}

// parseParquet reads a file to its end, or the end of what can be read.
func parseParquet(data []byte) (entries []triple, err error) {
	in := &format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Window: 8 << 20}
	r, err := parquet.Format.Open(in)
	if err != nil {
		return nil, err
	}
	c := format.Chunk{Data: make([]byte, 0, 4<<10)}
	for {
		if err := r.Next(&c); err == io.EOF {
			return entries, nil
		} else if err != nil {
			return entries, err
		}
		var b format.Batch
		b.Reset(0)
		if err := r.Parse(&c, &b); err != nil || len(b.Errs) > 0 {
			return entries, errors.Join(append(b.Errs, err)...)
		}
		entries = append(entries, triples(&b)...)
	}
}

// TestParquetDamage: a file that has been cut, or in which a byte is another one, is read or refused in one line.
func TestParquetDamage(t *testing.T) {
	for _, name := range []string{"dictionary", "v2-delta", "decimal"} {
		good, err := os.ReadFile(filepath.Join("testdata", "parquet", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		refused := func(what string, data []byte, must bool) {
			_, err := parseParquet(data)
			if must && !errors.Is(err, parquet.ErrDamaged) && !errors.Is(err, format.ErrUnsupported) || err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for n := 0; n < len(good); n += 3 {
			refused(fmt.Sprintf("cut to %d bytes", n), good[:n], true)
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i * 5 % 8)
			refused(fmt.Sprintf("byte %d", i), bad, false)
		}
		joined := append(bytes.Clone(good[:len(good)-8]), 255, 255, 255, 255, 'P', 'A', 'R', '1')
		refused("long footer", joined, true)
		refused("encrypted", append(bytes.Clone(good[:len(good)-1]), 'E'), true)
	}
	if _, _, err := ingestText(t, "PAR1\x00", Options{}); !errors.Is(err, parquet.ErrDamaged) {
		t.Error(err)
	}
}

// TestParquetPageSums: no byte of a page that carries a checksum changes the matrix without a word. The footer has none.
func TestParquetPageSums(t *testing.T) {
	rows, _ := parquetRows(40)
	for name, good := range map[string][]byte{"1": written(t, rows, 20, pq.DataPageVersion(1)), "2": written(t, rows, 20, pq.DataPageVersion(2), pq.Compression(&pq.Snappy))} {
		want, err := parseParquet(good)
		if err != nil {
			t.Fatal(err)
		}
		sums := 0
		pages := len(good) - 8 - int(binary.LittleEndian.Uint32(good[len(good)-8:]))
		for i := range pages {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			got, err := parseParquet(bad)
			if err != nil && strings.Contains(err.Error(), "checksum") {
				sums++
			}
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("version %s, byte %d of %d: read as another matrix", name, i, pages)
			}
		}
		if sums == 0 {
			t.Errorf("version %s: there are no checksums", name)
		}
	}
}

// TestParquetWindow: pages that take more memory than the budget has for them are refused in one line, which tells
// the budget that reads them. What is skipped takes none.
func TestParquetWindow(t *testing.T) {
	type row struct {
		User  int64
		Item  string `parquet:",delta"`
		Value float64
	}
	var rows []row
	for i := range 20000 {
		rows = append(rows, row{int64(i), "a long common beginning " + strconv.Itoa(i), 1})
	}
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Zstd} {
		data := written(t, rows, len(rows), pq.Compression(codec), pq.PageBufferSize(1<<24))
		read := func(window int64) (n int, err error) {
			r, err := parquet.Format.Open(&format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Window: window})
			for c := new(format.Chunk); err == nil; {
				var b format.Batch
				b.Reset(0)
				if err = r.Next(c); err == nil {
					err = r.Parse(c, &b)
					n += len(b.Val)
				}
			}
			return n, err
		}
		if n, err := read(0); n != len(rows) || err != io.EOF {
			t.Fatalf("%s: %d rows, %v", codec, n, err)
		}
		_, err := read(1 << 18)
		if !errors.Is(err, format.ErrUnsupported) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "smaller pages") {
			t.Fatalf("%s: %v", codec, err)
		}
		window, found := int64(1<<18), true
		for tries := 0; err != io.EOF; tries++ { // each column asks for more
			var mib int64
			_, rest, ok := strings.Cut(err.Error(), "--memory ")
			if _, scanned := fmt.Sscanf(rest, "%dMiB", &mib); !ok || scanned != nil || mib<<20/8 <= window || tries == 4 {
				found = false
				break
			}
			window = mib << 20 / 8
			_, err = read(window)
		}
		if !found || window > 16<<20 {
			t.Errorf("%s, window %d: %v", codec, window, err)
		}
	}
	name := filepath.Join(t.TempDir(), "in.parquet")
	big := written(t, slices.Repeat(rows, 40), 40*len(rows), pq.PageBufferSize(1<<28))
	if err := os.WriteFile(name, big, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Ingest(t.Context(), []string{name}, target(t), Options{Memory: 64 << 20})
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "--memory ") {
		t.Errorf("a page of 800000 values within 64 MiB: %v", err)
	}
}

// onlyFooter is a file of nothing but a footer.
func onlyFooter(footer []byte) []byte {
	b := append([]byte("PAR1"), footer...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
}

// TestParquetBombs: a few bytes that stand for endless work or for a lot of memory are refused.
func TestParquetBombs(t *testing.T) {
	endless := binary.AppendUvarint([]byte{0xfb}, 1<<62) // field 15, a map of 2⁶² items
	zeros := make([]byte, 7<<20)
	lists := func(field byte) []byte { // elements of the schema, or row groups, of a byte each
		return slices.Concat([]byte{field<<4 | 9}, binary.AppendUvarint([]byte{0xfc}, uint64(len(zeros))), zeros, []byte{0})
	}
	for _, c := range []struct {
		what   string
		footer []byte
		want   error
	}{
		{"a map of booleans", append(endless, 0x11), parquet.ErrDamaged},
		{"a map of booleans and ends", append(endless, 0x12, 1, 2), parquet.ErrDamaged},
		{"a list of booleans", binary.AppendUvarint([]byte{0xf9, 0xf1}, 1<<62), parquet.ErrDamaged},
		{"elements", lists(2), format.ErrUnsupported},
		{"row groups", lists(4), format.ErrUnsupported},
		{"bytes", make([]byte, 9<<20), format.ErrUnsupported},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseParquet(onlyFooter(c.footer))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") || took > 64<<20 {
			t.Errorf("%s: %v, %d MiB", c.what, err, took>>20)
		}
	}
}

// TestParquetLongTexts: a chunk has few rows of long ids, of which a dictionary has one and a page any number.
func TestParquetLongTexts(t *testing.T) {
	type row struct {
		User string `parquet:",dict"`
		Item int64
	}
	for _, c := range []struct{ length, rows, read int }{{100 << 10, 500, 500}, {format.ChunkBytes, 1000, 0}} {
		rows := slices.Repeat([]row{{strings.Repeat("u", c.length), 0}}, c.rows)
		for i := range rows {
			rows[i].Item = int64(i)
		}
		if _, err := parseParquet(written(t, rows[:9], len(rows), pq.DataPageStatistics(true))); !errors.Is(err, format.ErrUnsupported) {
			t.Error(err)
		}
		data := written(t, rows, len(rows), pq.DataPageStatistics(false))
		r, err := parquet.Format.Open(&format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Window: 8 << 20})
		n, longest := 0, 0
		for k := (&format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}); err == nil; {
			var b format.Batch
			b.Reset(0)
			if err = r.Next(k); err == nil {
				longest = max(longest, len(k.Data))
				err = errors.Join(append([]error{r.Parse(k, &b)}, b.Errs...)...)
				n += len(b.Val)
			}
		}
		if done := err == io.EOF; n != c.read || longest > 2*format.ChunkBytes+1<<10 || done != (c.read > 0) || !done && !strings.Contains(err.Error(), ": longer than 262143 bytes") {
			t.Errorf("ids of %d bytes: %d rows, chunks of %d bytes, %.200v", c.length, n, longest, err)
		}
	}
}

// FuzzParquet: whatever the bytes are, they are read or refused in one line, within
// memory of the order of their length.
func FuzzParquet(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "parquet", "*"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	rows, _ := parquetRows(40)
	f.Add(written(f, rows, 30))
	f.Add(written(f, []struct {
		User, Item int64
		At         int64 `parquet:",timestamp(nanosecond)"`
	}{{1, 2, 3}, {1, 4, 5}}, 1))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parseParquet(data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines: %q", err)
		}
		if _, err := parquetTimes(t, data); err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines, with times: %q", err)
		}
	})
}
