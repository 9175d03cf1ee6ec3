package ingest

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// footed is a binary format of ids that is read from its end, as Parquet is: blocks of records
// (user, item, value), then the number of records of each block, the number of blocks, and
// a magic number. The workers read the blocks from the file.
var footed = format.Format{
	Name:  "footed",
	Sniff: func(h format.Head) bool { return strings.HasPrefix(string(h.Bytes), footedMagic) },
	Open: func(in *format.Input) (format.Reader, error) {
		if in.At == nil {
			return nil, &format.ParseError{File: in.Name, Err: fmt.Errorf("footed data that are no plain file: %w", format.ErrUnsupported)}
		}
		var end [4]byte
		if _, err := in.At.ReadAt(end[:], in.Size-4); err != nil {
			return nil, err
		}
		r := &footedReader{in: in, lengths: make([]byte, 4*binary.LittleEndian.Uint32(end[:]))}
		_, err := in.At.ReadAt(r.lengths, in.Size-4-int64(len(r.lengths)))
		return r, err
	},
}

const (
	footedMagic  = "footed01"
	footedRecord = 24
)

type footedReader struct {
	in      *format.Input
	lengths []byte // numbers of records of the blocks not yet read
	at      int64
}

func (r *footedReader) Next(c *format.Chunk) error {
	if r.at == 0 {
		r.at = int64(len(footedMagic))
	}
	if len(r.lengths) == 0 {
		return io.EOF
	}
	c.Begin.Byte = r.at
	r.at += footedRecord * int64(binary.LittleEndian.Uint32(r.lengths))
	c.End.Byte, r.lengths = r.at, r.lengths[4:]
	return nil
}

func (r *footedReader) Parse(c *format.Chunk, b *format.Batch) error {
	data := make([]byte, c.End.Byte-c.Begin.Byte)
	if _, err := r.in.At.ReadAt(data, c.Begin.Byte); err != nil {
		return err
	}
	for ; len(data) > 0; data = data[footedRecord:] {
		b.Row.AddInt(int64(binary.LittleEndian.Uint64(data)))
		b.Col.AddInt(int64(binary.LittleEndian.Uint64(data[8:])))
		b.AddValue(float64(int64(binary.LittleEndian.Uint64(data[16:]))))
	}
	return nil
}

func (r *footedReader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

func (r *footedReader) Seek(p format.Position) error {
	for c := (format.Chunk{}); c.End != p; {
		if err := r.Next(&c); err != nil {
			return err
		}
	}
	return nil
}

func (r *footedReader) Locate(c *format.Chunk, n int) format.Position {
	return format.Position{Byte: c.Begin.Byte + footedRecord*int64(n)}
}

// footedFile returns records in the format footed, in blocks of up to n.
func footedFile(records [][3]int64, n int) string {
	b, lengths := []byte(footedMagic), []byte(nil)
	for len(records) > 0 {
		k := min(n, len(records))
		for _, r := range records[:k] {
			for _, v := range r {
				b = binary.LittleEndian.AppendUint64(b, uint64(v))
			}
		}
		lengths = binary.LittleEndian.AppendUint32(lengths, uint32(k))
		records = records[k:]
	}
	return string(binary.LittleEndian.AppendUint32(append(b, lengths...), uint32(len(lengths)/4)))
}

// arrows is a text format with ids: lines "item <- user value".
var arrows = format.Format{
	Name: "arrows",
	Sniff: func(h format.Head) bool {
		first, _, _ := strings.Cut(string(h.Bytes), "\n")
		return strings.Contains(first, " <- ")
	},
	Open: func(in *format.Input) (format.Reader, error) {
		lines, err := text.NewLines(in)
		return &arrowsReader{lines}, err
	},
}

type arrowsReader struct{ *text.Lines }

func (r *arrowsReader) Parse(c *format.Chunk, b *format.Batch) error {
	for rest, line := c.Data, c.Begin.Line; len(rest) > 0; line++ {
		var l []byte
		l, rest = text.CutLine(rest)
		b.Lines++
		b.Tally.Entries++
		var user, item string
		var v float64
		if _, err := fmt.Sscanf(string(l), "%s <- %s %g", &item, &user, &v); err != nil {
			if !b.Refuse(&format.ParseError{File: r.In.Name, Line: line, Text: text.Shorten(l), Err: text.ErrFields}) {
				break
			}
			continue
		}
		b.Row.Add([]byte(user))
		b.Col.Add([]byte(item))
		b.AddValue(v)
	}
	return nil
}

func (r *arrowsReader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

func (r *arrowsReader) Locate(c *format.Chunk, n int) format.Position {
	return text.Locate(c, n, r.Parse)
}

// A plugged is an ingest with formats from Options.Formats, and the entries of its store.
type plugged struct {
	unlucky
	want []triple
}

func pluggedCases(t *testing.T) []plugged {
	o := Options{Formats: []format.Format{footed, arrows}}
	r := rand.New(rand.NewPCG(9, 9))
	var records, again [][3]int64
	var parts [3]strings.Builder
	var want [3][]triple
	for i, k := range r.Perm(4000)[:900] {
		user, item, v := int64(k/40*13), int64(k%40), int64(i%7)
		want[i%3] = append(want[i%3], triple{strconv.FormatInt(user, 10), strconv.FormatInt(item, 10), float64(v)})
		switch i % 3 {
		case 0:
			records = append(records, [3]int64{user, item, v})
			again = append(again, [3]int64{user, item, v + 1})
		case 1:
			fmt.Fprintf(&parts[1], "%d <- %d %d\n", item, user, v)
		default:
			fmt.Fprintf(&parts[2], "%d,%d,%d\n", user, item, v)
		}
	}
	parts[0].WriteString(footedFile(records, 17))
	parts[1].WriteString("no arrow\n")
	in := []string{write(t, "a", parts[0].String()), write(t, "b", parts[1].String()), write(t, "c", parts[2].String())}
	first, bad := o, o
	first.Duplicates, bad.MaxBadLines = First, 1
	cases := []plugged{
		{unlucky{"random access", []string{write(t, "in", footedFile(append(records, again...), 23))}, first, tiny()}, want[0]},
		{unlucky{"random access, ids in lists", in[:1], o, crowded()}, want[0]},
		{unlucky{"stream", in[1:2], bad, tiny()}, want[1]},
		{unlucky{"three formats of ids", in, bad, tiny()}, slices.Concat(want[0], want[1], want[2])},
	}
	for _, c := range cases {
		slices.SortFunc(c.want, compareTriples)
	}
	return cases
}

// TestPlugins: inputs in formats of Options.Formats are read in memory, with temporary files,
// and after deaths.
func TestPlugins(t *testing.T) {
	for _, c := range pluggedCases(t) {
		t.Run(c.name, func(t *testing.T) {
			out := target(t)
			if rep := mustIngest(t, c.inputs, out, c.o); rep.SpilledBytes > 0 || !slices.Equal(contents(t, out), c.want) {
				t.Errorf("in memory: %+v, other entries", rep)
			}
			whole := target(t)
			rep, _, err := c.run(t, whole, -1)
			if err != nil || rep.Runs < 3 || rep.SpilledBytes == 0 || rep.BadLines != c.o.MaxBadLines {
				t.Fatalf("%+v, %v", rep, err)
			}
			if !slices.Equal(contents(t, whole), c.want) {
				t.Error("by way of the disk: other entries")
			}
			resumesAfterDeath(t, &c.unlucky, whole, rep)
		})
	}
}

// TestPluginsTellPlaces: errors name the byte offset in a binary format and the line in a text format.
func TestPluginsTellPlaces(t *testing.T) {
	o := Options{Formats: []format.Format{footed, arrows}}
	records := [][3]int64{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 2, 4}}
	in, more := write(t, "in", footedFile(records, 3)), write(t, "more", "9 <- 9 9\n8 <- 7 1\n")
	for _, c := range []struct {
		inputs []string
		o      Options
		says   string
	}{
		{[]string{in}, o, in + ", byte 80: row 1, column 2: more than one entry (the first is at " + in + ", byte 8); "},
		{[]string{write(t, "in", footedFile(records[1:3], 1)), more}, o, more + ":2: row 7, column 8: more than one entry (the first is at "},
		{[]string{write(t, "in", "1 <- 2 3\nx\n")}, o, `:2: "x": wrong number of fields`},
		{[]string{write(t, "in.gz", string(gzipped(t, []byte(footedFile(records, 3)))))}, o, "no plain file: not supported"},
		{[]string{write(t, "in", mmReal+"1 1 1\n1 1 1\n"), more}, o, "declared shape beside others"},
		{[]string{more, write(t, "in", mmReal+"1 1 1\n1 1 1\n")}, o, "declared shape beside others"},
		{[]string{in}, Options{}, "not supported"},
	} {
		out := target(t)
		if _, err := Ingest(t.Context(), c.inputs, out, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %s", err, c.says)
		}
		leftovers(t, out, false)
	}
	o.Format = "arrows"
	if _, err := Ingest(t.Context(), []string{more}, target(t), o); err != nil {
		t.Errorf("named: %v", err)
	}
}
