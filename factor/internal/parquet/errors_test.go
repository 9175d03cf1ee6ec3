package parquet_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/factor/internal/parquet"
)

var columns = []parquet.Column{
	{Name: "id", Type: parquet.String}, {Name: "user", Type: parquet.Int64}, {Name: "rank", Type: parquet.Int32},
	{Name: "c1", Type: parquet.Float64}, {Name: "c2", Type: parquet.Float64},
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestErrors: an error of the underlying writer is returned, whenever it occurs.
func TestErrors(t *testing.T) {
	whole := 0
	for size := range 2000 {
		w, err := parquet.NewWriter(&full{size}, columns[:2])
		if err == nil {
			err = errors.Join(w.Group(3, parquet.Strings([]string{"a", "b", "c"}), parquet.Int64s([]int64{1, 2, 3})), w.Close())
		}
		if err == nil {
			whole = size
			break
		}
		if !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	if whole < 100 {
		t.Errorf("%d bytes are enough", whole)
	}
	if _, err := parquet.NewWriter(io.Discard, []parquet.Column{columns[0], columns[0]}); err == nil || !strings.Contains(err.Error(), `two columns are called "id"`) {
		t.Error(err)
	}
	if _, err := parquet.NewWriter(io.Discard, nil); err == nil {
		t.Error("a table without columns")
	}
}
