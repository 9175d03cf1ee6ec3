//go:build alltests

package parquet

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
)

// TestParquetTimes: times of each type and unit up to their limits; other values are refused with row and column.
func TestParquetTimes(t *testing.T) {
	type days struct {
		User, Item int64
		Date       int32 `parquet:",date"`
	}
	type millis struct {
		User, Item int64
		Stage      int64 `parquet:",timestamp(millisecond)"` // no name of a time: found by its type
	}
	type micros struct {
		User, Item int64
		Ts         int64 `parquet:",timestamp(microsecond)"`
	}
	type nanos struct {
		User, Item int64
		Ts         *int64 `parquet:",timestamp(nanosecond),optional"`
	}
	type floats struct {
		User, Item int64
		Ts         float64
	}
	type naturals struct {
		User, Item int64
		Ts         uint64
	}
	type texts struct {
		User, Item int64
		Ts         string
	}
	type old struct {
		User, Item int64
		Ts         deprecated.Int96
	}
	type clock struct {
		User, Item int64
		Ts         int64 `parquet:",time(microsecond)"`
	}
	type truth struct {
		User, Item int64
		Ts         bool
	}
	type two struct {
		User, Item    int64
		Phase, Stage2 int64 `parquet:",timestamp(millisecond)"` // no names of times: found by their types
	}
	type none struct{ User, Item, Rating int64 }
	const most, least = math.MaxInt64, math.MinInt64
	minus := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		data []byte
		want []format.Time
		says string
	}{
		{formattest.Parquet(t, []days{{1, 2, -1}, {1, 3, 0}, {2, 3, 18105}}, 2), []format.Time{-86400e6, 0, 1564272000e6}, ""},
		{formattest.Parquet(t, []days{{1, 2, math.MaxInt32}}, 9), nil, `in:1: Date "2147483647": not a time`},
		{formattest.Parquet(t, []millis{{1, 2, -1}, {1, 3, most / 1000}, {1, 4, least / 1000}}, 9), []format.Time{-1000, most / 1000 * 1000, least / 1000 * 1000}, ""},
		{formattest.Parquet(t, []millis{{1, 2, 0}, {1, 3, most/1000 + 1}}, 1), nil, `in:2: Stage "9223372036854776": not a time`},
		{formattest.Parquet(t, []millis{{1, 3, least/1000 - 1}}, 9), nil, "not a time"},
		{formattest.Parquet(t, []micros{{1, 2, most}, {1, 3, least}}, 9), []format.Time{most, least}, ""},
		{formattest.Parquet(t, []nanos{{1, 2, minus(-1)}, {1, 3, minus(-1000)}, {1, 4, minus(1999)}, {1, 5, minus(least)}}, 9), []format.Time{-1, -1, 1, least/1000 - 1}, ""},
		{formattest.Parquet(t, []nanos{{1, 2, minus(1)}, {1, 3, nil}}, 9), nil, "in:2: Ts: null, in row group 0"},
		{formattest.Parquet(t, []floats{{1, 2, 1564355740.123456}, {1, 3, -0.5}, {1, 4, 1e15}}, 9), []format.Time{1564355740123456, -500000, 1e15}, ""},
		{formattest.Parquet(t, []floats{{1, 2, math.NaN()}}, 9), nil, `in:1: Ts "NaN": not a time`},
		{formattest.Parquet(t, []floats{{1, 2, math.Inf(-1)}}, 9), nil, `in:1: Ts "-Inf": not a time`},
		{formattest.Parquet(t, []floats{{1, 2, 1 << 63}}, 9), nil, "not a time"},
		{formattest.Parquet(t, []naturals{{1, 2, most}, {1, 3, 5}}, 9), []format.Time{most / 1000, 5e6}, ""},
		{formattest.Parquet(t, []naturals{{1, 2, most + 1}}, 9), nil, `in:1: Ts "9223372036854775808": not a time`},
		{formattest.Parquet(t, []texts{{1, 2, "2019-07-28"}, {1, 3, "17"}}, 9), []format.Time{1564272000e6, 17e6}, ""},
		{formattest.Parquet(t, []texts{{1, 2, "2019-07-28"}, {1, 3, "28.7.2019"}}, 9), nil, `in:2: Ts "28.7.2019": not a time; want a date as 2019-07-28`},
		{formattest.Parquet(t, []texts{{1, 2, ""}}, 9), nil, "in:1: Ts: not a time"},
		{formattest.Parquet(t, []old{{1, 2, deprecated.Int96{}}}, 9), nil, `column "Ts" is of type INT96: not supported as the time; write timestamps as INT64 (TIMESTAMP_MICROS)`},
		{formattest.Parquet(t, []clock{{1, 2, 3}}, 9), nil, `column "Ts" is a time without a date: not supported as the time; --columns chooses others`},
		{formattest.Parquet(t, []truth{{1, 2, true}}, 9), nil, `column "Ts" is of type BOOLEAN: not supported as the time`},
		{formattest.Parquet(t, []two{{1, 2, 3, 4}}, 9), nil, "--columns User,Item,,Phase), or"},
		{formattest.Parquet(t, []none{{1, 2, 3}}, 9), nil, "no times can be read"},
	} {
		_, got, err := read(c.data, true)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.says)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v, %v, want %v", got, err, c.want)
		}
	}
	if got, _, err := read(formattest.Parquet(t, []old{{1, 2, deprecated.Int96{}}}, 9), false); err != nil || len(got) != 1 {
		t.Errorf("an old time that is not asked for: %v, %v", got, err)
	}
}
