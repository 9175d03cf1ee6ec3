package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/stored"
	"github.com/gdsvd/gdsvd/ingest/internal/straight"
	"github.com/gdsvd/gdsvd/ingest/internal/titles"
)

// sumsKey is the key of the sums of the inputs in the source of a store.
const sumsKey = "input_sums"

func appending(store, out string, o Options) (request, string, error) {
	r := o.withDefaults()
	b, err := openBase(store, r.FS)
	if err != nil {
		return r, out, err
	}
	r.Options, err = b.options(r.Options)
	if err != nil {
		return r, out, err
	}
	r.base = b
	return r, cmp.Or(out, store), nil
}

// AppendError says why an append to a store cannot give the store of an ingest of all inputs at once.
type AppendError struct{ Why string }

func (e *AppendError) Error() string { return e.Why + "; ingest all inputs anew" }

type base struct {
	path    string
	source  map[string]any
	print   string // fingerprint of the store
	nnz     int64
	size    int64 // bytes
	spooled bool  // the store is read as an input and sorted anew, not merged
	entries int64 // entries that its inputs had, before duplicates were combined
	bad     int64 // bad lines that were left out
	roles   *partRoles
}

func openBase(path string, fsys vfs.FS) (*base, error) {
	s, err := csr.Open(path, csr.OpenOptions{FS: fsys})
	if err != nil {
		return nil, err
	}
	b := &base{path: path, print: s.Fingerprint(), source: s.Manifest().Source, nnz: s.NNZ(), size: s.Size()}
	if err := s.Close(); err != nil {
		return nil, err
	}
	// JSON decodes the numbers of a manifest as float64s.
	entries, ok := b.source["entries"].(float64)
	if _, made := b.source["inputs"]; !ok || !made {
		return nil, &AppendError{"it was not made by an ingest: what its entries were is not known"}
	}
	bad, _ := b.source["bad_lines"].(float64)
	b.entries, b.bad = int64(entries), int64(bad)
	b.roles = rolesIn(b.source[rolesKey])
	return b, nil
}

// open opens the store, which must still have the fingerprint that openBase has seen.
func (b *base) open(fsys vfs.FS) (*csr.Store, error) {
	s, err := csr.Open(b.path, csr.OpenOptions{FS: fsys})
	if err == nil && s.Fingerprint() != b.print {
		err = errors.Join(fmt.Errorf("append to %s: another process has replaced it meanwhile; run the command again", b.path), s.Close())
	}
	return s, err
}

// repeated returns the number of entries that were combined with others; in an undirected graph, of edges.
func (b *base) repeated() int64 {
	if options, _ := b.source["options"].(map[string]any); options["graph"] == Undirected.String() {
		n, _ := b.source["repeated"].(float64)
		return int64(n)
	}
	return b.entries - b.nnz
}

func (o request) inPlace(out string) bool { return o.base != nil && filepath.Clean(o.base.path) == out }

// spooledBytes is the approximate size of an entry of a store in temporary files.
const spooledBytes = 6

func (b *base) addTo(e *Estimate, p plan) {
	if b == nil {
		return
	}
	e.Entries += b.nnz
	e.Store += b.size
	if e.Spool > 0 || e.Entries*extsort.EntryBytes > p.Space {
		e.Spool += b.nnz * spooledBytes
	}
}

// endsWith reports whether the last inputs recorded in the store are those that are appended, with the same sums.
func (b *base) endsWith(origin map[string]any) bool {
	for _, key := range []string{"inputs", "input_bytes", sumsKey} {
		had, _ := b.source[key].([]any)
		all, _ := origin[key].([]any)
		more := all[min(len(had), len(all)):]
		if len(more) == 0 || len(more) >= len(had) || !reflect.DeepEqual(had[len(had)-len(more):], more) {
			return false
		}
	}
	return true
}

// options returns o with the options the store was made with. An option of o that is set and differs is an error.
func (b *base) options(o Options) (Options, error) {
	made, _ := b.source["options"].(map[string]any)
	with := Options{}
	for _, name := range slices.Sorted(maps.Keys(made)) {
		value, _ := made[name].(string)
		if err := with.set(name, value); err != nil {
			return o, err
		}
	}
	policy := fmt.Sprint(b.source["duplicates"])
	if err := with.set("duplicates", policy); err != nil {
		return o, err
	}
	declared, _ := b.source["declared"].(bool)
	if f := b.source["format"]; declared || f == "mtx" || f == "idx" {
		return o, &AppendError{fmt.Sprintf("it is of one input of a declared shape (%v), beside which no other may be", f)}
	}
	if !(b.repeated() > 0) && o.Duplicates != DuplicatesError {
		with.Duplicates = o.Duplicates // no duplicates were combined: any policy is consistent
	}
	merged := with
	merged.ShardSize = o.ShardSize
	none := Options{ShardSize: o.ShardSize}.shaping()
	for i, own := range o.shaping() {
		if was := merged.shaping()[i]; own != was && own != none[i] {
			return o, fmt.Errorf("it was made with %s %q: %q cannot be chosen now", was[0], was[1], own[1])
		}
	}
	switch {
	case with.Duplicates == Mean && b.repeated() > 0:
		return o, &AppendError{"it has means, but not of how many values"}
	case with.Duplicates == Sum && b.repeated() > 0 && b.source[sumsKind] != "exact":
		return o, &AppendError{"it has sums that were rounded, or may have been: the result would not be that of all entries"}
	}
	o.Format, o.Separator, o.Columns, o.Header = with.Format, with.Separator, with.Columns, with.Header
	o.Duplicates, o.Orient, o.MaxBadLines = with.Duplicates, with.Orient, with.MaxBadLines
	o.IndexBase, o.Features, o.Events = with.IndexBase, with.Features, with.Events
	o.Graph, o.SelfLoops = with.Graph, with.SelfLoops
	return o, nil
}

func (o *Options) set(name, value string) (err error) {
	switch name {
	case "format":
		o.Format = value
	case "separator":
		o.Separator = value
	case "columns":
		o.Columns = strings.Split(value, ",")
	case "header":
		o.Header, err = named(value, format.HeaderAuto, format.HeaderYes, format.HeaderNo)
	case "duplicates":
		o.Duplicates, err = named(value, DuplicatesError, Sum, Mean, First, Last, Max)
	case "orientation":
		o.Orient, err = named(value, OrientAuto, OrientRows, OrientCols)
	case "bad lines":
		o.MaxBadLines, err = strconv.ParseInt(value, 10, 64)
	case "index base":
		o.IndexBase, err = named(value, format.BaseAuto, format.BaseZero, format.BaseOne)
	case "features":
		o.Features, err = strconv.ParseInt(value, 10, 64)
	case "events":
		o.Events, err = strconv.ParseBool(value)
	case "order kept":
		o.KeepOrder, err = strconv.ParseBool(value)
	case "graph":
		o.Graph, err = named(value, NoGraph, Directed, Undirected)
	case "self-loops":
		o.SelfLoops, err = named(value, LoopsKept, LoopsDropped, LoopsError)
	default:
		return &AppendError{fmt.Sprintf("it was made with %s %s, and what that left out is not in it", name, value)}
	}
	if err != nil {
		return fmt.Errorf("its manifest has %s %q: %w", name, value, err)
	}
	return nil
}

func named[T fmt.Stringer](name string, values ...T) (T, error) {
	for _, v := range values {
		if v.String() == name {
			return v, nil
		}
	}
	return values[0], errors.ErrUnsupported
}

const (
	// sumsKind is the key, in the source of a store, of whether all sums of duplicates are exact.
	sumsKind = "sums"
	// rolesKey is the key of the roles of the columns of the first input.
	rolesKey = "roles"
)

// before puts the inputs of the store before the appended inputs in origin.
func (b *base) before(origin map[string]any) {
	for _, key := range []string{"inputs", "input_bytes", sumsKey} {
		had, _ := b.source[key].([]any)
		more, _ := origin[key].([]any)
		if key != "inputs" && (had == nil || more == nil) {
			delete(origin, key)
			continue
		}
		origin[key] = slices.Concat(had, more[1:])
	}
}

// If its ids keep their order and its rows stay rows, a store that is appended to is not sorted anew: its entries are merged
// with the new entries as these are written.

func (o request) merges() bool { return o.base != nil && !o.base.spooled }

func (g *ordered) knownIDs(s *csr.Store, side format.Side) *ids.Known {
	axis := axisOf(s, side)
	file, n := s.Manifest().IDs.Of(axis), [...]int64{s.Rows(), s.Cols()}[axis]
	return &ids.Known{N: n, Text: file != nil && file.Kind == csr.StringIDs, Each: func(visit func(*ids.ID) error) error {
		s, err := g.o.base.open(g.o.FS)
		if err != nil {
			return err
		}
		var id ids.ID
		err = titles.IDsOf(s, axis, func(num int64, text string) error {
			id.Int, id.Text = num, append(id.Text[:0], text...)
			return visit(&id)
		})
		return errors.Join(err, s.Close())
	}}
}

// settleMerged ranks the new ids among those of the store. It returns ids.ErrReorder if the store must be sorted anew.
func (g *ordered) settleMerged(ctx context.Context) (err error) {
	s, err := g.o.base.open(g.o.FS)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, a := range g.all() {
		k := g.knownIDs(s, sides[i])
		if err := a.SettleKnown(k); err != nil {
			return err
		}
		g.known[i] = k
	}
	if g.o.Graph != NoGraph {
		g.known[1] = g.known[0]
	}
	if g.pack, err = g.o.packer(format.Shape{Rows: g.users.N, Cols: g.items.N}); err != nil {
		return fmt.Errorf("lay out matrix: %w", err)
	}
	if g.pack.Transposed != s.Transposed() || 4*s.Cols() > g.plan.Space/4 {
		return ids.ErrReorder
	}
	if g.o.Duplicates == DuplicatesError {
		had := csr.StatsOf(s.Values())
		if s.NNZ() > 0 {
			g.values.merge(&had)
		}
		if s.Values().Coding == csr.Integer && g.values.stats.Values().Coding == csr.Float32 { // if all integers of the store are float32s
			return straight.Each(s, func(_ int64, _ []uint32, vals []float64) error {
				g.values.stats.Add(vals...)
				return ctx.Err()
			})
		}
	}
	return nil
}

func (g *ordered) openCursor() (*stored.Cursor, error) {
	s, err := g.o.base.open(g.o.FS)
	if err != nil {
		return nil, err
	}
	rows, cols := csr.Exchanged(g.pack.Transposed, g.known[0], g.known[1])
	now := make([]uint32, s.Cols())
	next := cols.Walk()
	for i := range now {
		now[i] = uint32(next())
	}
	return stored.NewCursor(s, g.pack, rows.Walk(), now), nil
}

// keepTitles passes the titles of the store that is appended to on to the new store. Seal of w walks them; closing releases
// the old store afterwards.
func (g *ordered) keepTitles(ctx context.Context, w *csr.Writer) (closing func() error, err error) {
	closing = func() error { return nil }
	if g.o.base == nil {
		return closing, nil
	}
	old, err := g.o.base.open(g.o.FS)
	if err != nil {
		return closing, err
	}
	var now [2]csr.Axis
	now[format.RowSide], now[format.ColSide] = csr.Exchanged(g.pack.Transposed, csr.RowAxis, csr.ColAxis)
	for _, side := range sides {
		open, err := titles.Of(old, axisOf(old, side))
		if err != nil {
			return old.Close, err
		}
		if open == nil {
			continue
		}
		a := g.of(side)
		j := &titles.Join{Ctx: ctx, Most: g.plan.Space / 8, Open: open, Text: a.Text, EachID: func(visit func(int64, string) error) error {
			return a.Each(g.scratch, func(id *ids.ID) error {
				if a.Text {
					return visit(0, string(id.Text))
				}
				return visit(id.Int, "")
			})
		}}
		w.SetTitles(now[side], j.Each())
	}
	return old.Close, nil
}
