package text

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// naiveFloat does what ParseFloat must do, with strconv alone.
func naiveFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case strings.ContainsAny(s, "xXpP_"):
		return 0, ErrNumber
	case err == nil && (math.IsNaN(v) || math.IsInf(v, 0)):
		return 0, format.ErrNotFinite
	case errors.Is(err, strconv.ErrRange):
		return 0, format.ErrOverflow
	case err != nil:
		return 0, ErrNumber
	}
	return v, nil
}

func checkFloat(t interface{ Fatalf(string, ...any) }, s string) {
	got, gotErr := ParseFloat([]byte(s))
	want, wantErr := naiveFloat(s)
	if gotErr != wantErr || math.Float64bits(got) != math.Float64bits(want) {
		t.Fatalf("ParseFloat(%q) = %v, %v, want %v, %v", s, got, gotErr, want, wantErr)
	}
}

var floatSamples = []string{
	"", "+", "-", ".", "-.", "0", "-0", "+0", "5", "3.5", ".5", "5.", "-.25", "0.1", "1e3", "1E-3", "1e", "1e+", "1.2.3", "--1", "1-",
	"999999999999999", "9999999999999999", "123456789012345.5", "0.000000000000001", "0.0000000000000001", "9007199254740993",
	"1e308", "1e309", "-1e309", "5e-324", "1e-400", "1.7976931348623157e308", "1.7976931348623159e308",
	"nan", "NaN", "inf", "-Inf", "+infinity", "infinit", "0x10", "0x1p-2", "1_000", " 1", "1 ", "1,5", "١", "1\x00",
	"000000000000000000001", "2.2250738585072011e-308", "179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508455133942304583236903222948165808559332123347974797826204144723168738177180919299881250404026184124858368",
}

func TestParseFloatAgreesWithStrconv(t *testing.T) {
	for _, s := range floatSamples {
		checkFloat(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkFloat(t, rapid.StringMatching(`[+-]?[0-9]{0,17}(\.[0-9]{0,17})?([eE][+-]?[0-9]{1,3})?`).Draw(t, "s"))
		checkFloat(t, strconv.FormatFloat(rapid.Float64().Draw(t, "v"), 'g', rapid.IntRange(-1, 20).Draw(t, "prec"), 64))
	})
}

func FuzzParseFloat(f *testing.F) {
	for _, s := range floatSamples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkFloat(t, s) })
}

func TestParseInteger(t *testing.T) {
	for s, want := range map[string]error{"3": nil, "-3": nil, "+3": nil, "3.0": ErrInteger, "3e2": ErrInteger, "x": ErrNumber, "": ErrNumber, "-": ErrNumber, "nan": format.ErrNotFinite, "3-": ErrNumber} {
		if _, err := ParseInteger([]byte(s)); err != want {
			t.Errorf("ParseInteger(%q): %v, want %v", s, err, want)
		}
	}
	if v, _ := ParseInteger([]byte("-9223372036854775800")); v != -9223372036854775800 {
		t.Errorf("got %v", v)
	}
}
