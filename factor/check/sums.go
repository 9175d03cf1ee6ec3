package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// contents reads every file once: checksums where result.json has them, and entries that are not finite.
func (c *checker) contents(ctx context.Context) error {
	sums := map[string]factor.File{}
	for _, m := range []*npy.Matrix{c.arrays.sigma, c.arrays.u, c.arrays.v} {
		if m == nil {
			continue
		}
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
