package npz

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/npy"
)

type archive struct {
	name  string // of the input
	z     *zip.Reader
	under *failingReaderAt
}

// failingReaderAt remembers an error of reading the input, to tell it from damaged contents.
type failingReaderAt struct {
	io.ReaderAt
	err  error
	left int64 // bytes that may still be read of the list of members; −1: the list is complete
}

// mostListed is the largest size of the list of members in bytes: in memory each member takes several times its size there.
const mostListed = 1 << 20

var errListed = fmt.Errorf("an archive whose list of members takes more than %d bytes: %w; scipy.sparse.save_npz writes six members", mostListed, format.ErrUnsupported)

func (f *failingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 { // offset from a damaged list of members
		return 0, zip.ErrFormat
	}
	if f.left >= 0 {
		f.left -= int64(len(p))
		if f.left < 0 {
			f.left = 0
			return 0, errListed
		}
	}
	n, err := f.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

func openArchive(in *format.Input) (*archive, error) {
	a := &archive{name: in.Name, under: &failingReaderAt{ReaderAt: in.At, left: mostListed}}
	var err error
	if a.z, err = zip.NewReader(a.under, in.Size); err != nil {
		if a.under.err != nil {
			return nil, a.under.err
		}
		if errors.Is(err, errListed) {
			return nil, a.fail("", 0, errListed)
		}
		return nil, a.fail("", 0, fmt.Errorf("%w: the end of the archive, where its members are listed, is missing or damaged (%v)", format.ErrTruncated, err)) // %v: a wrapped io.EOF would mean the end of the input
	}
	a.under.left = -1
	a.z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	return a, nil
}

func (a *archive) fail(part string, at int64, err error) error {
	return &format.ParseError{File: a.name, Part: part, Byte: at, Err: err}
}

// listed returns the names of the arrays for a message, as many as fit in a line.
func (a *archive) listed() string {
	const most = 10
	names := a.names()
	for i, name := range names {
		names[i] = text.Shorten([]byte(name))
	}
	if n := len(names) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n)
	}
	return strings.Join(names, ", ")
}

func (a *archive) names() []string {
	var names []string
	for _, f := range a.z.File {
		names = append(names, strings.TrimSuffix(f.Name, suffix))
	}
	slices.Sort(names)
	return names
}

const suffix = ".npy"

type member struct {
	*archive
	name string
	r    io.Reader
	head *npy.Header
	kind npy.Type
	at   int64 // bytes read
}

func (a *archive) open(name string) (*member, error) {
	m := &member{archive: a, name: name + suffix}
	i := slices.IndexFunc(a.z.File, func(f *zip.File) bool { return f.Name == m.name })
	if i < 0 {
		return nil, a.fail(m.name, 0, fmt.Errorf("%w: there is no such array; there are %s", format.ErrHeader, a.listed()))
	}
	f := a.z.File[i]
	if f.Flags&1 != 0 {
		return nil, a.fail(m.name, 0, fmt.Errorf("encrypted: %w", format.ErrUnsupported))
	}
	var err error
	if m.r, err = f.Open(); err != nil {
		return nil, m.told(err)
	}
	// An error other than that of a header would recur when reading, so that told reports it.
	if m.head, err = npy.ReadHeader(m.r); err != nil && !errors.Is(err, npy.ErrFormat) {
		return nil, m.told(err)
	}
	if err != nil {
		return nil, m.wrong(0, format.ErrHeader, err)
	}
	m.at = m.head.Size
	return m, nil
}

func (m *member) wrong(at int64, kind, err error) error {
	return m.fail(m.name, at, fmt.Errorf("%w: %s", kind, strings.TrimSuffix(err.Error(), ": "+npy.ErrFormat.Error())))
}

// told returns the error for a read that failed: that of the input if there is one, else one about damaged contents.
func (m *member) told(err error) error {
	switch {
	case m.under.err != nil:
		return m.under.err
	case errors.Is(err, zip.ErrAlgorithm):
		err = fmt.Errorf("its compression: %w; numpy stores and deflates", format.ErrUnsupported)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: the array ends early", format.ErrTruncated)
	default:
		err = fmt.Errorf("%w (%w)", format.ErrCompression, err)
	}
	return m.fail(m.name, m.at, err)
}

// vector opens an array of one dimension, of numbers; integers: any other type is an error.
func (a *archive) vector(name string, integers bool) (*member, error) {
	m, err := a.open(name)
	if err != nil {
		return nil, err
	}
	if len(m.head.Shape) != 1 {
		return nil, m.fail(m.name, 0, fmt.Errorf("%w: %d dimensions instead of 1", format.ErrHeader, len(m.head.Shape)))
	}
	return m, m.typed(integers)
}

func (m *member) typed(integers bool) (err error) {
	if m.kind, err = npy.TypeOf(m.head.Descr); err != nil {
		return m.wrong(0, format.ErrUnsupported, err)
	}
	if integers && !m.kind.Integer() {
		return m.fail(m.name, 0, fmt.Errorf("%w: elements %.20q instead of integers", format.ErrHeader, m.head.Descr))
	}
	if m.head.Elements() < 0 {
		return m.fail(m.name, 0, fmt.Errorf("%w: shape too large", format.ErrHeader))
	}
	return nil
}

func (m *member) len() int64 { return m.head.Elements() }

func (m *member) read(b []byte) error {
	n, err := io.ReadFull(m.r, b)
	m.at += int64(n)
	if err != nil {
		return m.told(err)
	}
	return nil
}

func (m *member) skip(n int64) error {
	k, err := io.CopyN(io.Discard, m.r, n)
	m.at += k
	if err != nil {
		return m.told(err)
	}
	return nil
}

// end reads to the end of the array, which verifies the checksum, and returns an error if data follow.
func (m *member) end() error {
	n, err := io.CopyN(io.Discard, m.r, 1)
	if n > 0 {
		return m.fail(m.name, m.at, fmt.Errorf("%w: more data than the header declares", format.ErrCount))
	}
	if err != io.EOF {
		return m.told(err)
	}
	return nil
}

func (m *member) ints(most int64) ([]int64, error) {
	n := m.len()
	if n > most {
		return nil, m.fail(m.name, 0, fmt.Errorf("%w: %d elements", format.ErrHeader, n))
	}
	b, v := make([]byte, n*int64(m.kind.Size)), make([]int64, n)
	if err := m.read(b); err != nil {
		return nil, err
	}
	m.kind.Ints(v, b)
	return v, m.end()
}

func (m *member) text() (string, error) {
	width := map[string]int{"|S": 1, "<U": 4, ">U": 4}[m.head.Descr[:min(2, len(m.head.Descr))]]
	n := 0
	if _, err := fmt.Sscanf(m.head.Descr[min(2, len(m.head.Descr)):], "%d", &n); err != nil || width == 0 || n < 0 || n > 16 || m.head.Elements() != 1 {
		return "", m.fail(m.name, 0, fmt.Errorf("%w: %.20q instead of a short text", format.ErrHeader, m.head.Descr))
	}
	b := make([]byte, n*width)
	if err := m.read(b); err != nil {
		return "", err
	}
	return strings.ReplaceAll(string(b), "\x00", ""), m.end()
}
