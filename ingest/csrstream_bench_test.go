package ingest

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/internal/must"
)

// benchStream returns a csr-stream of n entries in rows of 100.
func benchStream(b *testing.B, n int, values string) []byte {
	var s bytes.Buffer
	w, err := newStreamWriter(&s, streamHeader{colKeys: "i4", values: values, rows: int64(n / 100), cols: min(200000, int64(n/100))})
	cols, vals := make([]uint32, 100), make([]float64, 100)
	for row := 0; err == nil && row < n/100; row++ {
		for i := range cols {
			cols[i] = uint32((i*min(200000, n/100) + row*7919%400) / 104)
			if vals[i] = float64(1 + (row+i)*31%10); values == "f4" {
				vals[i] = float64(float32(row*100+i) / 7)
			}
		}
		err = w.AppendRow(int64(row), cols, vals)
	}
	if err == nil {
		err = w.Close()
	}
	must.Do(b, err)
	return s.Bytes()
}

// BenchmarkCSRStream measures the reader with one worker, and Ingest from standard input to a store.
func BenchmarkCSRStream(b *testing.B) {
	for _, v := range []string{"u1", "f4"} {
		stream := benchStream(b, 12e6, v)
		b.Run("reader/"+string(v), func(b *testing.B) {
			var bt format.Batch
			c := format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}
			for b.Loop() {
				op := input.Opener{Files: input.Files{FS: vfs.OS()}, Stdin: bytes.NewReader(stream), Bytes: new(atomic.Int64)}
				src, err := openSource(context.Background(), op, "-", Options{}.withDefaults(), nil)
				must.Do(b, err)
				for err = src.reader.Next(&c); err == nil; err = src.reader.Next(&c) {
					bt.Reset(0)
					must.Do(b, src.reader.Parse(&c, &bt))
				}
				if err != io.EOF {
					b.Fatal(err)
				}
				must.Do(b, src.Close())
			}
			mbPerSecond(b, stream)
		})
		b.Run("ingest/"+string(v), func(b *testing.B) {
			out := target(b)
			for b.Loop() {
				must.Get(Ingest(context.Background(), []string{"-"}, out, Options{Force: true, Stdin: bytes.NewReader(stream)}))(b)
			}
			mbPerSecond(b, stream)
		})
	}
}
