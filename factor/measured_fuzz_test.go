package factor

import (
	"bytes"
	"testing"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// FuzzMeasured: parseMeasured refuses a file, or returns parts that the view accepts.
func FuzzMeasured(f *testing.F) {
	p := must.Get(view.Parse("tfidf · center=columns"))(f)
	src := stream.InMemory(sparse.NewCSR(2, 2, []int{0, 1, 3}, []int{0, 0, 1}, []float64{1, 2, 3}))
	v := must.Get(view.New(f.Context(), src, p, false, stream.Options{Workers: 1}))(f)
	var b bytes.Buffer
	must.Do(f, writeMeasured(&b, v))
	whole := b.Bytes()[:int64(b.Len())-int64(len(`{"crc":"00000000"}`)+1)]
	f.Add(whole)
	f.Add(whole[:len(whole)-8])
	f.Add([]byte("{\"lengths\":[-1]}\n"))
	f.Add(bytes.Repeat([]byte("x"), 2*maxViewHeader))
	f.Fuzz(func(t *testing.T, b []byte) {
		parts, err := parseMeasured(bytes.NewReader(b), int64(len(b)), v)
		if err != nil {
			return
		}
		if err := view.Plan(src, p, false).Recall(parts); err != nil {
			t.Errorf("%v is accepted: %v", parts, err)
		}
	})
}
