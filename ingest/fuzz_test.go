package ingest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/refused"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// FuzzMovieLens: Ingest reads the entries that naiveLines reads, and refuses the other texts
// at the line at which naiveLines refuses them.
func FuzzMovieLens(f *testing.F) {
	for _, s := range []string{
		"1::2::3\n", "1::2::3.5::978300760\n1::3::4::978300761", "a::b::1\r\n07::-0::2e3\n", "1::2\n", "1::2::3\n4::5::6::7\n", "::::\n",
		"1::2::nan\n", "1:::2::3\n", "\n\n1::2::3\n \n", "1::2::3\n1,2,3\n", "# x\n1::2::3\n", "\xef\xbb\xbf1::2::3", "1::2::3::\n", "\"1\"::2::3\n", "\xef\xbb\xbf\xef\xbb\xbf1::2::3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		o := Options{Format: "delimited", Separator: "::", Columns: []string{"1", "2", "3"}, Header: format.HeaderNo}
		want, bad := naiveLines(strings.TrimPrefix(src, text.BOM), "::", []int{0, 1, 2})
		compareLines(t, src, o, want, bad)
	})
}

// FuzzDelimited does as FuzzMovieLens for a separator of one byte, another column order and texts without quotes.
func FuzzDelimited(f *testing.F) {
	for _, s := range []string{"3,1,2\n", "1.5,u,i,x\n2,v,,y\n", ",,\n", "1,2\n", "1,2,3,\n4,5,6\n", " 1 ,\t2, 3 \r\n", "#\t", "# \n1,2,3\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, `"`) {
			t.Skip("FuzzQuoted has the quotes")
		}
		o := Options{Format: "delimited", Separator: ",", Columns: []string{"2", "3", "1"}, Header: format.HeaderNo}
		want, bad := naiveLines(strings.TrimPrefix(src, text.BOM), ",", []int{1, 2, 0})
		compareLines(t, src, o, want, bad)
	})
}

// words matches texts with a field that other fields decide to be a missing id or a truth value: see TestIntake.
var words = regexp.MustCompile(`(?i)(?:^|[,:;|\s"])(?:true|false|na|n/a|null|none|nil|--?|\?|\\n|nan|<na>|#n/a|\(null\)|undefined)(?:$|[,:;|\s"])`)

func compareLines(t *testing.T, text string, o Options, want []triple, bad int) {
	if words.MatchString(text) {
		t.Skip("what a line says depends on the others")
	}
	if refused.Files.Sniff(format.Head{Bytes: []byte(text)}) {
		t.Skip("not text")
	}
	got, _, err := parseAll([]byte(text), o, format.ChunkBytes)
	if bad == 0 && len(want) == 0 {
		if !errors.Is(err, format.ErrEmpty) {
			t.Fatalf("%q: %v, want %v", text, err, format.ErrEmpty)
		}
		return
	}
	var pe *format.ParseError
	switch {
	case bad == 0 && err != nil:
		t.Fatalf("%q: %v, want %v", text, err, want)
	case bad == 0 && !slices.Equal(got, want):
		t.Fatalf("%q: got %v, want %v", text, got, want)
	case bad > 0 && (!errors.As(err, &pe) || pe.Line != int64(bad)):
		t.Fatalf("%q: error %v, want one at line %d", text, err, bad)
	case bad > 0 && strings.ContainsAny(pe.Error(), "\n\r"):
		t.Fatalf("error of several lines: %q", pe.Error())
	}
}

// FuzzAuto: format detection does not panic, and entries and errors do not depend on the chunk size.
func FuzzAuto(f *testing.F) {
	for _, c := range layoutCases {
		f.Add([]byte(c.text))
	}
	for _, s := range []string{mmReal + "2 3 2\n1 1 1.5\n%\n2 3 -2e-3\n", mmReal + "2 2 1\n1 1 1\n2 2 1\nx\n", mmSym + "3 3 3\n2 1 1\n3 3 1\n1 3 1\n", mmArray + "2 2\n1\n2\n3\n"} {
		f.Add([]byte(s))
	}
	f.Add(gzipped(f, []byte("1::2::3\n")))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")) || len(data) > 4 && string(data[1:4]) == "\x2a\x4d\x18" {
			t.Skip("zstd has fuzzers of its own")
		}
		want, _, wantErr := parseAll(data, Options{}, format.ChunkBytes)
		longest := 0
		for l := range bytes.Lines(data) {
			longest = max(longest, len(l))
		}
		got, _, err := parseAll(data, Options{}, max(16, longest+1))
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || !slices.Equal(got, want) {
			t.Fatalf("%q: %v, %v in small chunks, %v, %v in one", data, got, err, want, wantErr)
		}
		if errors.Is(err, io.EOF) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// FuzzLayout: any text is read, or refused with an error of one line.
func FuzzLayout(f *testing.F) {
	for _, c := range layoutCases {
		f.Add(c.text)
	}
	for _, c := range intakeCases {
		f.Add(c.files)
	}
	f.Add("\rL,r,z\n1,2,3\n")
	f.Fuzz(func(t *testing.T, src string) {
		for _, o := range []Options{{}, {Header: format.HeaderYes}, {Header: format.HeaderNo}, {Format: "movielens"}, {Columns: []string{"2", "1"}}} {
			_, _, err := parseAll([]byte(src), o, format.ChunkBytes)
			if err != nil && strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%+v: error of several lines: %q", o, err)
			}
		}
	})
}
