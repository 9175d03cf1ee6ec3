package tabular

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

// texts returns random texts, some of which need quotes or escapes.
func texts(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString([]string{"a", " ", ",", "\t", "\"", "\n", "é", "=", "\\", "<"}[r.IntN(10)])
	}
	return b.String()
}

// TestReadBack: readers of the standard library read back the values written, whether Make was called before or not.
func TestReadBack(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := []*Value{{Text: "x" + texts(r)}, {Int: r.Int64() - 1<<62}, {Float: r.NormFloat64() * math.Exp(100*r.NormFloat64())}, {Text: texts(r)}}
		for _, format := range []string{"csv", "tsv", "jsonl"} {
			var b bytes.Buffer
			w := must.Get(New(&b, format, false, Column{Name: "a"}, Column{Name: "b", Kind: Int}, Column{Name: "c", Kind: Float}, Column{Name: "d", Rare: true}))(t)
			if seed%2 == 0 {
				w.Make(0, values[0])
				w.Make(3, values[3])
			}
			must.Do(t, w.Add(values...))
			values[0].made, values[3].made = nil, nil
			must.Do(t, w.Close())
			var got [4]string
			if format == "jsonl" {
				var line struct {
					A, D string
					B    int64
					C    float64
				}
				if err := json.Unmarshal(b.Bytes(), &line); err != nil || strings.Contains(b.String(), `"d"`) != (line.D != "") {
					t.Fatalf("%v: %s", err, b.String())
				}
				got = [4]string{line.A, strconv.FormatInt(line.B, 10), strconv.FormatFloat(line.C, 'g', -1, 64), line.D}
			} else {
				in := csv.NewReader(&b)
				in.Comma = map[string]rune{"csv": ',', "tsv": '\t'}[format]
				lines, err := in.ReadAll()
				if err != nil || len(lines) != 2 || strings.Join(lines[0], " ") != "a b c d" {
					t.Fatalf("seed %d, %s: %v, %q", seed, format, err, lines)
				}
				got = [4]string(lines[1])
			}
			want := [4]string{values[0].Text, strconv.FormatInt(values[1].Int, 10), strconv.FormatFloat(values[2].Float, 'g', -1, 64), values[3].Text}
			if got != want {
				t.Errorf("seed %d, %s: %q, want %q", seed, format, got, want)
			}
		}
	}
}
