// Package report writes a page of HTML about a result or a store: what was factorised and how good the result is.
//
// The page is one file that needs no other: charts are SVG inside of it, its only script sorts tables, and it makes no
// request. It is light or dark as the system of its reader is, and has the same bytes for the same result, store and options.
// Text from elsewhere, such as ids and titles, is escaped, and cut where it is long; tables and curves of many components are
// thinned, so that the page stays below MaxBytes.
//
// The page of a result shows the matrix and, if the store is given, the numbers of entries of its rows and columns and their
// values; the singular values or eigenvalues with the share of the energy that they capture; residuals by passes and seconds; the
// certificate; time and memory; the strongest rows and columns of the first components, and the density of rows and columns
// in the first two; and the command that makes the result again. The page of a store shows the matrix and its entries.
//
// Vectors are read by windows of rows, twice; a store is read once.
package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// MaxBytes is the size in bytes that a page stays below.
const MaxBytes = 500 << 10

const pageBytes = 4 << 20

// Options of Write and WriteStore. The zero value is usable.
type Options struct {
	Store      *csr.Store              // store of the result, read for histograms; nil: no histograms
	Labels     string                  // file with ids and labels of the rows, or of the columns of eigenpairs, for colours; "": none
	Names      []string                // names of the first components, shown with them; "": no name
	Components int                     // number of components whose strongest rows and columns are shown, MaxComponents at most; 0: 6
	Top        int                     // strongest rows and columns of each sign, MaxTop at most; 0: 8
	Memory     int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers    int                     // 0: all processors; the page does not depend on it
	FS         vfs.FS                  // file system of the labels; nil: the operating system's
	Progress   func(done, total int64) // reports the rows read, of the store and of the vectors; may be nil
}

// Limits of Options.
const (
	MaxComponents = 10
	MaxTop        = 10
)

func (o Options) withDefaults() Options {
	o.Components, o.Top = cmp.Or(o.Components, 6), cmp.Or(o.Top, 8)
	o.Memory, o.Workers = cmp.Or(o.Memory, factor.DefaultMemory()), cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	if o.Components < 1 || o.Components > MaxComponents || o.Top < 1 || o.Top > MaxTop || o.Workers < 1 {
		panic("report: options out of range")
	}
	return o
}

// Write writes the page of a result.
func Write(ctx context.Context, w io.Writer, r *factor.Result, o Options) (err error) {
	o = o.withDefaults()
	if o.Store != nil {
		if err := recommend.Belongs(r, o.Store); err != nil {
			return err
		}
	}
	if n := len(r.Values()); n != r.K {
		return fmt.Errorf("%w: %s: %d values, k is %d: the file is damaged; compute the result again", csr.ErrCorrupt, filepath.Join(r.Dir(), factor.ResultFile), n, r.K)
	}
	events, err := readEvents(ctx, r)
	if err != nil {
		return err
	}
	var sides []*vectors
	defer func() {
		for _, v := range sides {
			err = errors.Join(err, v.names.Close())
		}
	}()
	for _, rows := range []bool{true, false} {
		if rows && pairs(r) {
			continue
		}
		v, err := openVectors(ctx, r, rows, o.Components)
		if err != nil {
			return err
		}
		if v != nil {
			sides = append(sides, v)
		}
	}
	if o.Labels != "" {
		if len(sides) == 0 {
			return fmt.Errorf("%s: labels are for vectors, and %s has none", o.Labels, r.Dir())
		}
		if sides[0].labels, err = readLabels(ctx, o, sides[0]); err != nil {
			return err
		}
	}
	for _, v := range sides {
		if err := v.find(ctx, o); err != nil {
			return err
		}
	}
	p := new(page)
	kind := "singular values and vectors"
	switch {
	case pairs(r):
		kind = "eigenvalues and eigenvectors"
	case r.Completion != nil:
		kind = "completion"
	}
	p.open(kind, filepath.Base(filepath.Clean(r.Dir())))
	p.standing(r)
	if line := r.Continue(); line != "" {
		p.f("<p>%s.</p>\n", escaped(cut("It goes on: "+line, 4*textLength)))
	}
	p.WriteString(contents)
	p.facts(matrixFacts(r))
	if o.Store != nil {
		if err := p.entries(ctx, o.Store, o, r.View != nil); err != nil {
			return err
		}
	}
	p.spectrum(r)
	p.convergence(r, events)
	p.certificate(r)
	if err := p.scatters(ctx, r, sides, o); err != nil {
		return err
	}
	if err := p.topics(r, sides, o.Names); err != nil {
		return err
	}
	p.costs(r)
	p.command("Command", again(r), noteOn(r))
	p.close()
	return p.to(w)
}

func (p *page) to(w io.Writer) error {
	text := p.whole()
	if len(text) >= MaxBytes {
		return fmt.Errorf("the page has %d bytes, more than %d: ask for fewer components", len(text), MaxBytes)
	}
	_, err := io.WriteString(w, text)
	return err
}

// density returns the number of entries and their share of the elements.
func density(rows, cols, nnz int64) markup {
	elements := float64(rows) * float64(cols)
	if elements == 0 {
		return "no elements"
	}
	return markedUp("%s, %.3g %% of the elements", count(nnz), 100*float64(nnz)/elements)
}

func matrixFacts(r *factor.Result) facts {
	all := facts{
		{"store", escaped(cut(r.Store.Path, textLength))},
		{"rows × columns", markedUp("%s × %s", count(r.Rows), count(r.Cols))},
		{"entries of the store", density(r.Rows, r.Cols, r.NNZ)},
		{"components", markedUp("%d", r.K)},
	}
	if v := r.View; v != nil {
		all = append(all, fact{"seen through the view", markedUp("<code>%s</code>", cut(v.Pipeline, textLength))}, fact{"norm of the view", exact(v.Norm, "%.8g")})
	}
	if pairs(r) {
		which := map[string]string{"LM": "largest in magnitude (LM)", "LA": "largest (LA)", "SA": "smallest (SA)"}[r.Settings.Which]
		all = append(all, fact{"eigenvalues", escaped(cmp.Or(which, r.Settings.Which))}, fact{"norm", exact(r.Norm, "%.8g")})
	}
	return all
}

// entries shows the numbers of entries of rows and columns, and the values of the entries.
func (p *page) entries(ctx context.Context, store *csr.Store, o Options, viewed bool) error {
	c, err := countEntries(ctx, store, o)
	if err != nil {
		return err
	}
	p.section("Entries", either(viewed, "These are of the store, before the view.", ""))
	p.WriteString("<div class=\"pair\">\n")
	p.lengths(c)
	p.valuesOf(c.values)
	p.WriteString("</div>\n")
	p.end()
	return nil
}

// WriteStore writes the page of a store. It ignores o.Store and o.Labels.
func WriteStore(ctx context.Context, w io.Writer, store *csr.Store, o Options) error {
	o = o.withDefaults()
	p := new(page)
	p.open("store", filepath.Base(filepath.Clean(store.Path())))
	rows, cols := factor.Dims(store)
	perEntry := markup("")
	if store.NNZ() > 0 {
		perEntry = markedUp(", %.3g bytes an entry", float64(store.Size())/float64(store.NNZ()))
	}
	all := facts{
		{"store", escaped(cut(store.Path(), textLength))},
		{"rows × columns", markedUp("%s × %s", count(rows), count(cols))},
		{"entries", density(rows, cols, store.NNZ())},
		{"norm ‖A‖", exact(factor.Number(math.Ldexp(store.Norm())), "%.8g")},
		{"size", escaped(memory.FormatSize(store.Size())) + perEntry},
		{"values", markedUp("%s", string(store.Values().Coding))},
		{"fingerprint", markedUp("<code>%s</code>", store.Fingerprint())},
	}
	source := store.Manifest().Source
	for _, name := range []string{"inputs", "format", "roles", "options"} {
		text, err := json.Marshal(source[name])
		if err != nil {
			return err
		}
		v := string(text)
		all.add(v != "null" && v != "{}" && v != "[]" && v != `""`, "source: "+name, escaped(cut(v, textLength)))
	}
	p.facts(all)
	if err := p.entries(ctx, store, o, false); err != nil {
		return err
	}
	p.command("Next step", []string{"gdsvd", "svd", store.Path(), "-k", fmt.Sprint(max(1, min(10, rows, cols))), "-o", "OUT"}, "This command factorises the store.")
	p.close()
	return p.to(w)
}
