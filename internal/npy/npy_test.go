package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
)

func headed(version byte, text string) []byte {
	b := append([]byte(Magic), version, 0)
	if version == 1 {
		return append(binary.LittleEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

func TestReadHeader(t *testing.T) {
	for _, c := range []struct {
		text string
		want *Header // nil: refused
	}{
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n", &Header{Descr: "<f8", Shape: []int64{3, 4}}},
		{"{'descr':'|b1','fortran_order':True,'shape':(3,)}", &Header{Descr: "|b1", Fortran: true, Shape: []int64{3}}},
		{"{'shape': (), 'fortran_order': False, 'descr': '>i8'}\n", &Header{Descr: ">i8"}},
		{"{'descr': '<U5', 'fortran_order': False, 'shape': (1, 2, 3), }\n", &Header{Descr: "<U5", Shape: []int64{1, 2, 3}}},
		{"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }", nil},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (3,,4), }", nil},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (,3), }", nil},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (3 4), }", nil},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", nil},
		{"{'descr': '<f8', 'fortran_order': False, }", nil},
		{"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'more': 1}", nil},
		{"{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", nil},
		{"{'descr': True, 'fortran_order': False, 'shape': (3,)}", nil},
		{"{'descr': '<f8' 'fortran_order': False, 'shape': (3,)}", nil},
		{"'descr': '<f8', 'fortran_order': False, 'shape': (3,)", nil},
		{"", nil},
	} {
		for version := byte(1); version <= 3; version++ {
			b := headed(version, c.text)
			h, err := ReadHeader(iotest.OneByteReader(bytes.NewReader(append(slices.Clone(b), "data"...))))
			if c.want == nil {
				if !errors.Is(err, ErrFormat) {
					t.Errorf("%s: %+v, %v", c.text, h, err)
				}
				continue
			}
			if err != nil || h.Size != int64(len(b)) || h.Descr != c.want.Descr || h.Fortran != c.want.Fortran || !slices.Equal(h.Shape, c.want.Shape) {
				t.Errorf("%s: %+v, %v", c.text, h, err)
			}
			for cut := range b {
				if _, err := ReadHeader(bytes.NewReader(b[:cut])); !errors.Is(err, ErrFormat) {
					t.Errorf("%s cut at %d: %v", c.text, cut, err)
				}
			}
		}
	}
	long := binary.LittleEndian.AppendUint32([]byte(Magic+"\x02\x00"), 1<<31)
	for _, b := range []string{Magic + "\x04\x00\x00\x00", "\x93NUMPX\x01\x00v\x00", string(long)} {
		if _, err := ReadHeader(strings.NewReader(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", b, err)
		}
	}
	if _, err := ReadHeader(iotest.ErrReader(errors.ErrUnsupported)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a failing read: %v", err)
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		want  int64
	}{{nil, 1}, {[]int64{3, 4}, 12}, {[]int64{1 << 62, 0, 1 << 62}, 0}, {[]int64{1 << 31, 1 << 31}, -1}, {[]int64{1 << 62}, -1}} {
		if got := (&Header{Shape: c.shape}).Elements(); got != c.want {
			t.Errorf("%v: %d, want %d", c.shape, got, c.want)
		}
	}
}

// TestDecode compares with encoding/binary for each type and byte order.
func TestDecode(t *testing.T) {
	samples := map[string]any{"|i1": new(int8), "|u1": new(uint8), "i2": new(int16), "u2": new(uint16), "i4": new(int32), "u4": new(uint32),
		"i8": new(int64), "u8": new(uint64), "f4": new(float32), "f8": new(float64)}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "bytes")
		for name, x := range samples {
			for prefix, order := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
				kind := must.Get(TypeOf(prefix + strings.TrimPrefix(name, "|")))(t)
				n := 32 / kind.Size
				floats, ints := make([]float64, n), make([]int64, n)
				kind.Floats(floats, b)
				if kind.Integer() {
					kind.Ints(ints, b)
				}
				for i := range n {
					must.Get(binary.Decode(b[i*kind.Size:], order, x))(t)
					f, k := naive(x)
					if math.Float64bits(floats[i]) != math.Float64bits(f) && f == f || kind.Integer() && ints[i] != k {
						t.Fatalf("%s%s element %d: %v and %d, want %v and %d", prefix, name, i, floats[i], ints[i], f, k)
					}
				}
			}
		}
	})
	two := make([]float64, 3)
	if kind, err := TypeOf("|b1"); err != nil || kind.Integer() {
		t.Error(kind, err)
	} else if kind.Floats(two, []byte{0, 1, 7}); two[0] != 0 || two[1] != 1 || two[2] != 1 {
		t.Errorf("booleans: %v", two)
	}
	for _, descr := range []string{"", "f8", "|f2", "<f16", "<c8", "<c16", "|O", "<U3", "|S1", "<M8", "=f8", "|i4", "<i3", "<b2", "<f9", "<i0"} {
		if kind, err := TypeOf(descr); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %+v, %v", descr, kind, err)
		}
	}
}

func naive(x any) (float64, int64) {
	switch v := x.(type) {
	case *int8:
		return float64(*v), int64(*v)
	case *uint8:
		return float64(*v), int64(*v)
	case *int16:
		return float64(*v), int64(*v)
	case *uint16:
		return float64(*v), int64(*v)
	case *int32:
		return float64(*v), int64(*v)
	case *uint32:
		return float64(*v), int64(*v)
	case *int64:
		return float64(*v), *v
	case *uint64:
		if *v > math.MaxInt64 {
			return float64(*v), -1
		}
		return float64(*v), int64(*v)
	case *float32:
		return float64(*v), 0
	case *float64:
		return *v, 0
	}
	panic(fmt.Sprint(x))
}

// FuzzReadHeader checks that no header causes a panic, and that accepted headers have valid sizes.
func FuzzReadHeader(f *testing.F) {
	f.Add(headed(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n"))
	f.Add(headed(3, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := ReadHeader(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if h.Size > int64(len(b)) || slices.ContainsFunc(h.Shape, func(n int64) bool { return n < 0 }) {
			t.Fatalf("%+v", h)
		}
	})
}

// TestHalf compares all float16 values with their definition (IEEE 754-2019, §3.4), as fractions.
func TestHalf(t *testing.T) {
	for x := range 1 << 16 {
		var want float64
		switch exp, m := x>>10&31, int64(x&1023); {
		case exp == 31 && m > 0:
			want = math.NaN()
		case exp == 31:
			want = math.Inf(1)
		case exp == 0:
			want, _ = new(big.Rat).SetFrac64(m, 1<<24).Float64()
		default:
			want, _ = new(big.Rat).SetFrac64((1024+m)<<exp, 1<<25).Float64()
		}
		if x >= 1<<15 {
			want = -want
		}
		got := make([]float64, 2)
		for descr, b := range map[string][]byte{"<f2": {byte(x), byte(x >> 8), 0, 0x3c}, ">f2": {byte(x >> 8), byte(x), 0x3c, 0}} {
			kind := must.Get(TypeOf(descr))(t)
			if kind.Floats(got, b); got[1] != 1 || got[0] != want && want == want || want != want && got[0] == got[0] || math.Signbit(got[0]) != (x >= 1<<15) {
				t.Fatalf("%#x as %s is %v, want %v", x, descr, got, want)
			}
		}
	}
}
