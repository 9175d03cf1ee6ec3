package plink

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

// Options are the numbers of samples and variants of an input.
type Options struct{ Samples, Variants int64 }

func input(data []byte) *format.Input {
	in, _ := formattest.Input(data)
	in.Name = "in.bed"
	return in
}

// read returns the entries of a .bed file, from byte offset from on if from > 0.
func read(in *format.Input, o Options, from int64, capacity int) (all map[[2]int64]float64, err error) {
	in.IDs = [2]int64{o.Samples, o.Variants}
	r, err := Format.Open(in)
	if err != nil {
		return nil, err
	}
	if from > 0 {
		if err := r.Seek(format.Position{Byte: from}); err != nil {
			return nil, err
		}
	}
	all = map[[2]int64]float64{}
	for c := (&format.Chunk{Data: make([]byte, 0, capacity)}); ; {
		var b format.Batch
		err := r.Next(c)
		if err == io.EOF {
			return all, r.Check(format.Tally{}, nil, nil)
		}
		if err == nil {
			err = r.Parse(c, &b)
		}
		if err != nil {
			return nil, err
		}
		for i, v := range b.Val {
			all[[2]int64{b.Row.Ints[i], b.Col.Ints[i]}] = v
		}
	}
}

// naive decodes a .bed file genotype by genotype; ok is false if it is to be refused.
func naive(data []byte, o Options) (all map[[2]int64]float64, ok bool) {
	if len(data) < 3 || data[0] != 0x6c || data[1] != 0x1b || data[2] > 1 || o.Samples < 1 || o.Variants < 1 {
		return nil, false
	}
	lines, n := o.Variants, o.Samples
	if data[2] == 0 {
		lines, n = n, lines
	}
	perLine := n / 4
	if n%4 > 0 {
		perLine++
	}
	if int64(len(data)) != 3+lines*perLine {
		return nil, false
	}
	all = map[[2]int64]float64{}
	for line := range lines {
		bits := data[3+line*perLine:][:perLine]
		for g := range 4 * perLine {
			code := bits[g/4] >> (2 * (g % 4)) & 3
			if g >= n {
				if code != 0 {
					return nil, false
				}
				continue
			}
			at := [2]int64{g, line}
			if data[2] == 0 {
				at = [2]int64{line, g}
			}
			switch code {
			case 0:
				all[at] = 2
			case 1:
				all[at] = 3
			case 2:
				all[at] = 1
			}
		}
	}
	return all, true
}

func same(a, b map[[2]int64]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for at, v := range a {
		if w, ok := b[at]; !ok || w != v {
			return false
		}
	}
	return true
}

// documented is the example of PLINK's documentation of the format. Its .ped file has 6 samples and 3 variants with the
// genotypes GG AA 00 AA AA AA, 22 00 12 22 22 22 and CC AC AC 00 00 AA; A1 is G, 1 and A.
var documented = []byte{0x6c, 0x1b, 0x01, 0xdc, 0x0f, 0xe7, 0x0f, 0x6b, 0x01}

func TestReads(t *testing.T) {
	want := map[[2]int64]float64{{0, 0}: 2, {2, 0}: 3, {1, 1}: 3, {2, 1}: 1, {1, 2}: 1, {2, 2}: 1, {3, 2}: 3, {4, 2}: 3, {5, 2}: 2}
	for _, capacity := range []int{0, 1, 2, 5, 100} {
		if got, err := read(input(documented), Options{6, 3}, 0, capacity); err != nil || !same(got, want) {
			t.Errorf("%d bytes at a time: %v, %v", capacity, got, err)
		}
	}
	rest, err := read(input(documented), Options{6, 3}, 5, 100)
	for at := range want {
		if at[1] == 0 {
			delete(want, at)
		}
	}
	if err != nil || !same(rest, want) {
		t.Errorf("from the second variant: %v, %v", rest, err)
	}
	// In sample order: three samples of one variant, one byte each.
	got, err := read(input([]byte("\x6c\x1b\x00\x00\x01\x03")), Options{3, 1}, 0, 100)
	if err != nil || !same(got, map[[2]int64]float64{{0, 0}: 2, {1, 0}: 3}) {
		t.Errorf("by samples: %v, %v", got, err)
	}
}

func TestRefuses(t *testing.T) {
	with := func(change func(b []byte) []byte) []byte { return change(append([]byte{}, documented...)) }
	for _, c := range []struct {
		name  string
		data  []byte
		o     Options
		plain bool // a file, not a stream
		want  string
		is    error
	}{
		{"empty", nil, Options{6, 3}, false, "begins with 000000", format.ErrHeader},
		{"magic", with(func(b []byte) []byte { b[1] = 0; return b }), Options{6, 3}, false, "begins with 6c0001", format.ErrHeader},
		{"order", with(func(b []byte) []byte { b[2] = 2; return b }), Options{6, 3}, false, "begins with 6c1b02", format.ErrHeader},
		{"alone", documented, Options{}, false, "--rows-ids", nil},
		{"short", documented[:8], Options{6, 3}, false, "in.bed, byte 8: truncated: the data end, 9 bytes are expected", format.ErrTruncated},
		{"long", append(documented, 0), Options{6, 3}, false, "byte 9: wrong number of entries: data behind", format.ErrCount},
		{"short file", documented[:8], Options{6, 3}, true, "8 bytes, but 6 samples and 3 variants take 9", format.ErrTruncated},
		{"long file", append(documented, 0), Options{6, 3}, true, "10 bytes, but 6 samples and 3 variants take 9", format.ErrCount},
		{"other samples", documented, Options{5, 3}, false, "byte 4: wrong number of entries: bits behind the last genotype of a line are not 0: the .bed and .fam", format.ErrCount},
		{"other variants", documented, Options{6, 4}, true, "6 samples and 4 variants take 11", format.ErrTruncated},
		{"events", documented, Options{6, 3}, false, "as events", format.ErrUnsupported},
		{"enormous", documented, Options{1 << 60, 1 << 60}, false, "genotypes", format.ErrHeader},
	} {
		in := input(c.data)
		in.Events = c.name == "events"
		if c.plain {
			in.At, in.Size = bytes.NewReader(c.data), int64(len(c.data))
		}
		_, err := read(in, c.o, 0, 100)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		side       format.Side
		text, want string
	}{
		{format.RowSide, "F1 s1 0 0 1 -9\nF1\ts2\t0\t0\t2\t1\n", "s1, s2, "},
		{format.ColSide, "1\trs1\t0\t100\tA\tG\n1 . 0 200 T C\n", "rs1_A 1:100 A/G, 1:200:C:T_T 1:200 T/C, "},
		{format.RowSide, "F1 s1 0 0 1 -9\ns2 0 0 1 -9\n", "s1, in.bed:2: \"s2 0 0 1 -9\": wrong number of fields: 5; expected family, sample, father, mother, sex and phenotype"},
		{format.ColSide, "1 rs1 0 100 A G C\n", "in.bed:1: \"1 rs1 0 100 A G C\": wrong number of fields: 7; expected chromosome, variant, centimorgans, position, A1 and A2"},
	} {
		closed := false
		ids, err := Labels(c.side, input([]byte(c.text)), func() error { closed = true; return nil })
		must.Do(t, err)
		got := ""
		err = text.ReadLabels(ids, func(_ int64, l format.Label) error {
			got += strings.TrimSpace(string(l.ID)+" "+string(l.Title)) + ", "
			return nil
		})
		if err != nil {
			got += err.Error()
		}
		if got != c.want || !closed {
			t.Errorf("%q, want %q; closed: %v", got, c.want, closed)
		}
	}
}

// FuzzBed: the format accepts the files that naive accepts and reads the same entries.
func FuzzBed(f *testing.F) {
	f.Add(documented, uint16(6), uint16(3))
	f.Add([]byte("\x6c\x1b\x00\x00\x01\x03"), uint16(3), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, samples, variants uint16) {
		o := Options{int64(samples), int64(variants)}
		want, ok := naive(data, o)
		got, err := read(input(data), o, 0, 7)
		if (err == nil) != ok || ok && !same(got, want) {
			t.Fatalf("%v, %v; want %v, %v", got, err, want, ok)
		}
	})
}

// FuzzLabels: any lines are read as ids, or refused in one line.
func FuzzLabels(f *testing.F) {
	f.Add("F1 s1 0 0 1 -9\n", false)
	f.Add("1\t.\t0\t100\tA\tG\n", true)
	f.Fuzz(func(t *testing.T, lines string, variants bool) {
		side := format.RowSide
		if variants {
			side = format.ColSide
		}
		ids, err := Labels(side, input([]byte(lines)), func() error { return nil })
		if err == nil {
			err = text.ReadLabels(ids, func(_ int64, l format.Label) error {
				if len(l.ID) == 0 {
					t.Fatal("an empty id")
				}
				return nil
			})
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatal(err)
		}
	})
}
