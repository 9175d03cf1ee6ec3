package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/vfs"
)

// readers that share nothing with the package but the meaning of the formats

// naiveLines reads text of a fixed layout: all lines have as many fields as
// the first one, and there is no header. bad is the line of the first error.
func naiveLines(text, sep string, columns []int) (entries []triple, bad int) {
	fields := 0
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSuffix(l, "\r")
		if strings.Trim(l, " \t") == "" {
			continue
		}
		if fields == 0 && (strings.HasPrefix(l, "#") || strings.HasPrefix(l, "%")) && (len(l) == 1 || l[1] == ' ' || l[1] == '\t') {
			continue
		}
		f := strings.Split(l, sep)
		if strings.HasPrefix(l, "\ufeff") { // not the one that the text may begin with
			return entries, i + 1
		}
		if fields == 0 {
			fields = len(f)
		}
		if len(f) != fields || len(f) < 3 {
			return entries, i + 1
		}
		for k := range f {
			f[k] = strings.Trim(f[k], " \t")
		}
		v, err := naiveFloat(f[columns[2]])
		if err != nil || f[columns[0]] == "" || f[columns[1]] == "" {
			return entries, i + 1
		}
		entries = append(entries, triple{f[columns[0]], f[columns[1]], v})
	}
	return entries, 0
}

// naiveMatrixMarket reads a coordinate file; ok is false if anything is wrong with it.
func naiveMatrixMarket(text string) (rows, cols int64, entries []triple, ok bool) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	banner := strings.Fields(strings.ToLower(lines[0]))
	if len(banner) != 5 || banner[0] != "%%matrixmarket" || banner[1] != "matrix" || banner[2] != "coordinate" && banner[2] != "array" {
		return
	}
	field, symmetry := banner[3], banner[4]
	if !slices.Contains([]string{"real", "double", "integer", "pattern"}, field) || !slices.Contains([]string{"general", "symmetric", "skew-symmetric"}, symmetry) ||
		field == "pattern" && symmetry == "skew-symmetric" {
		return
	}
	var data [][]string
	for _, l := range lines[1:] {
		if f := strings.FieldsFunc(l, func(r rune) bool { return r == ' ' || r == '\t' }); len(f) > 0 && f[0][0] != '%' {
			data = append(data, f)
		}
	}
	if banner[2] == "array" {
		return naiveArray(data, field, symmetry)
	}
	if len(data) == 0 || len(data[0]) != 3 {
		return
	}
	var size [3]int64
	for i, s := range data[0] {
		var err error
		if size[i], err = naiveIndex(s); err != nil {
			return
		}
	}
	rows, cols = size[0], size[1]
	if int64(len(data)-1) != size[2] || symmetry != "general" && rows != cols || max(rows, cols) >= 1<<31 {
		return
	}
	lower, upper := false, false
	for _, f := range data[1:] {
		want := 3
		if field == "pattern" {
			want = 2
		}
		if len(f) != want {
			return
		}
		i, err1 := naiveIndex(f[0])
		j, err2 := naiveIndex(f[1])
		v, err3 := 1.0, error(nil)
		if field != "pattern" {
			if v, err3 = naiveFloat(f[2]); field == "integer" && strings.ContainsAny(f[2], ".eE") {
				return
			}
		}
		if err1 != nil || err2 != nil || err3 != nil || i < 1 || j < 1 || i > rows || j > cols {
			return
		}
		name := func(i int64) string { return strconv.FormatInt(i-1, 10) }
		entries = append(entries, triple{name(i), name(j), v})
		switch {
		case symmetry == "general":
			continue
		case i == j && symmetry == "skew-symmetric":
			return
		case i == j:
			continue
		case symmetry == "skew-symmetric":
			v = -v
		}
		lower, upper = lower || i > j, upper || i < j
		entries = append(entries, triple{name(j), name(i), v})
	}
	return rows, cols, entries, !lower || !upper
}

// naiveArray reads the fields of a dense file, place by place.
func naiveArray(data [][]string, field, symmetry string) (rows, cols int64, entries []triple, ok bool) {
	if field == "pattern" || len(data) == 0 || len(data[0]) != 2 {
		return
	}
	rows, err1 := naiveIndex(data[0][0])
	cols, err2 := naiveIndex(data[0][1])
	if err1 != nil || err2 != nil || symmetry != "general" && rows != cols || max(rows, cols) >= 1<<31 {
		return
	}
	data = data[1:]
	for j := range cols {
		for i := range rows {
			if symmetry == "symmetric" && i < j || symmetry == "skew-symmetric" && i <= j {
				continue
			}
			if len(data) == 0 || len(data[0]) != 1 {
				return
			}
			v, err := naiveFloat(data[0][0])
			if err != nil || field == "integer" && strings.ContainsAny(data[0][0], ".eE") {
				return
			}
			data = data[1:]
			if v == 0 {
				continue
			}
			entries = append(entries, triple{strconv.FormatInt(i, 10), strconv.FormatInt(j, 10), v})
			if symmetry == "skew-symmetric" {
				v = -v
			}
			if symmetry != "general" && i != j {
				entries = append(entries, triple{strconv.FormatInt(j, 10), strconv.FormatInt(i, 10), v})
			}
		}
	}
	return rows, cols, entries, len(data) == 0
}

func naiveIndex(s string) (int64, error) {
	if len(s) > 1 && s[0] == '+' {
		s = s[1:]
	}
	if strings.Trim(s, "0123456789") != "" || len(s) > 18 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, 64)
}

// naiveFloat reads a finite number.
func naiveFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (v-v != 0 || strings.ContainsAny(s, "xXpP_")) {
		err = strconv.ErrSyntax
	}
	return v, err
}

// parseAll runs the formats over content without a store.
func parseAll(content []byte, o Options, chunkLen int) (entries []triple, src *source, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	op := input.Opener{Files: input.Files{FS: vfs.OS()}, Stdin: bytes.NewReader(content), Bytes: new(atomic.Int64), MaxWindow: 8 << 20}
	return parseInput(ctx, op, "-", o, chunkLen)
}

// parseInput is parseAll for an input of any kind.
func parseInput(ctx context.Context, op input.Opener, name string, o Options, chunkLen int) (entries []triple, src *source, err error) {
	src, err = openSource(ctx, op, name, o.withDefaults(), nil)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	var b format.Batch
	var rows format.Rows
	c := format.Chunk{Data: make([]byte, 0, chunkLen)}
	for {
		c.Data = c.Data[:0]
		if err := src.reader.Next(&c); err == io.EOF {
			break
		} else if err != nil {
			return nil, src, err
		}
		b.Reset(0)
		fatal := src.reader.Parse(&c, &b)
		src.tally.Add(b.Tally)
		if err := text.FirstError(append(b.Errs, fatal, src.reader.Check(src.tally, &c, &b))...); err != nil {
			if p, ok := src.reader.(format.RowReader); ok && fatal != nil && p.ParseRows(&c, &rows) {
				err = fmt.Errorf("rows in spite of: %v", err)
			}
			return nil, src, err
		}
		now := own(formattest.Triples(&b))
		if p, ok := src.reader.(format.RowReader); ok && p.ParseRows(&c, &rows) && !slices.Equal(rowTriples(&rows), now) {
			return nil, src, fmt.Errorf("rows %+v of %v", rows, now)
		}
		entries = append(entries, now...)
	}
	return entries, src, src.reader.Check(src.tally, nil, nil)
}

// rowTriples are the entries of rows.
func rowTriples(r *format.Rows) (entries []triple) {
	cols, vals := r.Cols, r.Vals
	for _, run := range r.Runs {
		for i, c := range cols[:run.N] {
			entries = append(entries, triple{strconv.FormatInt(run.Row, 10), strconv.FormatUint(uint64(c), 10), vals[i] + 0})
		}
		cols, vals = cols[run.N:], vals[run.N:]
	}
	return entries
}
