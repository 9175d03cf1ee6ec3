package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
)

// The readers below share no code with the package.

// naiveLines reads text of a fixed layout without header: all lines have as many fields as
// the first one. bad is the number of the first line with an error; 0: none.
func naiveLines(text, sep string, columns []int) (entries []triple, bad int) {
	fields := 0
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSuffix(l, "\r")
		if strings.Trim(l, " \t") == "" {
			continue
		}
		if fields == 0 && (strings.HasPrefix(l, "#") || strings.HasPrefix(l, "%")) && (len(l) == 1 || l[1] == ' ') {
			continue
		}
		f := strings.Split(l, sep)
		if strings.HasPrefix(l, "\ufeff") { // a byte order mark inside the text; the one at its start has been cut
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
		v, err := formattest.Float(f[columns[2]])
		if err != nil || f[columns[0]] == "" || f[columns[1]] == "" {
			return entries, i + 1
		}
		entries = append(entries, triple{f[columns[0]], f[columns[1]], v})
	}
	return entries, 0
}

// parseAll opens and parses content without writing a store.
func parseAll(content []byte, o Options, chunkLen int) (entries []triple, src *source, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	op := input.Opener{Files: input.Files{FS: vfs.OS()}, Stdin: bytes.NewReader(content), Bytes: new(atomic.Int64), MaxWindow: 8 << 20}
	return parseInput(ctx, op, "-", o, chunkLen)
}

// parseInput is parseAll for any input that op opens.
func parseInput(ctx context.Context, op input.Opener, name string, o Options, chunkLen int) (entries []triple, src *source, err error) {
	src, err = openSource(ctx, op, name, o.withDefaults(), nil)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	open := func(*format.Input) (format.Reader, error) { return rowsToo{src.reader, new(format.Rows)}, nil }
	all, err := formattest.Read(format.Format{Open: open}, nil, chunkLen)
	return own(all), src, err
}

// rowsToo is a Reader whose Parse also parses the chunk as rows, if the format can, and compares the entries.
type rowsToo struct {
	format.Reader
	rows *format.Rows
}

func (r rowsToo) Parse(c *format.Chunk, b *format.Batch) error {
	err := r.Reader.Parse(c, b)
	p, ok := r.Reader.(format.RowReader)
	if !ok || err == nil && len(b.Errs) > 0 || !p.ParseRows(c, r.rows) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rows in spite of: %v", err)
	}
	if now := own(formattest.Triples(b)); !slices.Equal(rowTriples(r.rows), now) {
		return fmt.Errorf("rows %+v of %v", r.rows, now)
	}
	return nil
}

// rowTriples returns the entries of r.
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
