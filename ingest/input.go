package ingest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gdsvd/gdsvd/internal/vfs"
)

// stdinName is what errors and reports call the input "-".
const stdinName = "standard input"

// expand resolves globs; a name that exists is taken as it is.
func expand(fsys vfs.FS, inputs []string) ([]string, error) {
	var names []string
	for _, in := range inputs {
		if in == "-" {
			if slices.Contains(names, "-") {
				return nil, errors.New("read standard input: named twice")
			}
			names = append(names, in)
			continue
		}
		fi, err := fsys.Stat(in)
		if err == nil {
			if err := regular(in, fi); err != nil {
				return nil, err
			}
		}
		if i := strings.Index(in, "://"); err != nil && i > 1 {
			return nil, &fs.PathError{Op: "read", Path: in, Err: errors.New("this is a URL; fetch it first, e.g. curl -L URL | gdsvd ingest -")}
		}
		if err == nil || !strings.ContainsAny(in, "*?[") {
			if err != nil {
				return nil, fmt.Errorf("read input: %w", err)
			}
			names = append(names, in)
			continue
		}
		found, err := filepath.Glob(in)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", in, err)
		}
		if len(found) == 0 {
			return nil, &fs.PathError{Op: "read", Path: in, Err: fmt.Errorf("no file matches: %w", fs.ErrNotExist)}
		}
		names = append(names, found...) // Glob sorts
	}
	if len(names) == 0 {
		return nil, errors.New("read input: no input named")
	}
	return names, nil
}

// regular refuses what is no regular file, before it is opened: pipes and
// devices might block, or never end.
func regular(name string, fi fs.FileInfo) error {
	err := vfs.Regular(name, fi)
	switch {
	case err == nil:
		return nil
	case fi.IsDir():
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("is a directory; name the files in it")}
	}
	return notRegular(err)
}

func notRegular(err error) error {
	return fmt.Errorf("read input: %w; what a pipe or a device gives is read as - from standard input", err)
}

// An input is one open file or standard input, uncompressed.
type input struct {
	name    string
	r       *bufio.Reader
	direct  *offsetReader // below r
	raw     *countingReader
	buffer  *bufio.Reader // between raw and the decompressor, or r
	closers []func() error
	read    int64    // uncompressed bytes handed out by r's source
	file    vfs.File // nil: standard input
	plain   vfs.File // a file that is not compressed; else nil
}

func (in *input) Close() error {
	var err error
	for _, c := range slices.Backward(in.closers) {
		err = errors.Join(err, c())
	}
	return err
}

// ahead is how many bytes have been read from the file but not from r; if it
// is compressed, a few too many.
func (in *input) ahead() int { return in.buffer.Buffered() + in.r.Buffered() }

// Read reads past the buffer of r, once that is empty.
func (in *input) Read(p []byte) (int, error) {
	if in.r.Buffered() > 0 {
		return in.r.Read(p)
	}
	return in.direct.Read(p)
}

// skip goes n uncompressed bytes on. What is compressed is read for it.
func (in *input) skip(ctx context.Context, n int64) error {
	if in.plain == nil {
		for n > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			k, err := in.r.Discard(int(min(n, 1<<20)))
			if n -= int64(k); err != nil {
				return in.readError(0, err)
			}
		}
		return nil
	}
	to := in.read - int64(in.r.Buffered()) + n
	in.raw.r = io.NewSectionReader(in.plain, to, math.MaxInt64-to)
	in.raw.n.Add(to - in.read - int64(in.buffer.Buffered()))
	in.buffer.Reset(in.raw)
	in.direct = &offsetReader{r: in.buffer, in: in}
	in.r.Reset(in.direct)
	in.read = to
	return nil
}

// opener opens inputs and counts the bytes read from them as they lie on disk.
type opener struct {
	fs        vfs.FS
	stdin     io.Reader
	bytes     *atomic.Int64
	maxWindow uint64 // of zstd
}

// open opens a file, or "-", and undoes the compression its first bytes tell.
func (o opener) open(ctx context.Context, name string, buffer int) (*input, error) {
	in := &input{name: name}
	var raw io.Reader
	if name == "-" {
		if o.stdin == nil {
			return nil, errors.New("read standard input: none given")
		}
		in.name = stdinName
		raw = interruptible(ctx, in, o.stdin)
	} else {
		f, err := o.fs.Open(name)
		if errors.Is(err, vfs.ErrNotRegular) {
			return nil, notRegular(err)
		}
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
		in.closers = append(in.closers, f.Close)
		in.file, raw = f, f
	}
	in.raw = &countingReader{r: raw, n: o.bytes}
	if err := o.uncompress(in, buffer); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (o opener) uncompress(in *input, buffer int) error {
	br := bufio.NewReaderSize(in.raw, 1<<16)
	in.buffer = br
	head, err := br.Peek(magicHead)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", in.name, err)
	}
	var r io.Reader = br
	switch kind := kindOf(head); kind.name {
	case "":
		in.plain = in.file
	case "gzip":
		r = &memberReader{br: br, raw: in.raw}
	case "zstd":
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(o.maxWindow))
		if err != nil {
			return in.readError(0, err)
		}
		in.closers = append(in.closers, func() error { z.Close(); return nil })
		r = z
	default:
		return kind.refuse(in.name)
	}
	in.direct = &offsetReader{r: r, in: in}
	in.r = bufio.NewReaderSize(in.direct, buffer)
	return nil
}

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
var errTrailing = fmt.Errorf("%w", ErrCompression)

// readError tells damage of compressed data, which is the input's fault, from
// a read that failed: the latter has passed through the counting reader.
func (in *input) readError(line int64, err error) error {
	var what error
	switch {
	case in.raw.err != nil:
		return fmt.Errorf("read %s: %w", in.name, err)
	case errors.Is(err, errTrailing):
		what = err
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = fmt.Errorf("%w: the compressed data end early, after %d bytes uncompressed", ErrTruncated, in.read)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		what = fmt.Errorf("%w within this memory budget (%w)", ErrUnsupported, err)
	default:
		what = fmt.Errorf("%w after %d bytes uncompressed (%w)", ErrCompression, in.read, err)
	}
	return &ParseError{File: in.name, Line: line, Err: what}
}

// interruptible lets a blocked read of r be given up: only the copying
// goroutine stays behind, until its read returns.
func interruptible(ctx context.Context, in *input, r io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.Copy(pw, r)
		pw.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	in.closers = append(in.closers, func() error { stop(); return pr.Close() })
	return pr
}

// countingReader counts what is read and remembers a failure.
type countingReader struct {
	r   io.Reader
	n   *atomic.Int64 // of all inputs
	own int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	c.own += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// offsetReader counts the uncompressed bytes of an input. An error stays: the
// buffer above may have met it while only looking ahead.
type offsetReader struct {
	r   io.Reader
	in  *input
	err error
}

func (o *offsetReader) Read(p []byte) (n int, err error) {
	if o.err != nil {
		return 0, o.err
	}
	n, o.err = o.r.Read(p)
	o.in.read += int64(n)
	return n, o.err
}
