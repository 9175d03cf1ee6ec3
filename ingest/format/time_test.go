package format

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
)

func TestParseTime(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"0", "1970-01-01T00:00:00Z"},
		{"-1", "1969-12-31T23:59:59Z"},
		{"978300760", "2000-12-31T22:12:40Z"},
		{"978300760.25", "2000-12-31T22:12:40.25Z"},
		{"-0.5", "1969-12-31T23:59:59.5Z"},
		{"1512345678901", "2017-12-04T00:01:18.901Z"},
		{"1512345678901.5", "2017-12-04T00:01:18.9015Z"},
		{"1512345678901234", "2017-12-04T00:01:18.901234Z"},
		{"1512345678901234567", "2017-12-04T00:01:18.901234Z"},
		{"1.26e+09", "2009-12-05T08:00:00Z"},
		{"007", "1970-01-01T00:00:07Z"},
		{"2019-07-28", "2019-07-28T00:00:00Z"},
		{"2019-07-28T23:15", "2019-07-28T23:15:00Z"},
		{"2019-07-28 23:15:40", "2019-07-28T23:15:40Z"},
		{"2019-07-28 23:15:40.1234567", "2019-07-28T23:15:40.123456Z"},
		{"2019-07-28t23:15:40,5z", "2019-07-28T23:15:40.5Z"},
		{"2019-07-28T23:15:40+02:00", "2019-07-28T21:15:40Z"},
		{"2019-07-28T23:15:40-0230", "2019-07-29T01:45:40Z"},
		{"2019-07-28T23:15+01", "2019-07-28T22:15:00Z"},
		{"2019-07-28 23:15:40 UTC", "2019-07-28T23:15:40Z"},
		{"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
		{"2000-02-29", "2000-02-29T00:00:00Z"},
		{"0001-01-01", "0001-01-01T00:00:00Z"},
	} {
		got, err := ParseTime([]byte(c.text))
		if err != nil || got.String() != c.want {
			t.Errorf("%s is %v, %v; want %s", c.text, got, err, c.want)
		}
	}
	for _, s := range []string{
		"", "-", ".", "abc", "12/1/2010 8:26", "2019-7-28", "2019-13-01", "2019-00-01", "2019-02-29", "2019-04-31", "2019-07-00",
		"2019-07-28T", "2019-07-28T24:00", "2019-07-28T23:60", "2019-07-28T23:15:61", "2019-07-28T23:15:60", "2019-07-28T23:15:40.", "2019-07-28T23:15:40+",
		"2019-07-28T23:15:40+24:00", "2019-07-28T23:15:40+02:60", "2019-07-28T23:15 CET", "2019-07-28x", "2019-07-28_23:15", "nan", "inf", "1e300", "0x10", "1_000", "1.2.3", "12:30",
	} {
		if got, err := ParseTime([]byte(s)); !errors.Is(err, ErrTime) {
			t.Errorf("%q is %v, %v", s, got, err)
		}
	}
}

// TestTimeOfIntegers compares all units and their limits with big integers, up to the limits of int64.
func TestTimeOfIntegers(t *testing.T) {
	for _, n := range []int64{math.MinInt64, math.MaxInt64, 0, 1e11 - 1, 1e11, 1e14 - 1, 1e14, 1e17 - 1, 1e17} {
		for _, n := range []int64{n, -n} {
			unit := int64(1e9) // nanoseconds in the unit of n
			switch m := new(big.Int).Abs(big.NewInt(n)); {
			case m.Cmp(big.NewInt(1e17)) >= 0:
				unit = 1
			case m.Cmp(big.NewInt(1e14)) >= 0:
				unit = 1e3
			case m.Cmp(big.NewInt(1e11)) >= 0:
				unit = 1e6
			}
			want := new(big.Int).Mul(big.NewInt(n), big.NewInt(unit))
			want.Quo(want, big.NewInt(1000))
			if got := TimeOf(n); int64(got) != want.Int64() || !want.IsInt64() {
				t.Errorf("%d is %d, want %v", n, got, want)
			}
		}
	}
}

// TestParseTimeAgreesWithPackageTime: texts that package time formats are parsed to the same time.
func TestParseTimeAgreesWithPackageTime(t *testing.T) {
	layouts := []string{
		time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04:05.999999Z07:00", "2006-01-02T15:04:05.000000-0700", "2006-01-02T15:04:05.000Z",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		at := time.UnixMicro(rapid.Int64Range(-62e15, 250e15).Draw(t, "µs")).In(zone)
		if y := at.Year(); y < 1 || y > 9999 {
			t.Skip("not of four digits")
		}
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		text := at.Format(layout)
		want := must.Get(time.Parse(layout, text))(t)
		if got, err := ParseTime([]byte(text)); err != nil || int64(got) != want.UnixMicro() {
			t.Fatalf("%s is %v, %v; want %v", text, got, err, want)
		}
	})
}

// FuzzParseTime: ParseTime does not panic, and the String of a time is parsed to the same time.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"978300760", "1.5e9", "2019-07-28T23:15:40.5+02:00", "1512345678901.25", "-1", "9999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseTime([]byte(s))
		if err != nil {
			return
		}
		if y := time.UnixMicro(int64(at)).UTC().Year(); y < 0 || y > 9999 {
			return // ParseTime reads years of four digits only
		}
		if again, err := ParseTime([]byte(at.String())); err != nil || again != at {
			t.Fatalf("%q is %v, that is %v, %v", s, at, again, err)
		}
	})
}

func TestDatesAsNumbers(t *testing.T) {
	seconds := func(n ...int64) (times []Time) {
		for _, n := range n {
			times = append(times, TimeOf(n))
		}
		return times
	}
	for _, c := range []struct {
		times []Time
		want  bool
	}{
		{seconds(20190728, 19000101, 20991231, 20000229), true},
		{seconds(20190728, 20190732), false},
		{seconds(20190230), false},
		{seconds(20191301), false},
		{seconds(20190028), false},
		{seconds(18991231), false},
		{seconds(21000101), false},
		{seconds(978300760), false},
		{seconds(-20190728), false},
		{[]Time{TimeOf(20190728) + 1}, false},
		{nil, false},
	} {
		if got := DatesAsNumbers(c.times); got != c.want {
			t.Errorf("%v: %v", c.times, got)
		}
	}
}
