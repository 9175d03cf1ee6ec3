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
	"github.com/gdsvd/gdsvd/internal/npy"
)

// folder verifies a projection or an alignment: its description, the files that this lists, and that numbers are finite.
func (c *checker) folder(ctx context.Context, kind folder.Kind) error {
	if c.Store != "" {
		return fmt.Errorf("%s is %s, which is not measured on a store: check it alone", c.dir, kind.What)
	}
	var stated struct {
		Rows  int64         `json:"rows"`
		K     int64         `json:"k"`
		Files []factor.File `json:"files"`
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
	return c.sealed(ctx, kind.File, stated.Files, read)
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
