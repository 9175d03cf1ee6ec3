//go:build alltests

package ingest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/parquet"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

func init() {
	logAsParquet = func(t testing.TB, rows []timeRow) []byte {
		return formattest.Parquet(t, rows, 110, pq.PageBufferSize(900))
	}
}

// TestParquetVariants reads the codecs, page versions and page sizes that parquet-go writes.
func TestParquetVariants(t *testing.T) {
	rows, want := formattest.ParquetRows(3000)
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Gzip, &pq.Zstd} {
		for version := 1; version <= 2; version++ {
			b := formattest.Parquet(t, rows, 1100, pq.Compression(codec), pq.DataPageVersion(version), pq.PageBufferSize(1500))
			_, got, err := ingestText(t, string(b), Options{})
			if err != nil || !slices.Equal(got, own(want)) {
				t.Errorf("%s, version %d: %v, %d entries of %d", codec, version, err, len(got), len(want))
			}
		}
	}
}

// TestParquetKinds: columns of each type become ids and values, or are refused with the reason.
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
		{formattest.Parquet(t, []ids{{3, 1 << 63, 1<<32 - 1}, {-2, 7, 0}}, 9), []triple{{"-2", "7", 0}, {"3", "9223372036854775808", 1<<32 - 1}}, ""},
		{formattest.Parquet(t, []ids{{3, 1, 1}, {2.5, 7, 2}}, 1), nil, `:2: user "2.5": not an integer, as an id has to be, in row group 1`},
		{formattest.Parquet(t, []ids{{math.NaN(), 1, 1}}, 9), nil, `:1: user "NaN": not an integer`},
		{formattest.Parquet(t, []texts{{[16]byte{0x12, 15: 0xff}, []byte("x"), "1e-3"}}, 9), []triple{{"12000000-0000-0000-0000-0000000000ff", "x", 1e-3}}, ""},
		{formattest.Parquet(t, []texts{{Item: []byte("x"), Rate: "high"}}, 9), nil, `:1: rate "high": not a number`},
		{formattest.Parquet(t, []texts{{Rate: "1"}}, 9), nil, `:1: item: empty field`},
		{formattest.Parquet(t, []decimals{{1, -2, -12345}, {1, 3, 9007199254740993}}, 9), []triple{{"1", "-2", -12.345}, {"1", "3", 9007199254740.993}}, ""},
		{formattest.Parquet(t, []doubles{{1, 2, float32(math.Inf(1))}}, 9), nil, `:1: value "+Inf": not a finite number, in row group 0`},
		{formattest.Parquet(t, []doubles{}, 9), nil, "no entries"},
		{formattest.Parquet(t, []doubles{{1, 2, 3}, {4, 5, 6}, {1, 2, 7}}, 2), nil, "in:3: row 1, column 2: more than one entry (the first is at "},
		{formattest.Parquet(t, []struct {
			A, B, C int
		}{{1, 2, 3}}, 9), nil, "ambiguous"},
		{formattest.Parquet(t, []struct {
			User, Item int
			Rating     []float64 `parquet:",list"`
		}{{1, 2, []float64{3}}}, 9), nil, `column "Rating" is nested: not supported as the value; --columns chooses others`},
		{formattest.Parquet(t, []struct {
			User, Item int
			Rating     time.Time
		}{{1, 2, time.Unix(1e9, 0)}}, 9), nil, `column "Rating" is a time: not supported as the value`},
		{formattest.Parquet(t, []struct {
			User int64 `parquet:",decimal(2:9)"`
			Item int
		}{{100, 2}}, 9), nil, `column "User" is a decimal with 2 digits behind the point: not supported as the row`},
		{formattest.Parquet(t, []struct {
			User, Item int
			Rating     string `parquet:",json"`
		}{{1, 2, "3"}}, 9), nil, `column "Rating" is JSON: not supported as the value`},
		{formattest.Parquet(t, []struct {
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

// TestParquetParts: files are ingested together if they agree on roles and values, in any order of columns.
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
	a := write(t, "a", string(formattest.Parquet(t, []one{{1, 2, 3}}, 1)))
	out, _ := ingested(t, []string{a, write(t, "b", string(formattest.Parquet(t, []other{{4, 5, 6}}, 1)))}, Options{})
	if got := contents(t, out); !slices.Equal(got, []triple{{"1", "2", 3}, {"6", "5", 4}}) {
		t.Error(got)
	}
	if _, err := Ingest(t.Context(), []string{a, write(t, "b", string(formattest.Parquet(t, []pair{{1, 3}}, 1)))}, target(t), Options{}); !errors.Is(err, text.ErrParts) {
		t.Error(err)
	}
	if _, err := Ingest(t.Context(), []string{write(t, "b.gz", string(gzipped(t, formattest.Parquet(t, []pair{{1, 3}}, 1))))}, target(t), Options{}); err == nil || !strings.Contains(err.Error(), "save it as a plain file") {
		t.Error(err)
	}
}

// TestParquetAfterDeath: an ingest of Parquet that is killed and resumed makes the same store.
func TestParquetAfterDeath(t *testing.T) {
	rows, want := formattest.ParquetRows(300)
	u := unlucky{"parquet", []string{write(t, "in", string(formattest.Parquet(t, rows, 110, pq.PageBufferSize(300))))}, Options{}, tiny()}
	u.plan.chunk = 4 << 10 // a few dozen rows
	u.resumes(t, own(want))
}

// TestParquetWithinMemory: a page too large for the budget is refused with a larger budget; a truncated file is refused.
func TestParquetWithinMemory(t *testing.T) {
	if _, _, err := ingestText(t, "PAR1\x00", Options{}); !errors.Is(err, parquet.ErrDamaged) {
		t.Error(err)
	}
	type row struct {
		User  int64
		Item  string `parquet:",delta"`
		Value float64
	}
	rows := make([]row, 800000)
	for i := range rows {
		rows[i] = row{int64(i % 20000), "a long common beginning " + strconv.Itoa(i%20000), 1}
	}
	name := filepath.Join(t.TempDir(), "in.parquet")
	big := formattest.Parquet(t, rows, len(rows), pq.PageBufferSize(1<<28))
	must.Do(t, os.WriteFile(name, big, 0o600))
	_, err := Ingest(t.Context(), []string{name}, target(t), Options{Memory: 64 << 20})
	if !errors.Is(err, format.ErrUnsupported) || !strings.Contains(err.Error(), "--memory ") {
		t.Errorf("a page of 800000 values within 64 MiB: %v", err)
	}
}

// TestURLParquetReadsOnlyColumns: the requests cover the footer and the columns of the matrix, not the other columns.
func TestURLParquetReadsOnlyColumns(t *testing.T) {
	type row struct {
		User   int32  `parquet:"user"`
		Review []byte `parquet:"review"`
		Item   int32  `parquet:"item"`
		Rating int32  `parquet:"rating"`
	}
	var rows []row
	r := rand.NewChaCha8([32]byte{})
	for i := range 4000 {
		text := make([]byte, 1000)
		_, _ = r.Read(text) // never fails
		rows = append(rows, row{int32(i / 20), text, int32(i % 20), int32(i % 5)})
	}
	data := formattest.Parquet(t, rows, 1000, pq.Compression(&pq.Uncompressed))
	s := remotetest.New(t)
	s.Put("/reviews", data, 1)
	rep := mustIngest(t, []string{s.URL + "/reviews"}, target(t), Options{Transport: s.Transport(t), Columns: []string{"user", "item", "rating"}})
	asked := int64(0)
	for _, q := range s.Requests() {
		var from, to int64
		must.Get(fmt.Sscanf(q.Header.Get("Range"), "bytes=%d-%d", &from, &to))(t)
		asked += to + 1 - from
	}
	if rep.NNZ != 4000 || len(data) < 4_000_000 || asked > 2_500_000 || s.Sent() > asked {
		t.Errorf("%d entries; %d of %d bytes asked for in %d requests, %d sent", rep.NNZ, asked, len(data), len(s.Requests()), s.Sent())
	}
}

// TestDatesAsNumbers: integers such as 20240131 are refused as times, whatever the numeric type of the column.
func TestDatesAsNumbers(t *testing.T) {
	type row struct {
		User, Item int64
		Rating     float64
		Short      int32
		Long       uint64
		Float      float64
	}
	var rows []row
	for i, date := range []int64{20240131, 20230105, 19991231} {
		rows = append(rows, row{int64(i), 7, 1, int32(date), uint64(date), float64(date)})
	}
	in := write(t, "parquet", string(formattest.Parquet(t, rows, 110)))
	for _, column := range []string{"Short", "Long", "Float"} {
		o := Options{Columns: []string{"User", "Item", "Rating", column}, Filter: Filter{Until: time.Unix(1_600_000_000, 0)}}
		_, err := Ingest(t.Context(), []string{in}, target(t), o)
		if !errors.Is(err, format.ErrTime) || !strings.Contains(err.Error(), `:1: "20240131": not a time`) {
			t.Errorf("%s: %v", column, err)
		}
		if _, err = Sniff(t.Context(), []string{in}, o); !errors.Is(err, format.ErrTime) {
			t.Errorf("%s: sniff says %v", column, err)
		}
		o.Filter = Filter{}
		mustIngest(t, []string{in}, target(t), o)
	}
}
