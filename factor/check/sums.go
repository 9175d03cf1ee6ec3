// Package check verifies result directories and measures their triplets on the matrix again.
//
// [Result] reads every file of a directory that package factor, foldin or align has written, or of singular values and
// vectors in NumPy's format that another program has: checksums, shapes, numbers that are not finite, ids in order, what
// result.json states of itself, and the checkpoint of an unfinished run. With Options.Store it measures, in one read where
// the memory allows it, the residuals ‖Av−σu‖/σ₁ and ‖Aᵀu−σv‖/σ₁ and max|VᵀV−I|, and compares them with what the result
// states or with Options.Tol.
//
// What is wrong with a result is in the [Report]; the error is for what kept it from being checked. [Report.Err] is the error
// of a result that is damaged (csr.ErrCorrupt), not what it states, or not converged (factor.ErrNotConverged).
package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// contents reads every file once: checksums where result.json has them, and entries that are not finite.
func (c *checker) contents(ctx context.Context) error {
	sums := map[string]factor.File{}
	for _, m := range c.arrays.all() {
		f, err := c.scan(ctx, m)
		if err != nil {
			if err := c.problem(fmt.Errorf("%s: %w", m.Name(), err)); err != nil {
				return err
			}
		}
		sums[filepath.Base(m.Name())] = f
	}
	if !c.report.Sealed {
		return nil
	}
	return c.sealed(ctx, factor.ResultFile, c.stated.Files, sums)
}

// scan reads an array to its end, whatever is wrong with its entries.
func (c *checker) scan(ctx context.Context, m *npy.Matrix) (factor.File, error) {
	var sum crc.Summer
	err := m.Scan(ctx, func(chunk []byte) {
		_, _ = sum.Write(chunk)
		c.advance(len(chunk))
	})
	return factor.File{Size: m.Size(), CRC: sum.CRC, Pieces: sum.Pieces}, err
}

// sealed compares files with what the description says of them. Of those that have been read, read has what was found.
func (c *checker) sealed(ctx context.Context, description string, files []factor.File, read map[string]factor.File) error {
	for _, part := range files {
		got, ok := read[part.Name]
		switch {
		case !c.has(part.Name):
			c.wrong(part.Name, "the file is missing")
			continue
		case !ok: // events, or an array that cannot be read
			f, err := c.FS.Open(filepath.Join(c.dir, part.Name))
			if err != nil {
				return err
			}
			info, err := f.Stat()
			if err == nil {
				got.Size = info.Size()
			}
			if err == nil && got.Size == part.Size { // what has another size need not be read, and may be of any
				var sum crc.Summer
				_, err = crc.Read(f, func(chunk []byte) error {
					_, _ = sum.Write(chunk)
					c.advance(len(chunk))
					return ctx.Err()
				})
				got.CRC, got.Pieces = sum.CRC, sum.Pieces
			}
			if err = errors.Join(err, f.Close()); err != nil {
				return err
			}
			read[part.Name] = got // it may be listed again
		}
		if got.Size != part.Size {
			c.wrong(part.Name, "byte %d: it ends there, %s says %d", got.Size, description, part.Size)
		} else if from, to, is, said := differs(got, part); is != said {
			c.wrong(part.Name, "bytes %d to %d have the checksum %v, %s says %v", from, to, is, description, said)
		}
	}
	return nil
}

// differs finds the first bytes of a file whose checksum is not what was said: those of a piece if its pieces have some,
// else all.
func differs(got, said factor.File) (from, to int64, is, was crc.Sum) {
	for i, sum := range said.Pieces {
		if i < len(got.Pieces) && got.Pieces[i] != sum {
			return int64(i) * crc.Piece, min(int64(i+1)*crc.Piece, got.Size), got.Pieces[i], sum
		}
	}
	return 0, got.Size, got.CRC, said.CRC
}

// folder verifies a projection or an alignment: its description, the files that this lists, and that numbers are finite.
func (c *checker) folder(ctx context.Context, kind folder.Kind) error {
	if c.Store != "" {
		return fmt.Errorf("%s is %s, which is not measured on a store: check it alone", c.dir, kind.What)
	}
	var stated struct {
		Rows  int64         `json:"rows"`
		K     int64         `json:"k"`
		Files []factor.File `json:"files"`
		CRC   crc.Sum       `json:"crc"`
	}
	if err := kind.Read(c.FS, c.dir, &stated); err != nil {
		if system := (*fs.PathError)(nil); errors.As(err, &system) {
			return err
		}
		c.report.Problems = append(c.report.Problems, err)
		return nil
	}
	c.report.Sealed = true
	c.report.what = "%[1]s is sound: its files are as " + kind.File + " says, %[2]s read"
	for _, f := range stated.Files {
		c.total += f.Size
	}
	if !slices.ContainsFunc(stated.Files, func(f factor.File) bool { return f.Name == folder.Vectors }) {
		c.wrong(kind.File, "files: %s is not listed", folder.Vectors)
	}
	read := map[string]factor.File{}
	if c.has(folder.Vectors) {
		f, err := c.vectors(ctx, kind, stated.Rows, stated.K)
		if err != nil {
			return err
		}
		if f.Size > 0 {
			read[folder.Vectors] = f
		}
	}
	if err := c.sealed(ctx, kind.File, stated.Files, read); err != nil || len(c.report.Problems) == 0 {
		return err
	}
	return folder.OrReplaced(c.FS, c.dir, stated.CRC, nil)
}

// vectors reads X, of rows × k finite numbers. What cannot be read as an array has the size 0.
func (c *checker) vectors(ctx context.Context, kind folder.Kind, rows, k int64) (f factor.File, err error) {
	m, err := npy.Open(c.FS, filepath.Join(c.dir, folder.Vectors))
	if err != nil {
		return f, c.problem(err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if m.Rows != rows || m.Cols != k {
		c.wrong(folder.Vectors, "shape: %s, %s says %d × %d", m.Shape(), kind.File, rows, k)
	}
	sums, err := c.scan(ctx, m)
	if err != nil {
		return f, c.problem(fmt.Errorf("%s: %w", m.Name(), err))
	}
	return sums, nil
}
