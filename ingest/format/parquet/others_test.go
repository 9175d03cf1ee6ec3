//go:build alltests

package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/internal/must"
)

func init() { seedMore = seedOthers }

func seedOthers(f *testing.F) {
	rows, _ := formattest.ParquetRows(40)
	f.Add(formattest.Parquet(f, rows, 30))
	f.Add(formattest.Parquet(f, []struct {
		User, Item int64
		At         int64 `parquet:",timestamp(nanosecond)"`
	}{{1, 2, 3}, {1, 4, 5}}, 1))
	f.Add(formattest.Parquet(f, []struct {
		ID     string `parquet:"id"`
		C1, C2 float64
	}{{"a", 1, 2}, {"b", 3, 4}}, 1))
}

// TestParquetPageSums: a changed byte of a page with a checksum is an error or changes no entry. The footer has none.
func TestParquetPageSums(t *testing.T) {
	rows, _ := formattest.ParquetRows(40)
	for name, good := range map[string][]byte{"1": formattest.Parquet(t, rows, 20, pq.DataPageVersion(1)), "2": formattest.Parquet(t, rows, 20, pq.DataPageVersion(2), pq.Compression(&pq.Snappy))} {
		want, _, err := read(good, false)
		must.Do(t, err)
		sums := 0
		pages := len(good) - 8 - int(binary.LittleEndian.Uint32(good[len(good)-8:]))
		for i := range pages {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			got, _, err := read(bad, false)
			if err != nil && strings.Contains(err.Error(), "checksum") {
				sums++
			}
			if err == nil && !slices.Equal(got, want) {
				t.Errorf("version %s, byte %d of %d: read as another matrix", name, i, pages)
			}
		}
		if sums == 0 {
			t.Errorf("version %s: there are no checksums", name)
		}
	}
}

// TestParquetWindow: pages that take more memory than the window are refused in one line that names a budget that
// suffices. Pages that are skipped take no memory.
func TestParquetWindow(t *testing.T) {
	type row struct {
		User  int64
		Item  string `parquet:",delta"`
		Value float64
	}
	var rows []row
	for i := range 20000 {
		rows = append(rows, row{int64(i), "a long common beginning " + strconv.Itoa(i), 1})
	}
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Zstd} {
		data := formattest.Parquet(t, rows, len(rows), pq.Compression(codec), pq.PageBufferSize(1<<24))
		read := func(window int64) (n int, err error) {
			r, err := Format.Open(&format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Window: window})
			for c := new(format.Chunk); err == nil; {
				var b format.Batch
				b.Reset(0)
				if err = r.Next(c); err == nil {
					err = r.Parse(c, &b)
					n += len(b.Val)
				}
			}
			return n, err
		}
		if n, err := read(0); n != len(rows) || err != io.EOF {
			t.Fatalf("%s: %d rows, %v", codec, n, err)
		}
		_, err := read(1 << 18)
		if !errors.Is(err, format.ErrUnsupported) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "smaller pages") {
			t.Fatalf("%s: %v", codec, err)
		}
		window, found := int64(1<<18), true
		for tries := 0; err != io.EOF; tries++ { // the error of each column names a larger budget
			var mib int64
			_, rest, ok := strings.Cut(err.Error(), "--memory ")
			if _, scanned := fmt.Sscanf(rest, "%dMiB", &mib); !ok || scanned != nil || mib<<20/8 <= window || tries == 4 {
				found = false
				break
			}
			window = mib << 20 / 8
			_, err = read(window)
		}
		if !found || window > 16<<20 {
			t.Errorf("%s, window %d: %v", codec, window, err)
		}
	}
}

// TestParquetLongTexts: chunks of long ids have few rows, although a dictionary holds an id once for any number of rows.
func TestParquetLongTexts(t *testing.T) {
	type row struct {
		User string `parquet:",dict"`
		Item int64
	}
	for _, c := range []struct{ length, rows, read int }{{100 << 10, 500, 500}, {format.ChunkBytes, 1000, 0}} {
		rows := slices.Repeat([]row{{strings.Repeat("u", c.length), 0}}, c.rows)
		for i := range rows {
			rows[i].Item = int64(i)
		}
		if _, _, err := read(formattest.Parquet(t, rows[:9], len(rows), pq.DataPageStatistics(true)), false); !errors.Is(err, format.ErrUnsupported) {
			t.Error(err)
		}
		data := formattest.Parquet(t, rows, len(rows), pq.DataPageStatistics(false))
		r, err := Format.Open(&format.Input{Name: "in", At: bytes.NewReader(data), Size: int64(len(data)), Window: 8 << 20})
		n, longest := 0, 0
		for k := (&format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}); err == nil; {
			var b format.Batch
			b.Reset(0)
			if err = r.Next(k); err == nil {
				longest = max(longest, len(k.Data))
				err = errors.Join(append([]error{r.Parse(k, &b)}, b.Errs...)...)
				n += len(b.Val)
			}
		}
		if done := err == io.EOF; n != c.read || longest > 2*format.ChunkBytes+1<<10 || done != (c.read > 0) || !done && !strings.Contains(err.Error(), ": longer than 262143 bytes") {
			t.Errorf("ids of %d bytes: %d rows, chunks of %d bytes, %.200v", c.length, n, longest, err)
		}
	}
}
