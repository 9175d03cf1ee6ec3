// Package check verifies result directories and measures their triplets on the matrix again.
//
// [Result] reads every file of a directory that package factor, foldin or align has written, or that has singular values and
// vectors of another program in NumPy's format. It checks checksums, shapes, the order of ids, the statements of result.json
// about itself, and the checkpoint of an unfinished run, and finds numbers that are not finite. With Options.Store it measures,
// in one read if the memory suffices, the residuals ‖Av−σu‖/σ₁ and ‖Aᵀu−σv‖/σ₁ and max|VᵀV−I|, and compares them with the
// statements of the result or with Options.Tol.
//
// The [Report] lists what is wrong with a result; the error is for a check that could not be completed. [Report.Err] returns the
// error of a result that is damaged (csr.ErrCorrupt), differs from its statements, or has not converged (factor.ErrNotConverged).
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

// contents reads every file once. It verifies the checksums of result.json and finds entries that are not finite.
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

// scan reads an array to its end, even if entries are not finite, and returns its size and checksums.
func (c *checker) scan(ctx context.Context, m *npy.Matrix) (factor.File, error) {
	var sum crc.Summer
	err := m.Scan(ctx, func(chunk []byte) {
		_, _ = sum.Write(chunk)
		c.advance(len(chunk))
	})
	return factor.File{Size: m.Size(), CRC: sum.CRC, Pieces: sum.Pieces}, err
}

// sealed compares files with the sizes and checksums in the description. read holds those of the files that have been read.
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
			if err == nil && got.Size == part.Size { // a file of another size need not be read, and may be very large
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
			read[part.Name] = got // the file may be listed twice
		}
		if got.Size != part.Size {
			c.wrong(part.Name, "byte %d: it ends there, %s says %d", got.Size, description, part.Size)
		} else if from, to, is, said := differs(got, part); is != said {
			c.wrong(part.Name, "bytes %d to %d have the checksum %v, %s says %v", from, to, is, description, said)
		}
	}
	return nil
}

// differs returns the first range of bytes whose checksum differs from the stated one, and both checksums. The range is a piece
// if the pieces have checksums, else the whole file. The checksums are equal if nothing differs.
func differs(got, said factor.File) (from, to int64, is, was crc.Sum) {
	for i, sum := range said.Pieces {
		if i < len(got.Pieces) && got.Pieces[i] != sum {
			return int64(i) * crc.Piece, min(int64(i+1)*crc.Piece, got.Size), got.Pieces[i], sum
		}
	}
	return 0, got.Size, got.CRC, said.CRC
}

// folder verifies a projection or an alignment: its description, the listed files, and that numbers are finite.
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
	c.report.what = "%[1]s is sound: its files match " + kind.File + ", %[2]s read"
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

// vectors reads X, an array of rows × k finite numbers. The size is 0 if X cannot be read as an array.
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
