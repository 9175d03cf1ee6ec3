package format

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestParseIDTakesCanonicalIntegersOnly(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, s string) {
		n, err := strconv.ParseInt(s, 10, 64)
		want := err == nil && strconv.FormatInt(n, 10) == s
		got, ok := ParseID([]byte(s))
		if ok != want || ok && got != n {
			t.Fatalf("ParseID(%q) = %d, %v, want %d, %v", s, got, ok, n, want)
		}
	}
	for _, s := range []string{
		"", "0", "-0", "00", "7", "07", "+7", "-7", "-", "1a", "1 ", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "9999999999999999999", "99999999999999999999",
	} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, strconv.FormatInt(rapid.Int64().Draw(t, "n"), 10))
		check(t, rapid.StringMatching(`-?[0-9]{1,20}`).Draw(t, "s"))
	})
}

// TestBatchKeep: after Keep a Batch equals one to which only the kept entries were added.
func TestBatchKeep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.SampledFrom([]string{"1", "22", "-3", "a", "bcd", "", "07", "éé"})).Draw(t, "ids")
		if rapid.Bool().Draw(t, "integers") {
			ids = slices.DeleteFunc(ids, func(s string) bool { _, ok := ParseID([]byte(s)); return !ok })
		}
		keep := make([]bool, len(ids))
		times := rapid.Bool().Draw(t, "times")
		var all, want Batch
		add := func(b *Batch, i int) {
			b.Row.Add([]byte(ids[i]))
			b.Col.AddInt(int64(i))
			b.AddValue(float64(i))
			if times {
				b.Time = append(b.Time, Time(-i))
			}
		}
		for i := range ids {
			add(&all, i)
			if keep[i] = rapid.Bool().Draw(t, "keep"); keep[i] {
				add(&want, i)
			}
		}
		all.Keep(func(n int) bool { return keep[n] })
		if all.Row.IsText {
			want.Row.ToText()
		}
		same := all.Row.Len() == want.Row.Len() && all.Row.Len() == len(all.Val) && slices.Equal(all.Row.Ints, want.Row.Ints) &&
			slices.Equal(all.Col.Ints, want.Col.Ints) && slices.Equal(all.Val, want.Val) && slices.Equal(all.Time, want.Time)
		for i := 0; same && all.Row.IsText && i < len(all.Val); i++ {
			same = string(all.Row.Text(i)) == string(want.Row.Text(i))
		}
		if !same {
			t.Fatalf("%v of %q leave %+v, want %+v", keep, ids, all, want)
		}
	})
}

// TestBatchMirror: each entry off the diagonal is followed by its mirror image, for integer and text keys.
func TestBatchMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.SampledFrom([]string{"1", "22", "-3", "a", "bcd", "07", "éé"}), 1, 20)
		rows, cols := ids.Draw(t, "rows"), ids.Draw(t, "cols")
		var b Batch
		var want [][3]string
		for _, row := range rows {
			b.Row.Add([]byte(row))
			b.Row.AddAgain(len(cols) - 1)
			for _, col := range cols {
				v := strconv.Itoa(len(b.Val))
				b.Col.Add([]byte(col))
				b.AddValue(float64(len(b.Val)))
				if want = append(want, [3]string{row, col, v}); row != col {
					want = append(want, [3]string{col, row, v})
				}
			}
		}
		single := slices.Repeat(cols, len(rows))
		b.Mirror(func(n int) bool { return rows[n/len(cols)] == single[n] })
		b.Row.ToText()
		b.Col.ToText()
		var got [][3]string
		for n, v := range b.Val {
			got = append(got, [3]string{string(b.Row.Text(n)), string(b.Col.Text(n)), strconv.Itoa(int(v))})
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q × %q: %q, want %q", rows, cols, got, want)
		}
	})
}
