package parquet

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestUncompressIsBounded: a page whose data are longer than its header says takes no memory for the excess.
func TestUncompressIsBounded(t *testing.T) {
	const says = 100
	plain := make([]byte, 16<<20)
	through := func(w io.WriteCloser, b *bytes.Buffer) []byte {
		must.Get(w.Write(plain))(t)
		must.Do(t, w.Close())
		return b.Bytes()
	}
	var g, br, z bytes.Buffer
	zw := must.Get(zstd.NewWriter(&z))(t)
	block := make([]byte, lz4.CompressBlockBound(len(plain)))
	n := must.Get(lz4.CompressBlock(plain, block, nil))(t)
	for codec, packed := range map[int][]byte{
		codecSnappy: snappy.Encode(nil, plain),
		codecGzip:   through(gzip.NewWriter(&g), &g),
		codecBrotli: through(brotli.NewWriter(&br), &br),
		codecZstd:   through(zw, &z),
		codecLZ4:    block[:n],
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c := &column{chunk: chunk{codec: codec}}
		b, err := c.uncompress(packed, says)
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		c.close()
		if took > 12<<20 || err == nil && len(b) != says {
			t.Errorf("%s: %d bytes, %v, took %d MiB", codecNames[codec], len(b), err, took>>20)
		}
	}
}
