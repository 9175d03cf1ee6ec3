package input

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// memberReader reads all members of a gzip file. It starts each member itself, because gzip.Reader takes a file that ends
// within the name in a later member's header for a complete file.
type memberReader struct {
	br  *bufio.Reader
	raw *countingReader // the source of br
	z   *gzip.Reader    // nil before the first member
	// between is true between two members, where the file may end.
	between bool
}

func (m *memberReader) Read(p []byte) (int, error) {
	for {
		if m.z == nil || m.between {
			if err := m.start(); err != nil {
				return 0, err
			}
		}
		n, err := m.z.Read(p)
		if err == io.EOF {
			m.between, err = true, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// start reads the header of the next member. It returns io.EOF if the file ends, or if only zeros follow, which gzip(1)
// ignores, too.
func (m *memberReader) start() (err error) {
	if m.between {
		head, err := m.br.Peek(2)
		if len(head) == 0 {
			return err
		}
		if head[0] != 0x1f || len(head) > 1 && head[1] != 0x8b {
			return m.padding()
		}
	}
	if m.z == nil {
		m.z, err = gzip.NewReader(m.br)
	} else {
		err = m.z.Reset(m.br)
	}
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	if err == nil {
		m.z.Multistream(false)
		m.between = false
	}
	return err
}

// padding returns io.EOF if only zeros follow.
func (m *memberReader) padding() error {
	for {
		switch c, err := m.br.ReadByte(); {
		case err != nil:
			return err
		case c != 0:
			return fmt.Errorf("%w: trailing garbage behind the gzip stream, at byte %d of the file", errTrailing, m.raw.own-int64(m.br.Buffered()))
		}
	}
}

// errTrailing wraps ErrCompression; told returns such an error as it is.
var errTrailing = fmt.Errorf("%w", format.ErrCompression)

// xzMagic is the beginning of an xz stream (The .xz File Format 1.2.1, https://tukaani.org/xz/xz-file-format.txt).
const xzMagic = "\xfd7zXZ\x00"

// newXZ reads the header of the first stream. It and later reads refuse blocks whose dictionary exceeds the window.
func newXZ(br *bufio.Reader, window uint64) (io.Reader, error) {
	g := &blockGuard{br, window}
	z, err := xz.ReaderConfig{DictCap: lzma.MinDictCap}.NewReader(g) // the minimum: the blocks declare what they need
	if err == nil {
		err = g.check()
	}
	return z, err
}

// A blockGuard is the source of an xz.Reader, which begins the header of a block, or the index in its place, by reading one
// byte: there the guard refuses a dictionary larger than the window, before memory is allocated for it. xz.Reader also takes
// the end of the file within a stream for the end of the stream. The file may only end where xz.Reader looks for the next
// stream or for padding, by reading streamBytes; elsewhere the guard returns io.ErrUnexpectedEOF.
type blockGuard struct {
	br     *bufio.Reader
	window uint64
}

const streamBytes = 4

func (g *blockGuard) Read(p []byte) (int, error) {
	if len(p) == 1 {
		if err := g.check(); err != nil {
			return 0, err
		}
	}
	n, err := io.ReadFull(g.br, p)
	if err == io.EOF && len(p) != streamBytes {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (g *blockGuard) check() error {
	if dict := xzDictionary(g.br); dict > g.window {
		return fmt.Errorf("%w: its dictionary takes %d MiB, --memory %dMiB reads it", errWindow, dict>>20, dict>>17)
	}
	return nil
}

// xzDictionary returns the bytes of the dictionary in the header of a block, if the next bytes are one with a valid checksum;
// otherwise 0.
func xzDictionary(br *bufio.Reader) uint64 {
	const sizes, lzma2, sum = 0xc0, 0x21, 4
	head, _ := br.Peek(2)
	if len(head) < 2 || head[0] == 0 || head[1]&^sizes != 0 { // more than one filter is not supported
		return 0
	}
	length := (int(head[0]) + 1) * 4
	head, _ = br.Peek(length)
	if len(head) < length {
		return 0
	}
	head, check := head[:length-sum], head[length-sum:]
	if crc32.ChecksumIEEE(head) != binary.LittleEndian.Uint32(check) {
		return 0
	}
	rest := head[2:]
	for flags := head[1]; flags != 0; flags <<= 1 {
		if flags&0x80 != 0 { // the compressed or uncompressed size
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

// errWindow refuses data that need more memory than the budget has.
var errWindow = fmt.Errorf("%w within this memory budget", format.ErrUnsupported)
