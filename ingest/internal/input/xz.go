package input

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// xzMagic begins an xz stream (The .xz File Format 1.2.1, https://tukaani.org/xz/xz-file-format.txt).
const xzMagic = "\xfd7zXZ\x00"

// An xzReader reads all streams of an xz file. Of a file that was cut between two blocks
// xz.Reader takes the first ones for all: the footer at the end tells.
type xzReader struct {
	z    *xz.Reader
	tail *tailReader
}

// newXZ reads the header. A dictionary larger than the window is refused, as the first block tells it.
func newXZ(br *bufio.Reader, window uint64) (io.Reader, error) {
	head, _ := br.Peek(xzHead)
	if dict := xzDictionary(head); dict > window {
		return nil, fmt.Errorf("%w: its dictionary takes %d MiB, --memory %dMiB reads it", errWindow, dict>>20, dict>>17)
	}
	t := &tailReader{r: br}
	z, err := xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(t) // as much as the blocks tell
	return &xzReader{z, t}, err
}

func (x *xzReader) Read(p []byte) (int, error) {
	n, err := x.z.Read(p)
	if err == io.EOF && !isXZFooter(x.tail.last) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// xzHead is more than the headers of stream and block take up to the size of the dictionary.
const xzHead = 64

// xzDictionary is the bytes of the dictionary of the first block; 0 if they are not told.
func xzDictionary(head []byte) uint64 {
	const block, sizes, lzma2 = 12, 0xc0, 0x21
	if len(head) < block+2 || head[block] == 0 { // there is no block
		return 0
	}
	rest := head[block+2:]
	for flags := head[block+1] & sizes; flags != 0; flags <<= 1 {
		if flags&0x80 != 0 { // the compressed or the uncompressed size
			_, n := binary.Uvarint(rest)
			rest = rest[max(0, n):]
		}
	}
	if len(rest) < 3 || rest[0] != lzma2 {
		return 0
	}
	n, err := lzma.DecodeDictCap(rest[2])
	if err != nil {
		return 0
	}
	return uint64(n)
}

// footerBytes is the length of the footer of a stream.
const footerBytes = 12

// isXZFooter tells whether b is a footer: a CRC-32 of the six bytes behind it, and "YZ".
func isXZFooter(b []byte) bool {
	return len(b) == footerBytes && string(b[10:]) == "YZ" && crc32.ChecksumIEEE(b[4:10]) == binary.LittleEndian.Uint32(b)
}

// A tailReader keeps the last bytes read, zeros at the end aside: they are padding.
type tailReader struct {
	r     io.Reader
	last  []byte
	zeros int // behind last
}

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	end := n
	for end > 0 && p[end-1] == 0 {
		end--
	}
	if end == 0 {
		t.zeros += n
		return n, err
	}
	if end < footerBytes {
		t.last = append(t.last, make([]byte, min(t.zeros, footerBytes))...)
	}
	t.last = append(t.last, p[max(0, end-footerBytes):end]...)
	t.last = slices.Delete(t.last, 0, max(0, len(t.last)-footerBytes))
	t.zeros = n - end
	return n, err
}

// errWindow refuses what needs more memory than there is.
var errWindow = fmt.Errorf("%w within this memory budget", format.ErrUnsupported)
