package text

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// A stream is the Stream of a format.Input over a text.
type stream struct{ *bufio.Reader }

func (s stream) Skip(n int64) error {
	_, err := io.CopyN(io.Discard, s, n)
	return err
}

// FuzzLabels: FieldLabels returns the ids and titles that splitting the text returns, for the fields of barcodes.tsv,
// features.tsv, genes.tsv and whole lines; the first line without an id is refused with its number.
func FuzzLabels(f *testing.F) {
	for _, s := range []string{
		"ENSG3\tC\tGene Expression\nENSG1\tA\tGene Expression\n", "ENSG3\tC\nENSG1\tA\n", "TTT-1\nAAA-1", "\xef\xbb\xbfa\tb\r\nc\td\r\n", "a\n\nb\n", "\ta\n", "a\t\n", "a\r", "\n", "", "a\x00\xff\tb\n",
	} {
		f.Add(s, uint8(0))
		f.Add(s, uint8(1))
		f.Add(s, uint8(2))
	}
	f.Fuzz(func(t *testing.T, s string, mode uint8) {
		fields := [][2]int{{0, 1}, {0, -1}, {-1, -1}}[mode%3]
		in := &format.Input{Name: "in", Stream: stream{bufio.NewReaderSize(strings.NewReader(s), format.ChunkBytes)}}
		closed := 0
		labels, err := FieldLabels(in, fields[0], fields[1], func() error { closed++; return nil })
		s = strings.TrimPrefix(s, BOM)
		if s == "" {
			if !errors.Is(err, format.ErrEmpty) || closed != 1 {
				t.Fatalf("nothing: %v, closed %d times", err, closed)
			}
			return
		}
		must.Do(t, err)
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		read := int64(0)
		err = ReadLabels(labels, func(n int64, l format.Label) error {
			read++
			line := strings.TrimSuffix(lines[n], "\r")
			id, title := line, ""
			if fields[0] == 0 {
				id, title, _ = strings.Cut(line, "\t")
				if title, _, _ = strings.Cut(title, "\t"); fields[1] < 0 {
					title = ""
				}
			}
			if n != read-1 || l.Line != n+1 || l.File != "in" || id == "" || string(l.ID) != id || string(l.Title) != title {
				t.Fatalf("%d: %+v, want %q and %q", n, l, id, title)
			}
			return nil
		})
		if closed != 1 {
			t.Fatalf("closed %d times", closed)
		}
		if err == nil {
			if read != int64(len(lines)) {
				t.Fatalf("%d of %d lines", read, len(lines))
			}
			return
		}
		line, pe := strings.TrimSuffix(lines[read], "\r"), (*format.ParseError)(nil)
		refused := line == "" || fields[0] == 0 && line[0] == '\t' || fields[0] < 0 && strings.Contains(line, "\t") || len(line) >= format.ChunkBytes-2
		if !refused || !errors.As(err, &pe) || pe.Line != read+1 || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%q: %v", line, err)
		}
	})
}
