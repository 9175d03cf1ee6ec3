// Package npy reads dense matrices in NumPy's .npy format.
package npy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/dense"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// Format is an array of two dimensions, as numpy.save writes it: booleans, integers, float16, float32 or float64, of either
// byte order, in C or Fortran order. Zeros are left out. Integers beyond 2⁵³ are rounded.
var Format = format.Format{Name: "npy",
	Sniff: func(h format.Head) bool { return bytes.HasPrefix(h.Bytes, []byte(npy.Magic)) },
	Open:  open,
}

func open(in *format.Input) (format.Reader, error) {
	fail := func(err error) (format.Reader, error) { return nil, &format.ParseError{File: in.Name, Err: err} }
	h, err := npy.ReadHeader(in)
	if errors.Is(err, npy.ErrFormat) {
		return fail(fmt.Errorf("%w: %s", format.ErrHeader, told(err)))
	}
	if err != nil {
		return nil, err
	}
	if strings.Contains(h.Descr, "O") {
		return fail(fmt.Errorf("an array of Python objects: %w; save a sparse matrix with scipy.sparse.save_npz", format.ErrUnsupported))
	}
	t, err := npy.TypeOf(h.Descr)
	if err != nil {
		return fail(fmt.Errorf("%w: %s", format.ErrUnsupported, told(err)))
	}
	if len(h.Shape) != 2 {
		return fail(fmt.Errorf("an array of %d dimensions: %w; a matrix has 2: numpy.save(file, x.reshape(rows, -1))", len(h.Shape), format.ErrUnsupported))
	}
	return dense.New(dense.Reader{In: in, Header: h.Size, Rows: h.Shape[0], Cols: h.Shape[1], ByColumn: h.Fortran, Type: t})
}

// told returns the text of an error of package npy without that of npy.ErrFormat.
func told(err error) string { return strings.TrimSuffix(err.Error(), ": "+npy.ErrFormat.Error()) }
