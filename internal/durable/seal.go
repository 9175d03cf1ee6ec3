package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/vfs"
)

// A sealed text ends with its checksum: these bytes, with the digits of the checksum, that of the
// text with zeros for digits.
const (
	tail   = "\"" + zeros + "\"\n}\n"
	zeros  = "00000000"
	digits = len(tail) - 1 // from the first digit to the end
)

// Seal renders v as indented JSON that carries its own checksum. sum is the last
// field of v: it gets the CRC-32C of the text with its eight digits replaced by 00000000.
func Seal(v any, sum *crc.Sum) ([]byte, error) {
	*sum = 0
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	*sum = crc.Sum(crc.Of(text))
	copy(text[len(text)-digits:], sum.String())
	return text, nil
}

// CheckSeal verifies a text that Seal has rendered. The error says what is wrong, and offset where.
func CheckSeal(text []byte) (offset int64, err error) {
	at := len(text) - digits
	if at < 1 {
		return 0, errors.New("cut short")
	}
	var want crc.Sum
	if err := want.UnmarshalText(text[at : at+len(zeros)]); err != nil {
		return int64(at), err
	}
	zeroed := crc.Update(crc.Update(crc.Of(text[:at]), []byte(zeros)), text[at+len(zeros):])
	switch {
	case string(text[at-1:at])+zeros+string(text[at+len(zeros):]) != tail:
		return int64(at), errors.New("does not end with its crc")
	case crc.Sum(zeroed) != want:
		return int64(at), crc.ErrMismatch
	}
	return 0, Sparse(text)
}

// Sparse is an error about a text of JSON in which more values stand than in an indented one of its size, such as Seal
// renders: "{},{},…" takes 25 times its size of memory when it is decoded.
func Sparse(text []byte) error {
	values, nested, inside := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == ',':
			values++
		case c == '{' || c == '[':
			nested++
		}
	}
	const few = 1000
	if values > few+len(text)/6 || nested > few+len(text)/24 {
		return fmt.Errorf("%d values, %d of them objects or arrays, are too many for %d bytes", values, nested, len(text))
	}
	return nil
}

// SealedLine is the format of the last line of a file of lines: the CRC-32C of all before it.
const SealedLine = "{\"crc\":\"%v\"}\n"

// ErrLines is wrapped by the error about a file whose last line does not say what it is.
var ErrLines = errors.New("damaged lines")

// CheckLines verifies a file of lines and returns the bytes before its last line. visit is called with what has been read.
func CheckLines(f vfs.File, visit func(chunk []byte) error) (int64, error) {
	damaged := func(format string, args ...any) (int64, error) {
		return 0, fmt.Errorf("%w: %s", ErrLines, fmt.Sprintf(format, args...))
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	last := make([]byte, len(fmt.Sprintf(SealedLine, crc.Sum(0))))
	size := info.Size() - int64(len(last))
	if size < 0 {
		return damaged("byte %d: it ends there, without its checksum", info.Size())
	}
	if _, err := f.ReadAt(last, size); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if !strings.HasPrefix(string(last), "{\"crc\":") { // what is something else altogether may be of any size
		return damaged("bytes %d to %d, the last line, are %.40q, not a checksum", size, info.Size(), last)
	}
	sum, err := crc.Read(io.NewSectionReader(f, 0, size), visit)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if string(last) != fmt.Sprintf(SealedLine, sum) {
		return damaged("bytes 0 to %d have the checksum %v, which the last line, %.40q, does not say", size, sum, last)
	}
	return size, nil
}
