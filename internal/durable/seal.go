package durable

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/gdsvd/gdsvd/internal/crc"
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
	if at < 0 {
		return 0, errors.New("cut short")
	}
	var want crc.Sum
	if err := want.UnmarshalText(text[at : at+len(zeros)]); err != nil {
		return int64(at), err
	}
	zeroed := bytes.Clone(text)
	copy(zeroed[at:], zeros)
	switch {
	case !bytes.HasSuffix(zeroed, []byte(tail)):
		return int64(at), errors.New("does not end with its crc")
	case crc.Sum(crc.Of(zeroed)) != want:
		return int64(at), crc.ErrMismatch
	}
	return 0, nil
}
