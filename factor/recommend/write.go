package recommend

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/tabular"
)

// Format is the format of a file of recommendations.
type Format string

const (
	CSV       Format = "csv"     // a line for each recommendation, under a header
	JSONLines Format = "jsonl"   // a JSON object for each recommendation
	Parquet   Format = "parquet" // a row for each recommendation
)

// FormatOf returns the format for the extension of a file's name.
func FormatOf(name string) (Format, error) {
	for _, f := range []Format{CSV, JSONLines, Parquet} {
		if strings.HasSuffix(strings.ToLower(name), "."+string(f)) {
			return f, nil
		}
	}
	return "", fmt.Errorf("%s: its name does not end in .csv, .jsonl or .parquet, which choose the format", name)
}

// Side is the rows or the columns of a result, with the word for one of them.
type Side struct {
	What  string // such as "row"
	Names *factor.Names
}

// Writer writes recommendations: the id of the row, the id of the recommended column, rank from 1, score and, for sides that
// have titles, the titles. The columns are row, column, rank, score, row_title and column_title if the sides are called row and
// column. Scores in text are read as the same float64. Ids in Parquet are int64 or string.
type Writer struct {
	of, to labels
	out    *tabular.Writer
}

// WriterBytes is the largest memory in bytes that a Writer takes.
const WriterBytes = cacheBytes + 24<<20

// NewWriter begins a file. If guarded is true, escape.Formula changes ids and titles in CSV.
func NewWriter(w io.Writer, f Format, of, to Side, guarded bool) (*Writer, error) {
	x := &Writer{of: labels{names: of.Names, utf8: f == JSONLines}, to: labels{names: to.Names, utf8: f == JSONLines, column: 1, kept: map[int64]*label{}}}
	id := func(s Side) tabular.Column {
		if s.Names.Ints() {
			return tabular.Column{Name: s.What, Kind: tabular.Int}
		}
		return tabular.Column{Name: s.What}
	}
	columns := []tabular.Column{id(of), id(to), {Name: "rank", Kind: tabular.Rank}, {Name: "score", Kind: tabular.Float}}
	for i, s := range []Side{of, to} {
		if s.Names.Titled() {
			[]*labels{&x.of, &x.to}[i].title = len(columns)
			columns = append(columns, tabular.Column{Name: s.What + "_title", Rare: true})
		}
	}
	var err error
	x.out, err = tabular.New(w, string(f), guarded, columns...)
	return x, err
}

// Row writes the recommendations for a row.
func (w *Writer) Row(row int64, items []Item) error {
	of, err := w.of.at(w.out, row)
	if err != nil {
		return err
	}
	var rank, score tabular.Value
	line := []*tabular.Value{&of.id, nil, &rank, &score}
	if w.of.title > 0 {
		line = append(line, &of.title)
	}
	if w.to.title > 0 {
		line = append(line, nil)
	}
	for i, item := range items {
		to, err := w.to.at(w.out, int64(item.Index))
		if err != nil {
			return err
		}
		line[1], rank.Int, score.Float = &to.id, int64(i+1), item.Score
		if w.to.title > 0 {
			line[w.to.title] = &to.title
		}
		if err := w.out.Add(line...); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the file; it does not close the underlying writer.
func (w *Writer) Close() error { return w.out.Close() }

type label struct{ id, title tabular.Value }

// labels holds the names of a side. Names that are used repeatedly are kept, up to cacheBytes.
type labels struct {
	names         *factor.Names
	utf8          bool             // ids that are not UTF-8 are refused: JSON would make them the same text
	column, title int              // column of the ids, column of the titles; title 0: no titles
	kept          map[int64]*label // nil: names are not kept
	bytes         int
}

const cacheBytes = 8 << 20

func (f *labels) at(out *tabular.Writer, i int64) (*label, error) {
	if x, ok := f.kept[i]; ok {
		return x, nil
	}
	name, err := f.names.At(i)
	if err != nil {
		return nil, err
	}
	x := &label{title: tabular.Value{Text: name.Title}}
	x.id.Int, _ = name.ID.(int64)
	x.id.Text, _ = name.ID.(string)
	if f.utf8 && !utf8.ValidString(x.id.Text) {
		return nil, fmt.Errorf("the id %q has bytes that are not UTF-8, which JSON does not have: write .csv or .parquet, which keep them", x.id.Text)
	}
	out.Make(f.column, &x.id)
	if f.title > 0 {
		out.Make(f.title, &x.title)
	}
	if size := x.id.Bytes() + x.title.Bytes(); f.kept != nil && f.bytes+size <= cacheBytes {
		f.kept[i] = x
		f.bytes += size
	}
	return x, nil
}

// Numbers returns the indices of the rows or columns with ids or titles, ascending, each once. what is "row" or "column".
func Numbers(names *factor.Names, what string, ids []string) ([]int64, error) {
	var numbers []int64
	for i, id := range ids {
		n, err := Number(names, what, id)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, fmt.Errorf("%s %q: the result has no %s with that id (%d of %d): give ids as the file that was ingested has them", what, id, what, i+1, len(ids))
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// Number returns the index of the row or column with an id or a title ([factor.ByTitle]), −1 if none has it. Blanks around id are
// removed unless an id has them.
func Number(names *factor.Names, what, id string) (int64, error) {
	n, err := names.Index(id)
	if bare := strings.TrimSpace(id); n < 0 && err == nil && bare != id {
		return Number(names, what, bare)
	}
	if n < 0 && err == nil && names.Titled() {
		n, err = factor.ByTitle(names.Count(), names.Title, names.At, what, id)
	}
	return n, err
}

// ParseIDs reads ids, one a line. Empty lines are left out.
func ParseIDs(text []byte) []string {
	lines := strings.Split(strings.ReplaceAll(strings.TrimPrefix(string(text), "\uFEFF"), "\r\n", "\n"), "\n")
	return slices.DeleteFunc(lines, func(id string) bool { return id == "" })
}
