package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/internal/must"
)

// benchText returns n ratings sorted by user, as in the files of MovieLens; sep separates the fields.
func benchText(n int, sep string) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for user := 1; n > 0; user++ {
		items := r.Perm(10677)[:min(n, 20+r.IntN(250))]
		for _, item := range items {
			fmt.Fprintf(&b, "%d%s%d%s%g%s%d\n", user*2, sep, item*6+1, sep, float64(1+r.IntN(10))/2, sep, 789652009+r.IntN(440000000))
		}
		n -= len(items)
	}
	return b.Bytes()
}

func mbPerSecond(b *testing.B, text []byte) {
	b.ReportMetric(float64(len(text))*float64(b.N)/1e6/b.Elapsed().Seconds(), "MB/s")
}

// BenchmarkParse measures one worker that parses text into batches.
func BenchmarkParse(b *testing.B) {
	var mm strings.Builder
	mm.WriteString("%%MatrixMarket matrix coordinate real general\n999999 999999 400000\n")
	r := rand.New(rand.NewPCG(1, 2))
	for range 400000 {
		fmt.Fprintf(&mm, "%d %d %.6g\n", 1+r.IntN(999999), 1+r.IntN(999999), r.NormFloat64())
	}
	for name, text := range map[string][]byte{
		"movielens": benchText(400000, "::"),
		"csv":       benchText(400000, ","),
		"blanks":    benchText(400000, " "),
		"mtx":       []byte(mm.String()),
	} {
		b.Run(name, func(b *testing.B) {
			var bt format.Batch
			c := format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}
			for b.Loop() {
				op := input.Opener{Files: input.Files{FS: vfs.OS()}, Stdin: bytes.NewReader(text), Bytes: new(atomic.Int64), MaxWindow: 1 << 20}
				src := must.Get(openSource(context.Background(), op, "-", Options{}.withDefaults(), nil))(b)
				for src.reader.Next(&c) == nil {
					bt.Reset(0)
					must.Do(b, errors.Join(append(bt.Errs, src.reader.Parse(&c, &bt))...))
				}
				must.Do(b, src.Close())
			}
			mbPerSecond(b, text)
		})
	}
}

// BenchmarkIngest measures Ingest from a file to a store, in memory and with temporary files.
func BenchmarkIngest(b *testing.B) {
	text := benchText(1000000, "::")
	in := write(b, "ratings.dat", string(text))
	for _, workers := range []int{1, 2} {
		for _, spill := range []bool{false, true} {
			b.Run(fmt.Sprintf("workers=%d/spill=%v", workers, spill), func(b *testing.B) {
				out := filepath.Join(b.TempDir(), "out.csr")
				p := mustPlan(b)
				if spill {
					p.Keep, p.Run = 0, 1<<18
				}
				for b.Loop() {
					must.Get(ingest(context.Background(), []string{in}, out, Options{Workers: workers, Force: true}.withDefaults(), p))(b)
				}
				mbPerSecond(b, text)
			})
		}
	}
}
