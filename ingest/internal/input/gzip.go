package input

import (
	"bufio"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// memberReader reads all members of a gzip file. It starts each one itself,
// because gzip.Reader takes a file cut within the name in a later member's
// header for a complete one.
type memberReader struct {
	br  *bufio.Reader
	raw *countingReader // below br
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

// start reads the next member's header; it is io.EOF if there is none but for
// padding with zeros, which gzip(1) leaves out, too.
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

// padding is io.EOF if only zeros follow.
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

// errTrailing is ErrCompression, told in its own words.
var errTrailing = fmt.Errorf("%w", format.ErrCompression)
