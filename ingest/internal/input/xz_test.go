package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
)

// xzOf returns text as an xz stream of several blocks.
func xzOf(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := must.Get(xz.WriterConfig{DictCap: 1 << 12, BlockSize: 1 << 10}.NewWriter(&b))(t)
	must.Get(w.Write(text))(t)
	must.Do(t, w.Close())
	return b.Bytes()
}

// TestXZWindow: a dictionary larger than MaxWindow is refused in any block of any stream, with a budget that suffices.
func TestXZWindow(t *testing.T) {
	text := bytes.Repeat([]byte("1 2 3\n"), 700) // five blocks
	small := xzOf(t, text)
	const header, length, dict = 12, 12, 4
	large := func(at int) []byte {
		b := bytes.Clone(small)
		h := b[at : at+length]
		h[dict] = 28 // 64 MiB
		binary.LittleEndian.PutUint32(h[length-4:], crc32.ChecksumIEEE(h[:length-4]))
		return b
	}
	last := bytes.LastIndex(small, small[header:header+length])
	if last <= header {
		t.Fatal("one block only")
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"first block", large(header)},
		{"last block", large(last)},
		{"second stream", append(bytes.Clone(small), large(header)...)},
		{"second stream behind padding", bytes.Join([][]byte{small, make([]byte, 8), large(last)}, nil)},
	} {
		for window, refused := range map[uint64]bool{8 << 20: true, 64 << 20: false} {
			in, err := Opener{Stdin: bytes.NewReader(c.data), Bytes: new(atomic.Int64), MaxWindow: window}.Open(t.Context(), "-")
			var got []byte
			if err == nil {
				got, err = io.ReadAll(in)
				if closed := in.Close(); closed != nil {
					t.Fatal(closed)
				}
			}
			if refused != errors.Is(err, format.ErrUnsupported) || !refused && (err != nil || len(got) == 0 || len(got)%len(text) != 0) {
				t.Errorf("%s, window %d MiB: %d bytes, %v", c.name, window>>20, len(got), err)
			}
			if refused && (err == nil || !strings.Contains(err.Error(), "its dictionary takes 64 MiB, --memory 512MiB reads it")) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// FuzzXZ: compressed data are read back. Other bytes are read or refused in one line, and data that are read end
// with the footer of a stream, so that a truncated stream is refused.
func FuzzXZ(f *testing.F) {
	for _, name := range []string{"lines.xz", "window.xz"} {
		b := must.Get(os.ReadFile(filepath.Join("..", "..", "testdata", name)))(f)
		f.Add(b, uint16(len(b)/2))
	}
	one := xzOf(f, []byte("1::2::3\n"))
	f.Add(bytes.Join([][]byte{one, make([]byte, 8), one, make([]byte, 4)}, nil), uint16(len(one)))
	f.Add(append(bytes.Clone(one), "garbage"...), uint16(len(one)+3))
	f.Add(xzOf(f, bytes.Repeat([]byte("1 2 3\n"), 700)), uint16(90))
	f.Add(xzOf(f, nil), uint16(12))
	f.Add(append(xzOf(f, nil)[:12], 0x30), uint16(12)) // ends within the header of a block
	const most = 1 << 20                               // limit of the decompressed bytes
	read := func(t *testing.T, data []byte) ([]byte, error) {
		in, err := Opener{Stdin: bytes.NewReader(data), Bytes: new(atomic.Int64), MaxWindow: 8 << 20}.Open(t.Context(), "-")
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		_, err = io.CopyN(&b, in, most)
		if closed := in.Close(); closed != nil {
			t.Fatal(closed)
		}
		if err == io.EOF {
			err = nil
		}
		return b.Bytes(), err
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		if len(data) <= 1<<16 {
			if got, err := read(t, xzOf(t, data)); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%x is read as %x, %v", data, got, err)
			}
		}
		if !bytes.HasPrefix(data, []byte(xzMagic)) {
			t.Skip("another format")
		}
		whole, wholeErr := read(t, data)
		part, err := read(t, data[:max(len(xzMagic), min(int(cut), len(data)))])
		for _, err := range []error{wholeErr, err} {
			if pe := (*format.ParseError)(nil); err != nil && (!errors.As(err, &pe) || strings.Contains(err.Error(), "\n")) {
				t.Fatalf("%x: %v", data, err)
			}
		}
		if !bytes.HasPrefix(whole, part) {
			t.Fatalf("%x: cut to %d bytes it is another text", data, cut)
		}
		for _, c := range []struct {
			data, text []byte
			err        error
		}{{data, whole, wholeErr}, {data[:min(int(cut), len(data))], part, err}} {
			if c.err == nil && len(c.text) < most && !bytes.HasSuffix(bytes.TrimRight(c.data, "\x00"), []byte("YZ")) {
				t.Fatalf("%x: read without a footer", c.data)
			}
		}
	})
}
