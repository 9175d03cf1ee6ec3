// Package codec encodes and decodes the parts of a block (csr/FORMAT.md): packed numbers,
// columns, codes of values and floats, and checksums.
//
// Decoders trust none of the bytes, which may also change while they are read: what they
// return without an error has been proved on the decoded copy. Errors are *Damage.
package codec

import (
	"encoding/binary"
	"fmt"
)

var le = binary.LittleEndian

// Damage is something wrong at a byte offset relative to the bytes that were given. A caller who
// knows the file makes a better error of it.
type Damage struct {
	At  int64
	Msg string
}

func (d *Damage) Error() string { return d.Msg }

func Damaged[T int | int64](at T, format string, args ...any) error {
	return &Damage{int64(at), fmt.Sprintf(format, args...)}
}

// Shift adds to the offset of a *Damage; other errors pass on.
func Shift[T int | int64](err error, at T) error {
	if d, ok := err.(*Damage); ok {
		d.At += int64(at)
	}
	return err
}
