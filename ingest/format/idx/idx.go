// Package idx reads the binary array format of the MNIST files.
package idx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/dense"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// Format is IDX: the first dimension is the rows, the other dimensions are flattened to columns, and zeros are left out.
var Format = format.Format{Name: "idx", Sniff: func(h format.Head) bool { return hasMagic(h.Bytes) }, Open: open}

// types are the element types by type code. A file has two zero bytes, the type code, the number of dimensions, each dimension
// as a big-endian uint32, then the elements, big-endian and in row-major order (Y. LeCun, C. Cortes, C. Burges, "The MNIST
// database").
var types = map[byte]npy.Type{
	0x08: {Kind: 'u', Size: 1, Big: true},
	0x09: {Kind: 'i', Size: 1, Big: true},
	0x0b: {Kind: 'i', Size: 2, Big: true},
	0x0c: {Kind: 'i', Size: 4, Big: true},
	0x0d: {Kind: 'f', Size: 4, Big: true},
	0x0e: {Kind: 'f', Size: 8, Big: true},
}

func hasMagic(head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && types[head[2]].Size > 0 && head[3] > 0
}

func open(in *format.Input) (format.Reader, error) {
	fail := func(err error) (format.Reader, error) { return nil, &format.ParseError{File: in.Name, Err: err} }
	var magic [4]byte
	if err := readHeader(in, magic[:]); err != nil {
		return nil, err
	}
	if !hasMagic(magic[:]) {
		return fail(fmt.Errorf("%w: %x is no IDX magic number", format.ErrHeader, magic))
	}
	dims := make([]byte, 4*int(magic[3]))
	if err := readHeader(in, dims); err != nil {
		return nil, err
	}
	rows, cols := int64(binary.BigEndian.Uint32(dims)), int64(1)
	for d := dims[4:]; len(d) > 0; d = d[4:] {
		hi, lo := bits.Mul64(uint64(cols), uint64(binary.BigEndian.Uint32(d)))
		if hi != 0 || lo >= 1<<40 {
			return fail(fmt.Errorf("%w: dimensions too large", format.ErrHeader))
		}
		cols = int64(lo)
	}
	return dense.New(dense.Reader{In: in, Header: int64(len(magic) + len(dims)), Rows: rows, Cols: cols, Type: types[magic[2]]})
}

func readHeader(in *format.Input, b []byte) error {
	_, err := io.ReadFull(in, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &format.ParseError{File: in.Name, Err: fmt.Errorf("%w: the data end within the header", format.ErrTruncated)}
	}
	return err
}
