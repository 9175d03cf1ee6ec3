package ingest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestParquetOfPyArrow reads files of pyarrow 26 and pandas 3 with several encodings, codecs and page versions.
func TestParquetOfPyArrow(t *testing.T) {
	six := []triple{{"1", "a", 1.5}, {"1", "b", 2}, {"2", "a", 0}, {"3", "ü", 4.25}, {"5", "c", -3}, {"8", "7", 5}}
	some := []triple{six[0], six[4], six[5]}
	liked := slices.Clone(six)
	for i, v := range []float64{1, 0, 1, 1, 0, 1} {
		liked[i].Val = v
	}
	events := slices.Clone(six)
	for i := range events {
		events[i].Val = 1
	}
	for _, c := range []struct {
		file string
		o    Options
		want []triple
		bad  int64
		says string
	}{
		{"dictionary", Options{}, six, 0, ""}, // zstd, two row groups, a column of timestamps
		{"v2-delta", Options{}, six, 0, ""},   // pages of version 2, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT, gzip
		{"decimal", Options{}, six, 0, ""},    // uint16 ids, DELTA_LENGTH_BYTE_ARRAY, decimal128, snappy
		{"halves", Options{}, six, 0, ""},     // decimal128(38, 0) as ids, float16
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

// TestParquetWithoutRows: a file without rows, as Spark writes of an empty partition, adds nothing, nor a type of ids.
func TestParquetWithoutRows(t *testing.T) {
	file := func(name string) string { return filepath.Join("testdata", "parquet", name+".parquet") }
	alone := must.Get(Ingest(t.Context(), []string{file("dictionary")}, target(t), Options{}))(t)
	for _, names := range [][]string{{file("no-rows"), file("dictionary")}, {file("dictionary"), file("no-rows")}} {
		if rep, err := Ingest(t.Context(), names, target(t), Options{}); err != nil || rep.Fingerprint != alone.Fingerprint {
			t.Errorf("%v: %+v, %v, want %s", names, rep, err, alone.Fingerprint)
		}
	}
	if _, err := Ingest(t.Context(), []string{file("no-rows")}, target(t), Options{}); err == nil || !strings.Contains(err.Error(), "no-rows.parquet: no entries in the input") {
		t.Errorf("a file without rows: %v", err)
	}
}
