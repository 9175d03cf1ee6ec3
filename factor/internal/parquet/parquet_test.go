//go:build alltests

package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	other "github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/factor/internal/parquet"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestReadByOthers: parquet-go reads the rows that the Writer wrote, with the same bits.
func TestReadByOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		w := must.Get(parquet.NewWriter(&file, columns))(t)
		var want [][]string
		invalid := false
		for range rapid.IntRange(0, 20).Draw(t, "groups") {
			n := rapid.IntRange(0, 30).Draw(t, "rows")
			ids := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.Just("\xff")), n, n).Draw(t, "ids")
			users := rapid.SliceOfN(rapid.Int64(), n, n).Draw(t, "users")
			ranks := rapid.SliceOfN(rapid.Int32(), n, n).Draw(t, "ranks")
			x := rapid.SliceOfN(rapid.Float64(), 2*n, 2*n).Draw(t, "x")
			err := w.Group(n, parquet.Strings(ids), parquet.Int64s(users), parquet.Int32s(ranks),
				parquet.Float64s(x, 2), parquet.Float64s(x[min(1, len(x)):], 2))
			must.Do(t, err)
			for i := range n {
				invalid = invalid || ids[i] == "\xff"
				want = append(want, []string{ids[i], fmt.Sprint(users[i]), fmt.Sprint(ranks[i]), bits(x[2*i]), bits(x[2*i+1])})
			}
		}
		must.Do(t, w.Close())
		f := must.Get(other.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
		if text := f.Schema().Fields()[0].Type().LogicalType(); (text == nil) != invalid {
			t.Fatalf("logical type %v with invalid UTF-8 %v", text, invalid)
		}
		r := other.NewReader(f)
		defer r.Close()
		rows := make([]other.Row, 1)
		for i, want := range want {
			if n, err := r.ReadRows(rows); n != 1 {
				t.Fatalf("row %d of %d: %v", i, len(want), err)
			}
			v := rows[0]
			got := []string{string(v[0].ByteArray()), fmt.Sprint(v[1].Int64()), fmt.Sprint(v[2].Int32()), bits(v[3].Double()), bits(v[4].Double())}
			for c := range want {
				if got[c] != want[c] {
					t.Fatalf("row %d, column %s: %.40q, want %.40q", i, columns[c].Name, got[c], want[c])
				}
			}
		}
		if n, err := r.ReadRows(rows); n != 0 || err != io.EOF {
			t.Fatalf("%d more rows, %v", n, err)
		}
	})
}

// TestPages: a group with more values than fit in a page is written completely.
func TestPages(t *testing.T) {
	var ids []string
	for i := range 9 {
		ids = append(ids, strings.Repeat(fmt.Sprint(i), 300_000))
	}
	x := make([]float64, 300_000)
	for i := range x {
		x[i] = float64(i)
	}
	var file bytes.Buffer
	w, err := parquet.NewWriter(&file, columns[3:4])
	if err == nil {
		err = errors.Join(w.Group(len(x), parquet.Float64s(x, 1)), w.Close())
	}
	must.Do(t, err)
	type number struct {
		C1 float64 `parquet:"c1"`
	}
	numbers, err := other.Read[number](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(numbers) != len(x) || numbers[len(x)-1].C1 != x[len(x)-1] || numbers[140_000].C1 != 140_000 {
		t.Errorf("%d numbers, %v", len(numbers), err)
	}
	file.Reset()
	w, err = parquet.NewWriter(&file, columns[:1])
	if err == nil {
		err = errors.Join(w.Group(len(ids), parquet.Strings(ids)), w.Close())
	}
	must.Do(t, err)
	type text struct {
		ID string `parquet:"id"`
	}
	texts, err := other.Read[text](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(texts) != len(ids) || texts[8].ID != ids[8] || texts[4].ID != ids[4] {
		t.Errorf("%d texts, %v", len(texts), err)
	}
}

func bits(x float64) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	return fmt.Sprintf("%x", math.Float64bits(x))
}

// TestManyColumns: lists of 15 and more elements have another encoding in the footer.
func TestManyColumns(t *testing.T) {
	for _, n := range []int{1, 14, 15, 200} {
		var many []parquet.Column
		var values []parquet.Values
		for c := range n {
			many = append(many, parquet.Column{Name: fmt.Sprint("c", c), Type: parquet.Int64})
			values = append(values, parquet.Int64s([]int64{int64(c)}))
		}
		var file bytes.Buffer
		w, err := parquet.NewWriter(&file, many)
		if err == nil {
			err = errors.Join(w.Group(1, values...), w.Close())
		}
		must.Do(t, err)
		f, err := other.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil || len(f.Schema().Columns()) != n || f.NumRows() != 1 {
			t.Errorf("%d columns: %v", n, err)
		}
	}
}
