// Package foldin gives rows that a factorisation was not made of, or columns, their place among those that it was: what
// recommenders and search engines call folding in, and scikit-learn transform.
//
// With the N × n matrix B = U·Σ·Vᵀ that a result is of, a view of a store or the store itself, a new row b has
//
//	x = bᵀV      (k numbers)
//
// which is u·Σ for the rows of B itself. b is what the view makes of the row: what its steps need of the row is computed
// from that, what they need of columns is what they have measured of the matrix. So x is TruncatedSVD.transform of scikit-learn and, with
// center=columns, PCA.transform. A new column has y = bU, which is v·Σ.
//
// Whitening divides by σ/√(N−1) where the columns of B have the mean 0, as PCA(whiten=True), and by σ elsewhere, which makes rows of U,
// and by history.
// By history, x = hᵀV with the entries h of the row or, where the view begins with the step binary, ones: what package recommend scores
// rows with if the view has the step weight=columns.
//
// Columns of the store are those of the matrix with the same ids. Others are left out, and counted; more of them than known
// ones are an error. Columns that the store does not have are entries of 0; where the view has means for what is missing, as patterson and
// impute=mean have, they are missing in each row, and x is nearer to the mean for that: Projection says how much.
package foldin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Options of Project.
type Options struct {
	Dir      string                  // the directory to write
	Columns  bool                    // columns are folded in, not rows
	History  bool                    // rows are taken by their entries, not as the view makes them
	Whiten   bool                    // components are divided by their standard deviations
	Replace  bool                    // replace a projection that is there, in one step at the end
	Memory   int64                   // budget of the whole process in bytes; 0: factor.DefaultMemory()
	Workers  int                     // 0: all processors; what is written does not depend on it
	FS       vfs.FS                  // nil: the operating system's
	Progress func(done, total int64) // is told of rows; may be nil
}

// Projection is what Project has written: the fields of projection.json.
type Projection struct {
	Format         string          `json:"format"`              // name of the format
	Result         string          `json:"result"`              // directory of the result that the rows or columns are projected onto
	Matrix         string          `json:"matrix"`              // fingerprint of the matrix of the result
	Store          factor.StoreRef `json:"store"`               // the store
	Side           string          `json:"side"`                // "rows" or "columns"
	By             string          `json:"by"`                  // "model" if rows are transformed by the view, "history" if they are taken by their entries
	Whiten         bool            `json:"whiten"`              // whether components are divided by their standard deviations
	Rows           int64           `json:"rows"`                // number of rows of X; each is a row or column of the store
	K              int             `json:"k"`                   // number of components
	Empty          int64           `json:"empty"`               // number of rows without an entry in a column that the matrix has
	Known          int64           `json:"known"`               // number of columns (or rows) of the store that the matrix has
	Unknown        int64           `json:"unknown"`             // number of columns (or rows) of the store that the matrix does not have
	UnknownIDs     []string        `json:"unknown_ids"`         // the first ten unknown ids
	UnknownEntries int64           `json:"unknown_entries"`     // number of entries in unknown columns, which are left out
	Shrinkage      []float64       `json:"shrinkage,omitempty"` // by component, the share of the squares of its vector in columns of the store; absent where none is missing, or missing ones are 0 and not the mean
	IDs            factor.IDs      `json:"ids"`                 // ids of the rows of X, in the form of result.json
	Files          []factor.File   `json:"files"`               // files of the directory
	CRC            csr.Checksum    `json:"crc"`                 // checksum of this object

	Dir string `json:"-"`
}

type projecting struct {
	o Options
	*Projection
	result *factor.Result
	store  *csr.Store
	lines  int64 // of the store
	others int64 // columns of it

	fitted  *view.Fitted // nil: entries are as they are
	centred bool         // columns of the matrix have the mean 0, and lines are rows as the view makes them
	vectors *factor.Factor
	n       int64    // numbers of a line, and rows of vectors
	place   []uint32 // row of vectors for each column of the store
	ordered bool     // these ascend
	absent  []uint32 // rows of vectors that no column of the store has, if these are missing rather than entries of 0
	missing float64  // the value of missing entries in the store
	some    bool     // there are such entries

	base   *mat.Dense // what is added to each row: QᵀV; nil if there is no Q
	window npy.Window // of vectors
	left   int64      // of the budget for lines and vectors
	reader *history.Reader
}

const nowhere = math.MaxUint32

// Project folds the rows of a store, or its columns, into a result and writes them to a directory.
func Project(ctx context.Context, r *factor.Result, store *csr.Store, o Options) (_ *Projection, err error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	o.Memory = cmp.Or(o.Memory, factor.DefaultMemory())
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	p := &projecting{o: o, result: r, store: store, Projection: &Projection{
		Format: folder.Projection().Format, Result: r.Dir(), Matrix: r.Matrix(), Store: factor.StoreRef{Path: store.Path(), Fingerprint: store.Fingerprint()},
		Side: "rows", By: "model", Whiten: o.Whiten, K: r.K, UnknownIDs: []string{}, Dir: o.Dir,
	}}
	p.lines, p.others = factor.Dims(store)
	if o.Columns {
		p.Side, p.lines, p.others = "columns", p.others, p.lines
	}
	if o.History {
		p.By = "history"
	}
	p.Rows = p.lines
	if max(p.others, p.lines) > history.MaxColumns {
		return nil, fmt.Errorf("%s is %d × %d: a store that is projected has at most %d rows and as many columns", store.Path(), p.lines, p.others, int64(history.MaxColumns))
	}
	if r.Completion != nil {
		return nil, fmt.Errorf("%s is a completion: a projection is for results of gdsvd svd, in which missing entries are zeros", r.Dir())
	}
	if p.lines == 0 {
		return nil, fmt.Errorf("%s has no %s to project", store.Path(), p.Side)
	}
	out, err := folder.Projection().New(o.FS, o.Dir, o.Replace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	defer func() {
		if p.vectors != nil {
			err = errors.Join(err, p.vectors.Close())
		}
	}()
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	if err := p.plan(ctx); err != nil {
		return nil, err
	}
	side, files, err := factor.WriteNames(ctx, o.FS, out.Dir(), store, o.Columns)
	if err != nil {
		return nil, err
	}
	p.IDs.Rows, p.Files = side, files
	if o.Columns {
		p.IDs = factor.IDs{Cols: side}
	}
	if err := p.write(ctx, out); err != nil {
		return nil, err
	}
	return p.Projection, out.Commit(p.Projection, &p.CRC)
}

// open opens the vectors and finds the columns of the store among their rows.
func (p *projecting) open(ctx context.Context) (err error) {
	openVectors, openNames, others := p.result.OpenV, p.result.ColNames, "columns"
	axis, across := csr.Orient(p.store, csr.ColAxis, csr.RowAxis)
	if p.o.Columns {
		openVectors, openNames, others, axis = p.result.OpenU, p.result.RowNames, "rows", across
	}
	names, err := openNames(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, names.Close()) }()
	p.n = names.Count()
	if p.n > history.MaxColumns {
		return fmt.Errorf("%s has %d %s: projections are on %d at most", p.result.Dir(), p.n, others, int64(history.MaxColumns))
	}
	if p.vectors, err = openVectors(); err != nil { // as many as the result says, before anything is made that large
		return err
	}
	if 4*p.others > p.o.Memory { // plan says what else there is
		_, err := p.ledger().Left(p.o.Memory, leastLeft)
		return err
	}
	p.place, p.ordered = make([]uint32, p.others), true
	last := int64(-1)
	err = names.Match(ctx, factor.IDsOf(ctx, p.store, axis), func(i, at int64, id string) error {
		if at < 0 {
			p.place[i] = nowhere
			p.Unknown++
			if len(p.UnknownIDs) < 10 {
				p.UnknownIDs = append(p.UnknownIDs, id)
			}
			return nil
		}
		p.place[i] = uint32(at)
		p.ordered = p.ordered && at > last
		last = at
		p.Known++
		return nil
	})
	if err != nil {
		return err
	}
	if p.Unknown > p.Known {
		return fmt.Errorf("%d of %d %s of %s, such as %q, are not among those of %s: is this the same catalogue?", p.Unknown, p.others, others, p.store.Path(), p.UnknownIDs[0], p.result.Dir())
	}
	return p.fit(ctx)
}

// fit finds what the view makes of a line.
func (p *projecting) fit(ctx context.Context) error {
	steps, err := p.result.Pipeline(ctx)
	if err != nil {
		return err
	}
	if p.o.History {
		steps = steps.History()
	}
	p.centred = steps.Centred() == "columns" && !p.o.Columns
	if p.missing, p.some = p.store.Missing(); p.some && !steps.Imputes() {
		return p.store.NoMissing()
	}
	if steps.ImputesMeans() && p.Known < p.n {
		if p.o.Columns {
			return fmt.Errorf("%d of %d rows of %s are not in %s: new columns of %s are of all its rows", p.n-p.Known, p.n, p.result.Dir(), p.store.Path(), steps)
		}
		there := make([]bool, p.n)
		for _, at := range p.place {
			if at != nowhere {
				there[at] = true
			}
		}
		for j, is := range there {
			if !is {
				p.absent = append(p.absent, uint32(j))
			}
		}
	}
	if len(steps) > 0 {
		p.fitted, err = p.result.Fit(ctx, steps, p.o.Columns)
	}
	return err
}

// deviations are what components are divided by.
func (p *projecting) deviations() ([]float64, error) {
	by := p.result.Values()
	root := 1.0
	if n := p.result.Rows; n > 1 && p.centred {
		root = math.Sqrt(float64(n - 1))
	}
	for j := range by {
		if by[j] == 0 {
			mend := "do not whiten"
			if j > 0 {
				mend = fmt.Sprintf("factorise with -k %d, or %s", j, mend)
			}
			return nil, fmt.Errorf("component %d of %s has σ = 0, and whitening divides by it: %s", j+1, p.result.Dir(), mend)
		}
		by[j] /= root
	}
	return by, nil
}

// valueError names the line and the entry that a step makes no number.
func (p *projecting) valueError(err error) error {
	e, ok := errors.AsType[*view.ValueError](err)
	if !ok {
		return err
	}
	row, col := e.Row, e.Col
	if p.o.Columns { // of the matrix
		row = int64(slices.Index(p.place, uint32(row)))
	} else {
		col = int64(slices.Index(p.place, uint32(col)))
	}
	store := source.New(p.store)
	return fmt.Errorf("%s: %s", p.store.Path(), e.Say("row "+store.IDOf(csr.RowAxis, row), "column "+store.IDOf(csr.ColAxis, col)))
}
