// Command export writes a store as plain arrays that other programs read:
// shape.json, and little-endian indptr.i32, indices.i32 and data.f64, the
// compressed sparse rows of the matrix as stored.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: export STORE DIRECTORY")
		os.Exit(2)
	}
	if err := export(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

func export(path, dir string) (err error) {
	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.NNZ() > math.MaxInt32 || s.Cols() > math.MaxInt32 {
		return fmt.Errorf("%s: %d entries, %d columns: the other programs count with 32 bits", path, s.NNZ(), s.Cols())
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	shape, err := json.Marshal(map[string]any{
		"rows": s.Rows(), "cols": s.Cols(), "nnz": s.NNZ(), "fingerprint": s.Fingerprint(), "transposed": s.Transposed(),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "shape.json"), shape, 0o666); err != nil {
		return err
	}
	return arrays(s, dir)
}

func arrays(s *csr.Store, dir string) (err error) {
	var files [3]*os.File
	var out [3]*bufio.Writer
	for i, name := range []string{"indptr.i32", "indices.i32", "data.f64"} {
		if files[i], err = os.Create(filepath.Join(dir, name)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, files[i].Close()) }()
		out[i] = bufio.NewWriter(files[i])
	}
	base := int32(0)
	if err := put(out[0], base); err != nil {
		return err
	}
	var b csr.Block
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, &b); err != nil {
			return err
		}
		ends := make([]int32, b.Rows())
		for r := range ends {
			ends[r] = base + int32(b.RowPtr[r+1])
		}
		base += int32(b.NNZ())
		var cols []uint32
		var vals []float64
		for c, v := range b.Entries() {
			cols, vals = append(cols, c), append(vals, v)
		}
		if err := errors.Join(put(out[0], ends), put(out[1], cols), put(out[2], vals)); err != nil {
			return err
		}
	}
	return errors.Join(out[0].Flush(), out[1].Flush(), out[2].Flush())
}

func put(w io.Writer, data any) error { return binary.Write(w, binary.LittleEndian, data) }
