package ingest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/heldout"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// timeRow is a row with its time in each type that a column can have.
type timeRow struct {
	User    string    `parquet:"user"`
	Item    int64     `parquet:"item"`
	Rating  float64   `parquet:"rating"`
	Seconds int32     `parquet:"seconds"`
	Micros  int64     `parquet:"micros"`
	Float   float64   `parquet:"float"`
	Natural uint64    `parquet:"natural"`
	Milli   time.Time `parquet:"milli,timestamp(millisecond)"`
	Micro   time.Time `parquet:"micro,timestamp(microsecond)"`
	Nano    time.Time `parquet:"nano,timestamp(nanosecond),optional"`
	Local   int64     `parquet:"local,timestamp(millisecond:local)"`
	Text    string    `parquet:"text,dict"`
	Bytes   []byte    `parquet:"bytes,delta"`
}

func timeRows(r *rand.Rand, n int) []timeRow {
	rows := make([]timeRow, n)
	for i := range rows {
		at := time.Unix(1_000_000_000+r.Int64N(90)*1000, 0).UTC()
		rows[i] = timeRow{
			User: fmt.Sprintf("u%d", r.IntN(n/6+1)), Item: r.Int64N(40), Rating: float64(r.IntN(9)),
			Seconds: int32(at.Unix()), Micros: at.UnixMicro(), Float: float64(at.Unix()), Natural: uint64(at.UnixNano()), Milli: at, Micro: at, Nano: at,
			Local: at.UnixMilli(), Text: at.Format(time.RFC3339), Bytes: []byte(at.Add(2*time.Hour).Format(time.DateTime) + "+02:00"),
		}
	}
	return rows
}

// logAsParquet returns rows as a Parquet file. It is nil without -tags alltests.
var logAsParquet func(testing.TB, []timeRow) []byte

// TestOneLogInThreeFormats: CSV, JSON lines and Parquet with times of each type give the same store and the same pair.
func TestOneLogInThreeFormats(t *testing.T) {
	rows := timeRows(rand.New(rand.NewPCG(7, 9)), 300)
	csv, jsonl := "user,item,rating,timestamp\n", ""
	for i, row := range rows {
		csv += fmt.Sprintf("%s,%d,%g,%d\n", row.User, row.Item, row.Rating, row.Seconds)
		jsonl += fmt.Sprintf(`{"user":%q,"ts":%s,"item":%d,"rating":%g}`+"\n", row.User, []string{
			fmt.Sprint(row.Seconds), fmt.Sprintf("%d.0", row.Micros), fmt.Sprintf("%.9e", row.Float), `"` + row.Text + `"`,
			`"` + strings.Replace(string(row.Bytes), " ", `\u0020`, 1) + `"`,
		}[i%5], row.Item, row.Rating)
	}
	inputs := map[string]string{"CSV": write(t, "csv", csv), "JSON lines": write(t, "jsonl", jsonl)}
	var table string
	var columns []string
	if logAsParquet != nil {
		table = write(t, "parquet", string(logAsParquet(t, rows)))
		columns = []string{"seconds", "micros", "float", "natural", "milli", "micro", "nano", "local", "text", "bytes"}
	}
	since := time.Unix(1_000_030_000, 0)
	options := []Options{{Filter: Filter{Since: since, Until: time.Unix(1_000_080_000, 0)}}}
	for _, s := range []string{"last:1", "time:0.2", "after:2001-09-09T10:00:00"} {
		h := must.Get(ParseHoldout(s))(t)
		options = append(options, Options{Holdout: h})
	}
	for k, o := range options {
		o.Duplicates = Sum
		want, _ := ingested(t, []string{inputs["CSV"]}, o)
		check := func(name, in string, o Options) {
			out, rep := ingested(t, []string{in}, o)
			if fingerprint(t, out) != fingerprint(t, want) || rep.NNZ == 0 || o.Holdout.kind() == heldout.None && rep.Filtered.Outside == 0 ||
				o.Holdout.kind() != heldout.None && fingerprint(t, out+TestSuffix) != fingerprint(t, want+TestSuffix) {
				t.Errorf("%s, %v: %+v: another matrix", name, o.Holdout, rep)
			}
		}
		check("JSON lines", inputs["JSON lines"], o)
		o.Columns = []string{"user", "item", "rating", "ts"}
		check("JSON lines by key", inputs["JSON lines"], o)
		for c, column := range columns {
			if !longtest.On() && c%len(options) != k {
				continue
			}
			o.Columns = []string{"user", "item", "rating", column}
			check("Parquet, "+column, table, o)
		}
	}
}

// TestJSONTimes: a value that is no time is refused with its line and key, but ignored without a filter.
func TestJSONTimes(t *testing.T) {
	const first = `{"user":1,"item":2,"rating":3,"ts":1000000000}` + "\n"
	for _, c := range []struct{ line, says string }{
		{`{"user":1,"item":5,"rating":3,"ts":"yesterday"}`, `in:2:36: ts "yesterday": not a time; want a date as 2019-07-28`},
		{`{"user":1,"item":5,"rating":3,"ts":true}`, `in:2:36: ts "true": not a time`},
		{`{"user":1,"item":5,"rating":3,"ts":""}`, `in:2:36: ts: not a time`},
		{`{"user":1,"item":5,"rating":3,"ts":1e300}`, `in:2:36: ts "1e300": not a time`},
		{`{"user":1,"item":5,"rating":3,"ts":null}`, `in:2:36: ts "null": null`},
		{`{"user":1,"item":5,"rating":3,"ts":{"$date":1}}`, `in:2:36: ts "{\"$date\":1}": a list or an object`},
		{`{"user":1,"item":5,"rating":3,"ts":1,"ts":2}`, `in:2:43: ts "2": the key is there twice`},
		{`{"user":1,"item":5,"rating":3}`, `missing key; expected {"user": …, "item": …, "rating": …, "ts": …}`},
	} {
		o := Options{Filter: Filter{Since: time.Unix(1, 0)}}
		if _, _, err := ingestText(t, first+c.line+"\n", o); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.line, err, c.says)
		}
		if _, got, err := ingestText(t, first+c.line+"\n", Options{}); err != nil || len(got) != 2 {
			t.Errorf("%s without a filter: %v, %v", c.line, got, err)
		}
	}
	o := Options{Events: true, Filter: Filter{Since: time.Unix(5, 0)}}
	const log = `{"user":1,"item":2,"rating":3,"ts":5}` + "\n" + `{"user":1,"item":2,"rating":9,"ts":"1970-01-01T00:00:06Z"}` + "\n" + `{"user":1,"item":2,"rating":3,"ts":4}` + "\n"
	if rep, got, err := ingestText(t, log, o); err != nil || !slices.Equal(got, []triple{{"1", "2", 2}}) || rep.Filtered.Outside != 1 {
		t.Errorf("events: %v, %v", got, err)
	}
	for text, says := range map[string]string{
		`{"user":1,"item":2}`: "no times can be read", `{"user":1,"item":2,"created_at":1,"updated_at":2}`: "--columns user,item,,created_at",
	} {
		if _, _, err := ingestText(t, text+"\n", Options{Filter: o.Filter}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
}

// FuzzTimesOfJSON compares times with naiveTime, for any JSON value.
func FuzzTimesOfJSON(f *testing.F) {
	for _, s := range []string{"1", "-1.5e9", `"2019-07-28"`, `"2019-07-28T23:15\u003a40Z"`, "true", "null", "[1]", `""`, "1e400", "1,\"ts\":2", `"\ud800"`, "01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		line := `{"user":1,"item":2,"ts":` + value + `}`
		if strings.ContainsAny(value, "\n\r") {
			t.Skip("no line")
		}
		want, ok := naiveTime(value)
		o := Options{Format: "jsonl", Columns: []string{"user", "item", "", "ts"}, Filter: Filter{Since: time.UnixMicro(int64(want)), Until: time.UnixMicro(int64(want) + 1)}}
		got, in, err := parseAll([]byte(`{"user":1,"item":1,"ts":1}`+"\n"+line), o, format.ChunkBytes)
		switch {
		case err != nil && (strings.Contains(err.Error(), "\n") || ok):
			t.Fatalf("%q: %v", line, err)
		case err == nil && len(got) != 2:
			t.Fatalf("%q: %v", line, got)
		case err == nil && ok:
			var b format.Batch
			b.Reset(0)
			c := format.Chunk{Data: []byte(line)}
			if err := in.reader.Parse(&c, &b); err != nil || !slices.Equal(b.Time, []format.Time{want}) {
				t.Fatalf("%q: %v, %v, want %v", line, b.Time, err, want)
			}
		}
	})
}

// naiveTime returns the time of a JSON value by encoding/json and format.ParseTime, integers by way of a float64.
func naiveTime(value string) (format.Time, bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	if !json.Valid([]byte(value)) || d.Decode(&v) != nil {
		return 0, false
	}
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "\uFFFD") {
			return 0, false
		}
		at, err := format.ParseTime([]byte(v))
		return at, err == nil
	case json.Number:
		if x, err := v.Float64(); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return format.TimeOf(int64(x)), true
		}
		at, err := format.ParseTime([]byte(v))
		return at, err == nil
	}
	return 0, false
}

// TestStampWithoutValue: the fourth column of the format movielens is the time also if the ratings are not read.
func TestStampWithoutValue(t *testing.T) {
	const text = "1::2::3::100\n2::3::4::200\n3::2::5::300\n"
	since := Filter{Since: time.Unix(200, 0)}
	for name, o := range map[string]Options{
		"events":  {Events: true, Filter: since},
		"columns": {Format: "movielens", Columns: []string{"1", "2"}, Filter: since},
	} {
		rep, got, err := ingestText(t, text, o)
		if err != nil || !slices.Equal(got, []triple{{"2", "3", 1}, {"3", "2", 1}}) || rep.Filtered.Outside != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
