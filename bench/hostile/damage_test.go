package hostile

import (
	"bytes"
	"fmt"
	"os"
)

// damage changes a file to another content or removes it, and returns what it did.
func (t *Trial) damage(name string) (how string, gone bool, err error) {
	was, err := os.ReadFile(name)
	if err != nil {
		return "", false, err
	}
	for {
		b := bytes.Clone(was)
		at := 0
		if len(b) > 0 {
			at = t.IntN(len(b))
		}
		what := t.IntN(20)
		switch {
		case len(b) == 0 || what == 0:
			b = append(b, []byte("\x00{}x")[:1+t.IntN(4)]...)
			how = "appended"
		case what < 11:
			bit := t.IntN(8)
			b[at] ^= 1 << bit
			how = fmt.Sprintf("bit %d of byte %d", bit, at)
		case what < 14:
			b[at] = byte(t.IntN(256))
			how = fmt.Sprintf("byte %d", at)
		case what < 16: // a sector that was not written
			n := min(len(b)-at, 1+t.IntN(4096))
			clear(b[at : at+n])
			how = fmt.Sprintf("zeros in bytes %d … %d", at, at+n-1)
		case what < 17:
			n, from := min(len(b)-at, 1+t.IntN(512)), t.IntN(len(b))
			n = min(n, len(b)-from)
			copy(b[at:at+n], was[from:from+n])
			how = fmt.Sprintf("bytes %d … are those of %d …", at, from)
		case what < 19:
			b = b[:at]
			how = fmt.Sprintf("cut to %d bytes", at)
		default:
			return "removed", true, os.Remove(name)
		}
		if !bytes.Equal(b, was) {
			return how, false, os.WriteFile(name, b, 0o666)
		}
	}
}
