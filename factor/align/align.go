// Package align rotates the vectors of a result to those of an earlier result, as closely as an orthogonal matrix can. An index of
// neighbours or a model that was built on the old vectors keeps its meaning.
//
// A and B, m × k each, are the rows of U, V, U·Σ or V·Σ of the new and of the old result whose ids both results have. With the
// singular value decomposition AᵀB = PSQᵀ the orthogonal matrix
//
//	R = PQᵀ      minimises ‖AR − B‖_F
//
// (P. Schönemann, A generalized solution of the orthogonal Procrustes problem, Psychometrika 31, 1966), and X = (new vectors)·R. Inner
// products of rows of X, and therefore neighbours, are those of the new vectors, which are X·Rᵀ.
//
// The principal angles between the column spaces of A and B tell how far the space itself has turned, which no
// rotation of coordinates undoes (Å. Björck, G. Golub, Math. Comp. 27, 1973).
package align

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// Options of Align.
type Options struct {
	What       string                  // "U", "V", "US" or "VS"
	Dir        string                  // the directory to write
	Neighbours int                     // nearest rows compared for each sampled row; 0: 10
	Sample     int                     // rows whose neighbours are compared; 0: 200
	Replace    bool                    // replace an existing alignment, in one step at the end
	FS         vfs.FS                  // nil: the operating system's
	Progress   func(done, total int64) // reports the rows processed; may be nil
}

// Alignment holds the fields of alignment.json, which Align writes.
type Alignment struct {
	Format string          `json:"format"`           // name of the format
	New    string          `json:"new"`              // the result that is aligned
	Old    string          `json:"old"`              // the result that it is aligned to
	What   string          `json:"what"`             // the vectors that are compared
	Rows   int64           `json:"rows"`             // number of rows of X
	K      int             `json:"k"`                // number of vectors
	Common int64           `json:"common"`           // number of ids that both results have
	Fresh  int64           `json:"fresh"`            // number of ids that only the new result has
	Gone   int64           `json:"gone"`             // number of ids that only the old result has
	Before factor.Number   `json:"before"`           // ‖A − B‖_F/‖B‖_F of the new vectors A and the old vectors B
	After  factor.Number   `json:"after"`            // ‖AR − B‖_F/‖B‖_F after the rotation R
	Angles []factor.Number `json:"angles,omitempty"` // principal angles between the two subspaces in degrees, ascending; absent if a subspace has fewer dimensions
	// share of the nearest neighbours that differ between the results; neighbours are found by cosine among rows with common ids
	Changed    factor.Number `json:"changed_neighbours"`
	Neighbours int           `json:"neighbours"` // number of nearest neighbours that are compared for each id
	Sample     int           `json:"sample"`     // number of ids whose neighbours are compared
	IDs        factor.IDs    `json:"ids"`        // ids of the rows of X, in the form of result.json
	Files      []factor.File `json:"files"`      // files of the directory
	CRC        csr.Checksum  `json:"crc"`        // checksum of this object

	Dir string `json:"-"`
}

// Align rotates the vectors of a result to those of an old result with as many components, and writes them to a directory.
func Align(ctx context.Context, fresh, old *factor.Result, o Options) (_ *Alignment, err error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	o.Neighbours = cmp.Or(o.Neighbours, 10)
	o.Sample = cmp.Or(o.Sample, 200)
	if fresh.K != old.K {
		return nil, fmt.Errorf("%s has %d components, %s has %d: factorise with the same -k", fresh.Dir(), fresh.K, old.Dir(), old.K)
	}
	out, err := folder.Alignment().New(o.FS, o.Dir, o.Replace)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	p := &pair{o: o, k: fresh.K}
	defer func() { err = errors.Join(err, p.close()) }()
	if p.fresh, err = open(ctx, fresh, o.What, orderedBytes); err != nil {
		return nil, err
	}
	if p.old, err = open(ctx, old, o.What, anyBytes); err != nil {
		return nil, err
	}
	p.total = 6 * p.fresh.names.Count() // two walks for R and its residual, three for neighbours, one to write
	a := &Alignment{Format: folder.Alignment().Format, New: fresh.Dir(), Old: old.Dir(), What: o.What, Rows: p.fresh.names.Count(), K: fresh.K, Dir: o.Dir}
	r, err := p.rotation(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := p.compare(ctx, a); err != nil {
		return nil, err
	}
	side, files, err := p.fresh.names.Copy(ctx, o.FS, out.Dir())
	if err != nil {
		return nil, err
	}
	a.IDs.Rows, a.Files = side, files
	if strings.HasPrefix(o.What, "V") {
		a.IDs = factor.IDs{Cols: side}
	}
	sum, err := npy.WriteMatrix(o.FS, out.Path(folder.Rotation), r, nil)
	a.Files = append(a.Files, factor.File{Name: folder.Rotation, Size: sum.Size, CRC: sum.CRC, Pieces: sum.Pieces})
	if err != nil {
		return nil, err
	}
	if err := p.turn(ctx, r, out, a); err != nil {
		return nil, err
	}
	return a, out.Commit(a, &a.CRC)
}

// rotation returns R. It reads the common rows once for AᵀB, AᵀA and BᵀB, and once for ‖AR − B‖, and fills in a.
func (p *pair) rotation(ctx context.Context, a *Alignment) (*mat.Dense, error) {
	k := p.k
	ab, aa, bb := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
	difference := 0.0
	err := p.common(ctx, func(x, y *mat.Dense) {
		for _, c := range []struct{ to, x, y *mat.Dense }{{ab, x, y}, {aa, x, x}, {bb, y, y}} {
			var of mat.Dense
			of.Mul(c.x.T(), c.y)
			c.to.Add(c.to, &of)
		}
		var off mat.Dense
		off.Sub(x, y)
		difference = math.Hypot(difference, mat.Norm(&off, 2))
		a.Common += int64(off.RawMatrix().Rows)
	})
	if err != nil {
		return nil, err
	}
	a.Fresh, a.Gone = p.fresh.names.Count()-a.Common, p.old.names.Count()-a.Common
	if a.Common < int64(k) {
		return nil, fmt.Errorf("%s and %s have %d ids in common, fewer than their %d components: is this the same catalogue?", a.New, a.Old, a.Common, k)
	}
	if norms := mat.Trace(aa) + mat.Trace(bb); norms-norms != 0 { // the norms bound all products; the decomposition of numbers that are not finite would not end
		return nil, fmt.Errorf("%s or %s has vectors of numbers so large that their products overflow: it is damaged, or not a result", a.New, a.Old)
	}
	if min(mat.Trace(aa), mat.Trace(bb)) < 0x1p-960 {
		return nil, fmt.Errorf("the vectors %s of %s or %s are 0, or so small that their products have no digits: no rotation follows from them; align U or V", a.What, a.New, a.Old)
	}
	_, left, right := jacobi.Decompose(ab.RawMatrix())
	var r mat.Dense
	r.Mul(mat.NewDense(p.k, p.k, left.Data).T(), mat.NewDense(p.k, p.k, right.Data))
	rest := 0.0 // ‖AR − B‖; computed as ‖A‖² + ‖B‖² − 2·Σs it would have half the digits
	err = p.common(ctx, func(x, y *mat.Dense) {
		var off mat.Dense
		off.Mul(x, &r)
		off.Sub(&off, y)
		rest = math.Hypot(rest, mat.Norm(&off, 2))
	})
	norm := math.Sqrt(mat.Trace(bb))
	a.Before, a.After = factor.Number(difference/norm), factor.Number(rest/norm)
	a.Angles = angles(aa, bb, ab)
	return &r, err
}

// angles returns the principal angles between the columns of A and B from AᵀA, BᵀB and AᵀB; nil if A or B has less than full rank.
func angles(aa, bb, ab *mat.Dense) []factor.Number {
	k, _ := aa.Dims()
	var x, y mat.Cholesky
	if !x.Factorize(mat.NewSymDense(k, aa.RawMatrix().Data)) || !y.Factorize(mat.NewSymDense(k, bb.RawMatrix().Data)) {
		return nil
	}
	var lx, ly mat.TriDense
	x.LTo(&lx)
	y.LTo(&ly)
	for i := range k { // relative length of the part of a column that is orthogonal to the columns before it
		if min(lx.At(i, i)/math.Sqrt(aa.At(i, i)), ly.At(i, i)/math.Sqrt(bb.At(i, i))) < 1e-6 {
			return nil
		}
	}
	if lx.InverseTri(&lx) != nil || ly.InverseTri(&ly) != nil {
		return nil
	}
	var c mat.Dense // cosines are the singular values of X⁻¹·AᵀB·Y⁻ᵀ
	c.Product(&lx, ab, ly.T())
	values, _ := jacobi.Right(c.RawMatrix())
	all := make([]factor.Number, k)
	for i, s := range values {
		all[i] = factor.Number(math.Acos(min(1, s)) * 180 / math.Pi)
	}
	return all
}

func (p *pair) turn(ctx context.Context, r *mat.Dense, out *folder.Folder, a *Alignment) (err error) {
	array, err := npy.Create(p.o.FS, out.Path(folder.Vectors), a.Rows, int64(p.k))
	if err != nil {
		return err
	}
	err = p.fresh.Each(ctx, func(first int64, part *mat.Dense) error {
		var x mat.Dense
		x.Mul(part, r)
		p.o.Progress(5*a.Rows+first, p.total)
		return array.WriteRows(first, &x)
	})
	if err != nil {
		return errors.Join(err, array.Discard())
	}
	sum, err := array.Finish()
	a.Files = append(a.Files, factor.File{Name: folder.Vectors, Size: sum.Size, CRC: sum.CRC, Pieces: sum.Pieces})
	p.o.Progress(p.total, p.total)
	return err
}
