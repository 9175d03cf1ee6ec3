package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestParquetDamage: a truncated file is refused, and one with a changed byte is read or refused, each in one line.
func TestParquetDamage(t *testing.T) {
	for _, name := range []string{"dictionary", "v2-delta", "decimal"} {
		good := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", "parquet", name+".parquet")))(t)
		refused := func(what string, data []byte, must bool) {
			_, _, err := read(data, false)
			if must && !errors.Is(err, ErrDamaged) && !errors.Is(err, format.ErrUnsupported) || err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for n := 0; n < len(good); n += 3 {
			refused(fmt.Sprintf("cut to %d bytes", n), good[:n], true)
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i * 5 % 8)
			refused(fmt.Sprintf("byte %d", i), bad, false)
		}
		joined := append(bytes.Clone(good[:len(good)-8]), 255, 255, 255, 255, 'P', 'A', 'R', '1')
		refused("long footer", joined, true)
		refused("encrypted", append(bytes.Clone(good[:len(good)-1]), 'E'), true)
	}
}

// onlyFooter returns a file with the given footer and no pages.
func onlyFooter(footer []byte) []byte {
	b := append([]byte("PAR1"), footer...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(footer))), "PAR1"...)
}

// TestParquetBombs: short footers that stand for endless work or much memory are refused.
func TestParquetBombs(t *testing.T) {
	endless := binary.AppendUvarint([]byte{0xfb}, 1<<62) // field 15, a map of 2⁶² items
	zeros := make([]byte, 7<<20)
	lists := func(field byte) []byte { // elements of the schema, or row groups, of one byte each
		return slices.Concat([]byte{field<<4 | 9}, binary.AppendUvarint([]byte{0xfc}, uint64(len(zeros))), zeros, []byte{0})
	}
	for _, c := range []struct {
		what   string
		footer []byte
		want   error
	}{
		{"a map of booleans", append(endless, 0x11), ErrDamaged},
		{"a map of booleans and ends", append(endless, 0x12, 1, 2), ErrDamaged},
		{"a list of booleans", binary.AppendUvarint([]byte{0xf9, 0xf1}, 1<<62), ErrDamaged},
		{"elements", lists(2), format.ErrUnsupported},
		{"row groups", lists(4), format.ErrUnsupported},
		{"bytes", make([]byte, 9<<20), format.ErrUnsupported},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := read(onlyFooter(c.footer), false)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") || took > 64<<20 {
			t.Errorf("%s: %v, %d MiB", c.what, err, took>>20)
		}
	}
}

// seedMore adds files of parquet-go to the seeds. It is nil without -tags alltests.
var seedMore func(*testing.F)

// FuzzParquet: any file is read, or refused in one line, without a panic.
func FuzzParquet(f *testing.F) {
	for _, name := range must.Get(filepath.Glob(filepath.Join("..", "..", "testdata", "parquet", "*")))(f) {
		b := must.Get(os.ReadFile(name))(f)
		f.Add(b)
	}
	if seedMore != nil {
		seedMore(f)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := read(data, false); err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines: %q", err)
		}
		if _, _, err := read(data, true); err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines, with times: %q", err)
		}
		in := &format.Input{Name: "f", At: bytes.NewReader(data), Size: int64(len(data))}
		err := Vectors(in, func(rows int64, k int) error { return nil }, func(id string, x []float64) error { return nil })
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("error of several lines, of vectors: %q", err)
		}
	})
}

// read reads data by random access up to the end or the first error. With times, each entry must have one.
func read(data []byte, times bool) (entries []formattest.Triple, at []format.Time, err error) {
	r, err := Format.Open(&format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Times: times, Window: 8 << 20})
	if err != nil {
		return nil, nil, err
	}
	for c := (&format.Chunk{Data: make([]byte, 0, 4<<10)}); ; {
		var b format.Batch
		b.Reset(0)
		err := r.Next(c)
		if err == io.EOF {
			return entries, at, nil
		}
		if err == nil {
			err = errors.Join(append([]error{r.Parse(c, &b)}, b.Errs...)...)
		}
		if err == nil && times && len(b.Time) != len(b.Val) {
			err = fmt.Errorf("%d times of %d entries", len(b.Time), len(b.Val))
		}
		if err != nil {
			return entries, at, err
		}
		entries, at = append(entries, formattest.Triples(&b)...), append(at, b.Time...)
	}
}
