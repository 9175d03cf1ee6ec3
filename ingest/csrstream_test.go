package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/csrstream"
	"github.com/gdsvd/gdsvd/internal/must"
)

var little = binary.LittleEndian

// numpyStream was made with NumPy 2, struct and zlib.crc32 from FORMAT.md: a float32 matrix of 7 × 5 with 18 entries,
// six per frame; one entry is an explicit zero.
const numpyStream = "894353520d0a1a0a0100000000000000693400006634000007000000000000000500000000000000000000005bda9771" +
	"524f57535aa9532b3c00000003000000000000000000000006000000000000000200000003000000010000000200000004000000000000000200000003000000000000000000803f0000403f00000000000000400000003f0000403f" +
	"524f5753edadac8b3c00000003000000020000000000000006000000000000000200000001000000030000000200000003000000020000000000000002000000040000000000003f0000803e0000403f0000803f0000003f0000e03f" +
	"524f575392eb9d4338000000020000000500000000000000060000000000000003000000030000000000000003000000040000000100000002000000040000000000403f0000a03f0000a03f0000e03f0000e03f0000c03f" +
	"444f4e45ddd146c2000000000000000012000000000000000000000000000000"

func numpyBytes(t testing.TB) []byte {
	t.Helper()
	return must.Get(hex.DecodeString(numpyStream))(t)
}

func TestCSRStreamOfNumPy(t *testing.T) {
	dense := [][]float64{{0, 0, 1, 0, .75}, {0, 0, 2, .5, 0}, {.75, 0, .5, .25, 0}, {0, 0, .75, 0, 0}, {1, 0, .5, 0, 1.75}, {.75, 0, 0, 1.25, 1.25}, {0, 1.75, 1.75, 0, 1.5}}
	want := []triple{{"1", "0", 0}} // the explicit zero
	for i, row := range dense {
		for j, v := range row {
			if v != 0 {
				want = append(want, triple{strconv.Itoa(i), strconv.Itoa(j), v})
			}
		}
	}
	slices.SortFunc(want, compareTriples)
	rep, got, err := ingestText(t, string(numpyBytes(t)), Options{})
	must.Do(t, err)
	if rep.Format != "csr-stream" || rep.Rows != 7 || rep.Cols != 5 || rep.NNZ != 18 || !slices.Equal(got, want) {
		t.Errorf("%+v: %v, want %v", rep, got, want)
	}
}

// streamOf returns the stream that a streamWriter writes for entries, which are in row order.
func streamOf(t testing.TB, h streamHeader, entries []triple) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newStreamWriter(&b, h)
	for i := 0; err == nil && i < len(entries); i++ {
		if e := entries[i]; h.byID() {
			err = w.Add(e.Row, e.Col, e.Val)
		} else {
			row, _ := strconv.ParseInt(e.Row, 10, 64)
			col, _ := strconv.ParseUint(e.Col, 10, 32)
			err = w.AppendRow(row, []uint32{uint32(col)}, []float64{e.Val})
		}
	}
	if err == nil {
		err = w.Close()
	}
	must.Do(t, err)
	return b.Bytes()
}

// TestCSRStreamTypes: for every type of keys and values, naiveCSRStream and the format read what streamWriter wrote.
func TestCSRStreamTypes(t *testing.T) {
	values := map[string][]float64{
		"": {1}, "b1": {0, 1}, "i1": {-128, 127}, "u1": {255, 3}, "i2": {-32768, 5},
		"u2": {65535}, "i4": {-1 << 31}, "u4": {1<<32 - 1}, "i8": {-1 << 53, 7}, "u8": {1 << 63},
		"f4": {0.5, -3}, "f8": {0.1, 1e-300},
	}
	for v, vals := range values {
		for _, keys := range [][2]string{
			{"", "i4"}, {"", "u4"}, {"", "i8"}, {"", "u8"},
			{"i8", "i8"}, {"i8", "s"}, {"s", "s"}, {"s", "i8"},
		} {
			h := streamHeader{rowKeys: keys[0], colKeys: keys[1], values: v, bare: v == "f8" || v == "u1"}
			var want []triple
			for i := range 40 {
				want = append(want, triple{strconv.Itoa(10 + i/3*2), strconv.Itoa(i * 7 % 5), vals[i%len(vals)]})
			}
			if !h.byID() {
				h.rows, h.cols = 90, 5
			} else if keys[1] == "s" {
				want[3].Col = "x y"
			}
			b := streamOf(t, h, want)
			got, _, err := parseAll(b, Options{}, format.ChunkBytes)
			_, _, naive, ok := naiveCSRStream(b)
			if err != nil || !ok || !slices.Equal(got, want) || !slices.Equal(naive, want) {
				t.Errorf("%+v: %v, %v, naive %v, want %v", h, got, err, naive, want)
			}
		}
	}
}

// TestCSRStreamLongRows: rows longer than a frame are read, and gaps between row numbers take few bytes.
func TestCSRStreamLongRows(t *testing.T) {
	var b bytes.Buffer
	h := streamHeader{colKeys: "u8", values: "f8", rows: 1 << 40, cols: 40000}
	w := must.Get(newStreamWriter(&b, h))(t)
	cols, vals := make([]uint32, 40000), make([]float64, 40000)
	for i := range cols {
		cols[i], vals[i] = uint32(i), float64(i)/7
	}
	rows := []int64{0, 5, 30000, 1<<40 - 1}
	for _, row := range rows {
		must.Do(t, w.AppendRow(row, cols[row%7:], vals[row%7:]))
	}
	must.Do(t, w.Close())
	if b.Len() > 17*40000*len(rows) {
		t.Errorf("%d bytes", b.Len())
	}
	got, src, err := parseAll(b.Bytes(), Options{}, format.ChunkBytes)
	if err != nil || src.shape.Rows != h.rows {
		t.Fatal(err)
	}
	for _, row := range rows {
		for c := row % 7; c < 40000; c++ {
			if e := got[0]; e.Val != vals[c] || c%999 == 0 && (e.Row != strconv.FormatInt(row, 10) || e.Col != strconv.FormatInt(c, 10)) {
				t.Fatalf("%v in the place of row %d, column %d", e, row, c)
			}
			got = got[1:]
		}
	}
}

// TestCSRStreamLongID: a long row id is stored once in memory, whatever the number of entries of the row.
func TestCSRStreamLongID(t *testing.T) {
	var b bytes.Buffer
	w := must.Get(newStreamWriter(&b, streamHeader{rowKeys: "s", colKeys: "i8"}))(t)
	const entries = 1 << 14
	id := strings.Repeat("u", 100<<10)
	w.addKey(&w.rowKeys, "s", id)
	for i := range entries {
		w.addKey(&w.colKeys, "i8", strconv.Itoa(i))
	}
	w.lens = append(w.lens, entries)
	must.Do(t, w.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rep := mustIngest(t, []string{write(t, "in", b.String())}, target(t), Options{Memory: 64 << 20})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; rep.NNZ != entries || took > 128<<20 {
		t.Errorf("%d entries, %d MiB", rep.NNZ, took>>20)
	}
}

// resealed returns a copy of b with the bytes with at offset at of the header or first frame, and correct checksums.
func resealed(b []byte, at int, with ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], with)
	little.PutUint32(b[44:], crc32.ChecksumIEEE(b[:44]))
	if len(b) > 80 {
		if end := 80 + int(little.Uint32(b[56:])); b[40] == 1 {
			little.PutUint32(b[52:], crc32.ChecksumIEEE(b[56:80]))
		} else if end <= len(b) {
			little.PutUint32(b[52:], crc32.ChecksumIEEE(b[56:end]))
		}
	}
	return b
}

func TestCSRStreamDamage(t *testing.T) {
	good := numpyBytes(t)
	end := len(good) - 32
	for _, c := range []struct {
		name string
		data []byte
		err  error
		says string
	}{
		{"header cut", good[:40], format.ErrTruncated, "within the header"},
		{"cut behind the header", good[:48], format.ErrTruncated, "byte 48: truncated: the stream ends after 48 bytes, without its last frame; its writer has stopped"},
		{"cut within a frame", good[:100], format.ErrTruncated, "byte 48: truncated: the stream ends within a frame"},
		{"cut behind a frame", good[:end], format.ErrTruncated, "without its last frame"},
		{"end cut", good[:len(good)-1], format.ErrTruncated, ""},
		{"a frame is missing", slices.Concat(good[:48], good[48+92:]), format.ErrCount, "12, the end of the stream says 18"},
		{"more behind", append(bytes.Clone(good), 0), format.ErrCount, "data behind the end"},
		{"two streams", append(bytes.Clone(good), good...), format.ErrCount, "data behind the end"},
		{"line ends converted", bytes.ReplaceAll(good, []byte("\r\n"), []byte("\n")), nil, ""},
		{"version", resealed(good, 8, 2), format.ErrUnsupported, "version 2"},
		{"header changed", slices.Concat(good[:24], []byte{9}, good[25:]), csrstream.ErrSum, ": header damaged"},
		{"frame changed", slices.Concat(good[:90], []byte{9}, good[91:]), csrstream.ErrSum, "byte 48: damaged: the CRC-32 differs"},
		{"end changed", slices.Concat(good[:end+16], []byte{9}, good[end+17:]), csrstream.ErrSum, ""},
		{"row keys", resealed(good, 12, 'f', '4'), format.ErrHeader, `row keys of type "f4"`},
		{"column keys", resealed(good, 16, 'f', '4'), format.ErrHeader, `column keys of type "f4"`},
		{"values", resealed(good, 20, 'c', '8'), format.ErrHeader, `values of type "c8"`},
		{"flags", resealed(good, 40, 2), format.ErrHeader, "flags 0x2, of which this program knows 0x1"},
		{"sums of payloads that have none", resealed(good, 40, 1), csrstream.ErrSum, "byte 140: damaged"},
		{"negative shape", resealed(good, 31, 0x80), format.ErrHeader, "shape"},
		{"shape with ids", resealed(good, 12, 'i', '8', 0, 0, 'i', '8'), format.ErrHeader, "shape"},
		{"too large", resealed(good, 24, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1), format.ErrUnsupported, "too large"},
		{"no frame", resealed(good, 48, 'X'), format.ErrHeader, "byte 48: malformed header: no frame begins here"},
		{"long frame", resealed(good, 56, 0, 0, 9), format.ErrHeader, "the limit is 262112"},
		{"many entries", resealed(good, 72, 1, 128), format.ErrHeader, "the limit is 32768"},
		{"rows outside", resealed(good, 64, 5), nil, "index outside the declared shape: rows 5 to 7 of 7"},
		{"first row overflows", resealed(good, 64, 255, 255, 255, 255, 255, 255, 255, 255), nil, "index outside"},
		{"column outside", resealed(good, 92+4, 5), nil, "column 5 of 5, in row 0"},
		{"negative column", resealed(good, 92, 255, 255, 255, 255), nil, "column -1 of 5"},
		{"lengths too long", resealed(good, 80, 3), format.ErrCount, "do not add up"},
		{"lengths too short", resealed(good, 80, 1), format.ErrCount, "do not add up"},
		{"more rows than bytes", resealed(good, 60, 255, 255, 255, 255), format.ErrHeader, "not as long as"},
		{"fewer entries than bytes", resealed(good, 72, 5), format.ErrHeader, "not as long as"},
		{"not finite", resealed(good, 116, 0, 0, 0x80, 0x7f), format.ErrNotFinite, "value +Inf at row 0, column 2 (from 0)"},
	} {
		_, _, err := ingestText(t, string(c.data), Options{MaxBadLines: 9})
		if err == nil || c.err != nil && !errors.Is(err, c.err) || !errors.As(err, new(*format.ParseError)) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v: %s", c.name, err, c.err, c.says)
		}
	}
	h := streamHeader{rowKeys: "s", colKeys: "s", values: "b1"}
	empty, ids := streamOf(t, h, []triple{{"", "b", 1}}), streamOf(t, h, []triple{{"a", "b", 1}})
	for _, c := range []struct {
		data []byte
		says string
	}{
		{empty, "an empty id of a row"},
		{resealed(ids, 80, 200), "not as long as"},
		{resealed(ids, len(ids)-33, 2), `value 2 at row "a", column "b": neither 0 nor 1`},
	} {
		if _, _, err := parseAll(c.data, Options{}, format.ChunkBytes); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
}

// TestCSRStreamPlaces: the error about a duplicate gives the byte offsets of the two column keys.
func TestCSRStreamPlaces(t *testing.T) {
	for _, c := range []struct {
		h       streamHeader
		entries []triple
		says    string
	}{
		{streamHeader{colKeys: "i4", values: "u1", rows: 3, cols: 4}, []triple{{"0", "1", 1}, {"1", "3", 1}, {"1", "3", 2}}, "row 2, column 4: more than one entry (the first is at standard input, byte 92)"},
		{streamHeader{rowKeys: "s", colKeys: "s"}, []triple{{"a", "b", 1}, {"long", "longer", 1}, {"c", "d", 1}, {"c", "d", 1}}, `row c, column d: more than one`},
	} {
		b := streamOf(t, c.h, c.entries)
		in := write(t, "in", string(b))
		_, err := Ingest(t.Context(), []string{in}, target(t), Options{})
		if says := strings.ReplaceAll(c.says, "standard input", in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
		var de *duplicateError
		if !errors.As(err, &de) {
			t.Fatal(err)
		}
		for _, p := range []format.Position{de.First, de.Second} {
			want := "d" // the column id d; the column number 3 if the rows are numbered
			if !c.h.byID() {
				want = "\x03"
			}
			if got := string(b[p.Byte : p.Byte+1]); got != want {
				t.Errorf("byte %d is %q, want %q", p.Byte, got, want)
			}
		}
	}
}

// TestCSRStreamIsTheMatrix: a stream gives the store of a Matrix Market file or CSV with the same entries.
func TestCSRStreamIsTheMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var entries []triple
	var mm, csv strings.Builder
	for i, k := range r.Perm(50 * 40)[:700] {
		e := triple{strconv.Itoa(k / 40), strconv.Itoa(k % 40), float64(i%9) / 2}
		entries = append(entries, e)
		fmt.Fprintf(&mm, "%d %d %g\n", 1+k/40, 1+k%40, e.Val)
		fmt.Fprintf(&csv, "u%s,i%s,%g\n", e.Row, e.Col, e.Val)
	}
	sorted := slices.Clone(entries)
	slices.SortStableFunc(sorted, func(a, b triple) int { return len(a.Row) - len(b.Row) })
	slices.SortStableFunc(sorted, func(a, b triple) int { x, _ := strconv.Atoi(a.Row); y, _ := strconv.Atoi(b.Row); return x - y })
	want, _ := ingested(t, []string{write(t, "in", mmReal+"50 40 700\n"+mm.String())}, Options{})
	stream := streamOf(t, streamHeader{colKeys: "i8", values: "f4", rows: 50, cols: 40}, sorted)
	got, rep := ingested(t, []string{write(t, "in", string(stream))}, Options{})
	if rep.NNZ != 700 || fingerprint(t, got) != fingerprint(t, want) {
		t.Errorf("indices: %+v, another fingerprint", rep)
	}
	mustIngest(t, []string{write(t, "in", csv.String())}, want, Options{Force: true})
	for i := range entries {
		entries[i].Row, entries[i].Col = "u"+entries[i].Row, "i"+entries[i].Col
	}
	stream = streamOf(t, streamHeader{rowKeys: "s", colKeys: "s", values: "f4"}, entries)
	mustIngest(t, []string{write(t, "in", string(stream))}, got, Options{Force: true})
	if fingerprint(t, got) != fingerprint(t, want) {
		t.Error("ids: another fingerprint")
	}
}

// TestCSRStreamAfterDeath: an ingest of a stream that is killed and resumed makes the same store.
func TestCSRStreamAfterDeath(t *testing.T) {
	t.Parallel()
	var entries []triple
	h := streamHeader{colKeys: "u4", values: "f8", rows: 400, cols: 7919}
	var b bytes.Buffer
	w, err := newStreamWriter(&b, h)
	for i := 0; err == nil && i < 400; i++ {
		e := triple{strconv.Itoa(i), strconv.Itoa(i * 31 % 7919), float64(i) / 3}
		entries = append(entries, e)
		if err = w.AppendRow(int64(i), []uint32{uint32(i * 31 % 7919)}, []float64{e.Val}); i%10 == 9 {
			w.Flush()
		}
	}
	if err == nil {
		err = w.Close()
	}
	must.Do(t, err)
	u := unlucky{"csr-stream", []string{write(t, "in", b.String())}, Options{}, tiny()}
	u.resumes(t, entries)
}
