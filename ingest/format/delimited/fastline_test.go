package delimited

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

func TestWindow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		var l window
		for i := range l {
			l[i] = byte(r.Uint32())
			if r.IntN(2) == 0 {
				l[i] = '0' + byte(r.IntN(10))
			}
		}
		n := 1 + r.IntN(maxFastDigits)
		start := r.IntN(fastWindow - n + 1)
		for i := range n {
			l[start+i] = '0' + byte(r.IntN(10))
		}
		if want, err := strconv.ParseUint(string(l[start:start+n]), 10, 64); err != nil || l.value(uint(start), uint(n)) != want {
			t.Fatalf("%q at %d, %d digits: %d", l, start, n, l.value(uint(start), uint(n)))
		}
		marks := l.nonDigits()
		for i := range 64 {
			want := i < fastWindow && (l[i] < '0' || l[i] > '9')
			if marks>>i&1 == 1 != want {
				t.Fatalf("%q: byte %d marked %v", l, i, !want)
			}
		}
	}
}

// slowly parses a chunk line by line, without the fast path.
func slowly(p *reader, c *format.Chunk, b *format.Batch) {
	b.Reset(anyNumber)
	var f fields
	for rest, line := c.Data, c.Begin.Line; len(rest) > 0; line++ {
		var l []byte
		l, rest = text.CutLine(rest)
		b.Lines++
		if text.Blank(l) {
			continue
		}
		b.Tally.Entries++
		if err := p.line(l, &f, line, b); err != nil {
			b.Refuse(err)
		}
	}
}

const anyNumber = 1000 // limit of bad lines that no test reaches

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func sameBatch(t fataler, got, want *format.Batch) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(format.Batch{}, format.Keys{}), cmpopts.EquateEmpty(), cmp.Transformer("", func(err error) string { return err.Error() })); diff != "" {
		t.Fatalf("read fast, not slowly:\n%s", diff)
	}
}

// fastLayouts returns layouts with a fast path, and some without: those with the separator ".".
func fastLayouts() []*reader {
	var all []*reader
	for _, sep := range []string{"::", ",", "\t", "ab", "a1", "."} {
		for fields := 2; fields <= 4; fields++ {
			p := &reader{Lines: &text.Lines{In: &format.Input{Name: "f"}}, sep: newSeparator(sep), fields: fields, item: 1, value: 2, stamp: -1, time: -1}
			if fields == 2 {
				p.value = -1
			}
			all = append(all, p)
			if fields == 4 {
				stamped := *p
				stamped.stamp = 3
				timed := stamped
				timed.time = 3
				all = append(all, &stamped, &timed)
			}
		}
	}
	return all
}

// TestFastLinesAgree: the fast path reads random lines as slowly does.
func TestFastLinesAgree(t *testing.T) {
	layouts := fastLayouts()
	for _, p := range layouts {
		if p.fastLines() != (p.sep.text != ".") {
			t.Fatalf("%+v is read fast: %v", p, p.fastLines())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(layouts).Draw(t, "layout")
		field := rapid.OneOf(
			rapid.StringMatching(`[1-9][0-9]{0,4}`), rapid.StringMatching(`[0-9]{1,20}`), rapid.StringMatching(`[0-9]{1,12}\.[0-9]{1,12}`),
			rapid.SampledFrom([]string{"", "0", "00", "-1", "+2", "5.", ".5", "1e3", "007", " 1", "1 ", "x", "1x", `"1"`, "nan", "9007199254740993",
				"9223372036854775807", "9223372036854775808", "1.0000000000000001", "٣", "1\r", ":", "1\x00"}))
		var src strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			n := p.fields
			if rapid.IntRange(0, 9).Draw(t, "miscount") == 0 {
				n = rapid.IntRange(0, 5).Draw(t, "fields")
			}
			for i := range n {
				if i > 0 {
					src.WriteString(p.sep.text)
				}
				if rapid.IntRange(0, 3).Draw(t, "odd") > 0 {
					src.WriteString(strconv.Itoa(rapid.IntRange(0, 99999).Draw(t, "n")))
				} else {
					src.WriteString(field.Draw(t, "field"))
				}
			}
			src.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n", "\n\n", ""}).Draw(t, "end"))
		}
		sameFast(t, p, []byte(src.String()))
	})
}

// sameFast compares the fast path, with and without vectors, with slowly.
func sameFast(t fataler, p *reader, src []byte) {
	t.Helper()
	c := format.Chunk{Data: src, Begin: format.Position{Line: 1}}
	var want format.Batch
	slowly(p, &c, &want)
	for _, p.noVectors = range []bool{true, false} {
		var got format.Batch
		got.Reset(anyNumber)
		if err := p.Parse(&c, &got); err != nil {
			t.Fatalf("%v", err)
		}
		sameBatch(t, &got, &want)
	}
}

// FuzzFastLines does as TestFastLinesAgree for any bytes.
func FuzzFastLines(f *testing.F) {
	for _, s := range []string{"1::2::3.5::978300760\n", "1,2,3\n", "1\t2\n"} {
		f.Add([]byte(strings.Repeat(s, 8)), uint8(4))
	}
	layouts := fastLayouts()
	f.Fuzz(func(t *testing.T, src []byte, which uint8) {
		sameFast(t, layouts[int(which)%len(layouts)], src)
	})
}
