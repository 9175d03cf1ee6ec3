package csr

import "errors"

// SealJSON renders v as indented JSON that carries its own checksum. crc is the last
// field of v, named "crc" in JSON: it gets the CRC-32C of all bytes of the text with
// its eight digits replaced by 00000000.
func SealJSON(v any, crc *Checksum) ([]byte, error) { return sealJSON(v, crc) }

// CheckSeal verifies a text that SealJSON has rendered. The error says what is wrong,
// and offset where.
func CheckSeal(text []byte) (offset int64, err error) {
	err = checkSeal(text, "text")
	var d *damage
	if errors.As(err, &d) {
		offset = d.at
	}
	return offset, err
}
