package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// A Description holds the findings of Sniff about inputs.
type Description struct {
	Inputs     []InputDescription `json:"inputs"`       // the inputs that were examined: all of them, or 64 of them, evenly spread
	Of         int                `json:"of"`           // number of inputs, examined or not
	Rows       int64              `json:"rows"`         // number of rows: as the input declares it, or as counted when all entries were read, or else that of the sample
	Cols       int64              `json:"cols"`         // number of columns, determined like `rows`
	ShapeKnown bool               `json:"shape_known"`  // whether `rows` and `cols` are the shape of the whole matrix
	Likely     [2]int64           `json:"likely_shape"` // the likely number of rows and of columns; equal to `rows` and `cols` if the shape is known
	RowRange   Range              `json:"rows_range"`   // range of the number of rows
	ColRange   Range              `json:"cols_range"`   // range of the number of columns
	First      []Triple           `json:"first"`        // the first entries of the sample
	Sampled    int64              `json:"sampled"`      // number of entries in the sample
	Entries    int64              `json:"entries"`      // estimated number of entries; 0 if the size of the input is not known
	Exact      bool               `json:"exact"`        // whether `entries` is exact, because all entries were read or the input declares their number
	Memory     int64              `json:"memory_bytes"` // estimated memory of an ingest that makes no temporary files
	Peak       int64              `json:"peak_bytes"`   // estimated peak memory of an ingest that keeps within `--memory`
	// estimated size of the temporary files of an ingest that keeps within `--memory`; entries that come in the order of the store need none
	Spool    int64         `json:"spool_bytes"`
	Store    int64         `json:"store_bytes"` // estimated bytes of the store
	Values   csr.Values    `json:"-"`           // values of the sample
	Seconds  float64       `json:"seconds"`     // estimated seconds of the ingest, at the speed of the sample
	Warnings []string      `json:"warnings"`    // what is to be known before the ingest
	Flags    []format.Flag `json:"flags"`       // flags of gdsvd ingest that state what was recognised
}

// An InputDescription holds the findings of Sniff about one input.
type InputDescription struct {
	Name        string          `json:"name"`        // name of the input
	Format      string          `json:"format"`      // the format that was recognised
	Compression string          `json:"compression"` // compression; "" if there is none
	Bytes       int64           `json:"bytes"`       // size on the disk in bytes; −1 if it is not known
	Separator   string          `json:"separator"`   // separator of fields, in words; "" if there is none
	Header      string          `json:"header"`      // whether there is a header: "yes", "no", or "" for a format without headers
	Columns     []format.Column `json:"columns"`     // the columns of the input, with their roles
	Notes       []string        `json:"notes"`       // notes about the input
	flags       []format.Flag
	entries     float64 // 0: not known
	exact       bool
	whole       bool // all of the input has been read
}

// A Range is an interval in which a number is expected.
type Range struct {
	Low  int64 `json:"low"`  // smallest value that is expected
	High int64 `json:"high"` // largest value that is expected
}

// A Triple is an entry as it has been read. Indices count from 1, but those of columns of a late shape are as in the input.
type Triple struct {
	Row   string  `json:"row"`   // id of the row, or its index from 1
	Col   string  `json:"col"`   // id of the column, or its index from 1 (of svmlight: as in the input)
	Value float64 `json:"value"` // the value
}

const (
	// mostSniffed is the largest number of inputs that Sniff opens; of more inputs it opens that many, evenly spread.
	mostSniffed = 64
	// sniffChunks is the number of chunks of all inputs together that are parsed, at least one of each.
	sniffChunks = 32
	mostTriples = 5
)

// Sniff reports how Ingest would read inputs: it opens them, parses their first chunks, and extrapolates. It writes nothing. A
// defect of an input is a *format.ParseError, as in Ingest; several readings are a *format.AmbiguityError.
func Sniff(ctx context.Context, inputs []string, options Options) (*Description, error) {
	o := options.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("sniff: %w", err)
	}
	p, err := newPlan(o.Memory, o.Workers)
	if err != nil {
		return nil, fmt.Errorf("sniff: %w", err)
	}
	defer o.net.Close()
	names, err := o.expand(ctx, inputs)
	if err != nil {
		return nil, err
	}
	s := &sniffer{
		sample: newSample(o), plan: p, d: &Description{Of: len(names), First: []Triple{}, Warnings: []string{}},
	}
	s.seen = map[uint64]struct{}{}
	some := min(len(names), mostSniffed)
	s.each = max(1, sniffChunks/some)
	for i := range some {
		name := names[i*len(names)/some]
		if err := s.input(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := s.extrapolate(ctx, names); err != nil {
		return nil, err
	}
	s.agree()
	s.warn()
	return s.d, nil
}

func (s *sample) add(b *format.Batch, declared *format.Shape) {
	s.shape = declared
	var users, items []uint32
	var k extsort.Packer
	switch {
	case declared == nil:
		users, items = s.number(s.users, &b.Row), s.number(s.items, &b.Col)
	case declared.Late:
		k = extsort.Packer{ColBits: 32}
	default:
		k, _ = s.o.packer(*declared) // a declared shape fits
	}
	e := make([]extsort.Entry, 0, extsort.BlockEntries)
	integers := make([]uint32, len(b.Val)) // the values, used if all are integers
	for i, v := range b.Val {
		integers[i] = uint32(v)
		var key uint64
		if declared != nil {
			row, col := b.Row.Ints[i], b.Col.Ints[i]
			key = k.Key(row, col)
			s.top[0], s.top[1] = max(s.top[0], row+1), max(s.top[1], col+1-declared.First)
			row, col = csr.Exchanged(k.Transposed, row, col)
			s.places.Add(uint32(row), uint32(col))
		} else {
			key = uint64(users[i])<<32 | uint64(items[i])
			s.places.Add(users[i], items[i])
		}
		e = append(e, extsort.Entry{Key: key, Val: v})
		if s.seen != nil {
			if _, again := s.seen[key]; again {
				s.repeated++
			}
			s.seen[key] = struct{}{}
		}
		if len(e) == extsort.BlockEntries || i == len(b.Val)-1 {
			s.encoded += int64(len(s.coder.Encode(nil, e, false)))
			e = e[:0]
		}
	}
	s.entries += int64(len(b.Val))
	s.packed += int64(csr.PackedBytes(integers))
	s.stats.Add(b.Val...)
	s.ids.Mark(s.entries, s.idBytes)
	if declared == nil {
		s.top = [2]int64{int64(s.users.N), int64(s.items.N)}
	}
	s.rows.Mark(s.entries, s.top[0])
	s.cols.Mark(s.entries, s.top[1])
}

// number returns the temporary ids of keys and counts the bytes of new ids.
func (s *sample) number(d *ids.Dictionary, c *format.Keys) []uint32 {
	next := uint32(d.N)
	ids := d.Encode(c, nil)
	for i, t := range ids {
		if t < next {
			continue
		}
		next++
		s.idBytes += 4
		if c.IsText {
			s.idBytes += int64(len(c.Text(i))) - 3
		}
	}
	return ids
}

type sniffer struct {
	sample
	plan    plan
	each    int // number of chunks parsed of each input
	d       *Description
	prev    *source
	refused int64 // bad lines
	bad     error // first error of the chunk in which they are more than are tolerated
}

func (s *sniffer) input(ctx context.Context, name string) (err error) {
	op := s.o.opener(s.plan.window)
	src, err := openSource(ctx, op, name, s.o, s.prev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	d := InputDescription{Name: src.Name, Format: src.format, Compression: src.Compression, Bytes: -1, Columns: []format.Column{}, Notes: []string{}}
	if name != "-" {
		if d.Bytes, err = s.o.files().Size(ctx, name); err != nil {
			return err
		}
	}
	declared := d.describe(src.reader)
	s.pairs = arePairs(src.reader) && (s.prev == nil || s.pairs)
	entries := s.entries
	t, err := s.chunks(ctx, src, s.each, func(_ *format.Chunk, b *format.Batch) {
		s.show(src, b)
		s.refused += b.Refused
		if s.refused > s.o.MaxBadLines && s.bad == nil {
			s.bad = b.Errs[0]
		}
	})
	read := op.Bytes.Load() - src.Ahead()
	s.disk += read
	got := float64(s.entries - entries)
	switch {
	case err != nil && err != io.EOF:
		return err
	case err == io.EOF:
		d.entries, d.exact, d.whole = got, s.bad == nil, s.bad == nil
		if d.whole {
			if err := src.reader.Check(t, nil, nil); err != nil {
				return err
			}
		}
	case declared > 0 && t.Entries > 0:
		mirrored, _ := src.mirrored()
		alike := !mirrored && s.o.Graph != Undirected && !s.o.Filter.times() && s.o.MaxBadLines == 0 // every line is one entry
		d.entries, d.exact = float64(declared)*got/float64(t.Entries), declared == t.Entries || alike && got == float64(t.Entries)
	case d.Bytes >= 0 && read > 0:
		d.entries = got * float64(d.Bytes) / float64(read)
	}
	if src.shape != nil && (!src.shape.Late || d.whole) {
		s.d.Rows, s.d.Cols, s.d.ShapeKnown = src.shape.Rows, src.shape.Cols, true
	}
	s.d.Inputs = append(s.d.Inputs, d)
	s.prev = src
	return nil
}

// describe takes over the description of a reader, and returns the declared number of entries, or 0.
func (d *InputDescription) describe(r format.Reader) int64 {
	of := described(r)
	d.Separator, d.flags = of.Separator, append([]format.Flag{{Name: "format", Value: d.Format}}, of.Flags...)
	d.Columns, d.Notes = append(d.Columns, of.Columns...), append(d.Notes, of.Notes...)
	if of.Header != format.HeaderAuto {
		d.Header = of.Header.String()
	}
	return of.Entries
}

func (s *sniffer) show(src *source, b *format.Batch) {
	for i := 0; i < len(b.Val) && len(s.d.First) < mostTriples; i++ {
		key := func(k *format.Keys, from int64) string {
			if k.IsText {
				return string(k.Text(i))
			}
			return strconv.FormatInt(k.Ints[i]+from, 10)
		}
		row, col := int64(0), int64(0)
		if src.shape != nil {
			row = 1
			if !src.shape.Late { // indices of a late shape are shown as in the input
				col = 1
			}
		}
		s.d.First = append(s.d.First, Triple{key(&b.Row, row), key(&b.Col, col), b.Val[i]})
	}
}

const (
	sortSeconds  = 15e-9  // to sort and write an entry that has been parsed
	idSeconds    = 400e-9 // to number an id and write its name
	startSeconds = 0.02   // to start a process that makes a store
)

// median returns the median of x, which it sorts. Other load or first touches of memory slow down some chunks, not most.
func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// spoolRate is about how many bytes of temporary files are written, or read, in a second.
const spoolRate = 200e6

func (s *sniffer) extrapolate(ctx context.Context, names []string) error {
	d, n, exact, bytes, more := s.d, 0.0, true, int64(0), int64(0)
	whole := len(d.Inputs) == len(names)
	for _, in := range d.Inputs {
		whole = whole && in.whole
		n += in.entries
		bytes += max(0, in.Bytes)
		exact = exact && in.exact
		if in.entries == 0 && !in.exact {
			n, more = 0, -1
			break
		}
	}
	if len(d.Inputs) < len(names) && more == 0 {
		for _, name := range names {
			size, err := s.o.files().Size(ctx, name)
			if err != nil {
				return err
			}
			more += max(0, size)
		}
		n, exact = n*float64(more)/float64(max(1, bytes)), false
	}
	d.Sampled = s.entries
	if !d.ShapeKnown {
		d.Rows, d.Cols, d.ShapeKnown = int64(s.users.N), int64(s.items.N), whole
	}
	if s.entries == 0 || n == 0 {
		return nil
	}
	e := s.of(n, s.plan)
	d.Values = s.stats.Values()
	d.Entries, d.Exact, d.Memory, d.Peak, d.Spool, d.Store = int64(n+0.5), exact, e.Memory, e.Peak, e.Spool, e.Store
	chunks := float64(len(s.parsing)) * n / float64(s.entries)
	d.Seconds = chunks*(median(s.reading)+median(s.parsing)/float64(s.o.Workers)) + n*sortSeconds + 2*float64(e.Spool)/spoolRate + startSeconds
	d.Likely, d.RowRange, d.ColRange = [2]int64{d.Rows, d.Cols}, Range{d.Rows, d.Rows}, Range{d.Cols, d.Cols}
	if !d.ShapeKnown {
		likely, ranges := s.shapeOf(n)
		d.Likely, d.RowRange, d.ColRange = [2]int64{int64(likely[0] + 0.5), int64(likely[1] + 0.5)}, ranges[0], ranges[1]
		d.Seconds += idSeconds * (likely[0] + likely[1])
	}
	return nil
}

func (s *sniffer) agree() {
	d := s.d
	for _, flag := range d.Inputs[0].flags {
		lacks := func(in InputDescription) bool { return !slices.Contains(in.flags, flag) }
		if slices.ContainsFunc(d.Inputs, lacks) {
			d.Warnings = append(d.Warnings, "the inputs differ in --"+flag.Name+": it is recognised for each of them")
		} else {
			d.Flags = append(d.Flags, flag)
		}
	}
}

func (s *sniffer) warn() {
	d := s.d
	say := func(text string, args ...any) { d.Warnings = append(d.Warnings, fmt.Sprintf(text, args...)) }
	if s.bad != nil {
		say("%v (--max-bad-lines N leaves such lines out)", s.bad)
	}
	if s.repeated > 0 && s.o.Duplicates == DuplicatesError {
		say("%d of %d entries repeat a pair: --duplicates sum adds them up (or: mean, first, last, max), --value count counts them", s.repeated, s.entries)
	}
	if hint := s.mayBeGraph(); hint != "" {
		say("%s", hint)
	}
	if s.o.sifts() {
		say("entries, rows and columns are those of the input: --min-value, --min-per-row, --min-per-col and --holdout leave fewer")
	}
	if len(d.Inputs) < d.Of {
		say("%d of %d inputs have been looked at", len(d.Inputs), d.Of)
	}
	if d.Spool > 0 {
		say("more than --memory %s holds: about %s of temporary files are written beside the store", memory.FormatSize(s.o.Memory), memory.FormatSize(d.Spool))
	}
	if d.Entries == 0 && s.entries > 0 {
		say("the size of the input is not known: nothing is estimated")
	}
}
