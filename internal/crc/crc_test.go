package crc

import "testing"

// The check value of CRC-32C: that of the digits 1 to 9 (RFC 3720, appendix B.4, has others).
func TestCheckValue(t *testing.T) {
	const want = 0xe3069283
	text := []byte("123456789")
	if got := Of(text); got != want {
		t.Errorf("Of = %#x, want %#x", got, want)
	}
	if got := Update(Update(0, text[:4]), text[4:]); got != want {
		t.Errorf("Update in two parts = %#x, want %#x", got, want)
	}
	h := New()
	h.Write(text)
	if got := h.Sum32(); got != want {
		t.Errorf("New = %#x, want %#x", got, want)
	}
}
