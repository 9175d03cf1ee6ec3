package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// naiveCSRStream decodes a stream as FORMAT.md describes it, value by value.
func naiveCSRStream(b []byte) (rows, cols int64, entries []triple, ok bool) {
	bad := false
	take := func(n int) []byte {
		if n < 0 || n > len(b) {
			bad = true
			return make([]byte, max(0, min(n, 64)))
		}
		part := b[:n]
		b = b[n:]
		return part
	}
	head := take(48)
	if bad || string(head[:8]) != "\x89CSR\r\n\x1a\n" || little.Uint32(head[8:]) != 1 || little.Uint32(head[40:]) > 1 || little.Uint32(head[44:]) != crc32.ChecksumIEEE(head[:44]) {
		return
	}
	name := func(at int) string { return strings.TrimRight(string(head[at:at+4]), "\x00") }
	rk, ck, vt := name(12), name(16), name(20)
	rows, cols = int64(little.Uint64(head[24:])), int64(little.Uint64(head[32:]))
	if rk == "" && !slices.Contains([]string{"i4", "u4", "i8", "u8"}, ck) || rk != "" && (rk != "i8" && rk != "s" || ck != "i8" && ck != "s" || rows != 0 || cols != 0) || rows < 0 || cols < 0 {
		return
	}
	if !slices.Contains([]string{"", "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"}, vt) {
		return
	}
	keys := func(kind string, n int) (ids []string) {
		var lens []int
		for range n {
			if bad {
				return nil
			}
			switch kind {
			case "i4":
				ids = append(ids, fmt.Sprint(int32(little.Uint32(take(4)))))
			case "u4":
				ids = append(ids, fmt.Sprint(little.Uint32(take(4))))
			case "i8":
				ids = append(ids, fmt.Sprint(int64(little.Uint64(take(8)))))
			case "u8":
				ids = append(ids, fmt.Sprint(little.Uint64(take(8))))
			case "s":
				lens = append(lens, int(little.Uint32(take(4))))
			}
		}
		for _, n := range lens {
			ids = append(ids, string(take(n)))
		}
		return ids
	}
	for {
		f := take(32)
		if bad {
			return
		}
		size, r, first, n := little.Uint32(f[8:]), int(little.Uint32(f[12:])), little.Uint64(f[16:]), int(little.Uint32(f[24:]))
		if size > 262112 || int(size) > len(b) || n > 32768 || little.Uint32(f[28:]) != 0 {
			return
		}
		sum := crc32.ChecksumIEEE(f[8:])
		if head[40] == 0 {
			sum = crc32.Update(sum, crc32.IEEETable, b[:size])
		}
		if sum != little.Uint32(f[4:]) {
			return
		}
		if string(f[:4]) == "DONE" {
			return rows, cols, entries, size == 0 && r == 0 && n == 0 && len(b) == 0 && first == uint64(len(entries))
		}
		left := len(b) - int(size)
		if string(f[:4]) != "ROWS" || r > int(size) || rk == "" && (first > uint64(rows) || uint64(r) > uint64(rows)-first) {
			return
		}
		rowIDs := keys(rk, r)
		var of []string
		for i := range r {
			k := int(little.Uint32(take(4)))
			if bad || len(of)+k > n {
				return
			}
			for range k {
				if rk == "" {
					of = append(of, fmt.Sprint(first+uint64(i)))
				} else {
					of = append(of, rowIDs[i])
				}
			}
		}
		colIDs := keys(ck, n)
		if bad || len(of) != n {
			return
		}
		for i := range n {
			v := 1.0
			switch vt {
			case "b1", "u1":
				v = float64(take(1)[0])
			case "i1":
				v = float64(int8(take(1)[0]))
			case "i2":
				v = float64(int16(little.Uint16(take(2))))
			case "u2":
				v = float64(little.Uint16(take(2)))
			case "i4":
				v = float64(int32(little.Uint32(take(4))))
			case "u4":
				v = float64(little.Uint32(take(4)))
			case "i8":
				v = float64(int64(little.Uint64(take(8))))
			case "u8":
				v = float64(little.Uint64(take(8)))
			case "f4":
				v = float64(math.Float32frombits(little.Uint32(take(4))))
			case "f8":
				v = math.Float64frombits(little.Uint64(take(8)))
			}
			c, err := strconv.ParseUint(colIDs[i], 10, 64)
			if math.IsNaN(v) || math.IsInf(v, 0) || vt == "b1" && v > 1 || rk == "" && (err != nil || c >= uint64(cols)) || rk != "" && (of[i] == "" || colIDs[i] == "") {
				return
			}
			entries = append(entries, triple{of[i], colIDs[i], v})
		}
		if bad || len(b) != left {
			return
		}
	}
}

// FuzzCSRStream: the format accepts the streams that naiveCSRStream accepts and reads the same entries. The checksums
// of the header and the first frame are corrected, so that the code behind them is reached.
func FuzzCSRStream(f *testing.F) {
	f.Add(numpyBytes(f), uint16(0), byte(0))
	f.Add(streamOf(f, streamHeader{rowKeys: "s", colKeys: "i8", values: "b1"}, []triple{{"a", "7", 1}, {"b", "8", 0}}), uint16(80), byte(1))
	f.Add(streamOf(f, streamHeader{rowKeys: "i8", colKeys: "s"}, []triple{{"1", "x", 1}}), uint16(90), byte(1))
	f.Add(streamOf(f, streamHeader{colKeys: "i4", values: "f8", rows: 3, cols: 4, bare: true}, []triple{{"0", "1", 1}, {"2", "3", 5}}), uint16(85), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at uint16, change byte) {
		if !bytes.HasPrefix(data, []byte("\x89CSR\r\n\x1a\n")) {
			t.Skip("another format")
		}
		if len(data) >= 48 {
			data = resealed(data, min(int(at), len(data)-1), data[min(int(at), len(data)-1)]^change)
		}
		rows, cols, want, ok := naiveCSRStream(data)
		got, src, err := parseAll(data, Options{Format: "csr-stream"}, format.ChunkBytes)
		if !ok {
			if err == nil {
				t.Fatalf("%x: accepted as %v", data, got)
			}
			return
		}
		if err != nil && errors.Is(err, format.ErrUnsupported) && max(rows, cols) >= 1<<31 {
			return // a matrix that no store can hold
		}
		if err != nil || src.shape != nil && (src.shape.Rows != rows || src.shape.Cols != cols) || !slices.Equal(got, want) {
			t.Fatalf("%x: %v, got %v, want %v", data, err, got, want)
		}
	})
}
