//go:build alltests

package export_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	other "github.com/parquet-go/parquet-go"

	"github.com/gdsvd/gdsvd/internal/must"
)

func init() { parquetOf, parquetCells = vectorsOfParquet, cellsOfParquet }

func cellsOfParquet(t *testing.T, file []byte, put func(row, col string, v float64)) {
	t.Helper()
	rows := other.NewReader(bytes.NewReader(file))
	for {
		line := map[string]any{}
		err := rows.Read(&line)
		if err == io.EOF {
			return
		}
		must.Do(t, err)
		put(fmt.Sprint(line["row"]), fmt.Sprint(line["column"]), line["value"].(float64))
	}
}

func vectorsOfParquet(t *testing.T, b []byte, want expected) (x []float64) {
	t.Helper()
	f := must.Get(other.OpenFile(bytes.NewReader(b), int64(len(b))))(t)
	r := other.NewReader(f)
	defer r.Close()
	rows := make([]other.Row, 1)
	for i := range want.ids {
		if n, err := r.ReadRows(rows); n != 1 {
			t.Fatal(err)
		}
		row := rows[0]
		if row[0].String() != want.ids[i] {
			t.Errorf("row %d: id %v, want %q", i, row[0], want.ids[i])
		}
		row = row[1:]
		if want.titles != nil {
			if row[0].String() != want.titles[i] {
				t.Errorf("row %d: title %v, want %q", i, row[0], want.titles[i])
			}
			row = row[1:]
		}
		for _, v := range row {
			x = append(x, v.Double())
		}
	}
	return x
}
