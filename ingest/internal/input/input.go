// Package input opens the inputs of ingest: it expands names, uncompresses, counts bytes and identifies files that have
// changed.
package input

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
)

// regular refuses a name that is no regular file, before it is opened: pipes and devices might block, or never end.
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
	return fmt.Errorf("read input: %w; read a pipe or a device as - from standard input", err)
}

// A File is an open file or standard input, uncompressed. It is a format.Stream.
type File struct {
	Name string
	// Compression is "gzip", "bzip2", "xz" or "zstd", by the first bytes; "": none.
	Compression string

	r       *bufio.Reader
	direct  *offsetReader // source of r
	raw     *countingReader
	buffer  *bufio.Reader // between raw and the decompressor; without compression, between raw and direct
	closers []func() error
	read    int64  // uncompressed bytes that direct has returned
	file    random // random access; nil: none
	plain   random // file, if it is not compressed; else nil
	ctx     context.Context
}

func (f *File) Close() error {
	var err error
	for _, c := range slices.Backward(f.closers) {
		err = errors.Join(err, c())
	}
	return err
}

// Ahead returns how many bytes of the file on disk have been read, but not by a format; approximate if the file is compressed.
func (f *File) Ahead() int64 {
	raw, ahead := int64(f.buffer.Buffered()), int64(f.r.Buffered())
	if f.Compression != "" && f.read > 0 {
		ahead = int64(float64(ahead) * float64(f.raw.own-raw) / float64(f.read))
	}
	return raw + ahead
}

func (f *File) Uncompressed() int64 { return f.read - int64(f.r.Buffered()) }

// At returns random access to a file that is not compressed, and its size; nil: no random access.
func (f *File) At() (io.ReaderAt, int64, error) {
	if f.plain == nil {
		return nil, 0, nil
	}
	size, err := f.plain.Size()
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", f.Name, err)
	}
	return &countingReaderAt{f}, size, nil
}

func (f *File) Peek(n int) ([]byte, error)               { return f.r.Peek(n) }
func (f *File) ReadSlice(delimiter byte) ([]byte, error) { return f.r.ReadSlice(delimiter) }

// Read bypasses the buffer of r while it is empty.
func (f *File) Read(p []byte) (int, error) {
	if f.r.Buffered() > 0 {
		return f.r.Read(p)
	}
	return f.direct.Read(p)
}

// Skip skips n uncompressed bytes. Compressed data are read to skip them.
func (f *File) Skip(n int64) error {
	if n < 0 {
		return fmt.Errorf("read %s: the place to go on from lies before its first entry", f.Name)
	}
	if f.plain == nil || n <= int64(f.r.Buffered()) {
		for n > 0 {
			if err := f.ctx.Err(); err != nil {
				return err
			}
			k, err := f.r.Discard(int(min(n, 1<<20)))
			n -= int64(k)
			if err != nil {
				return err
			}
		}
		return nil
	}
	to := f.Uncompressed() + n
	f.raw.r = io.NewSectionReader(f.plain, to, math.MaxInt64-to)
	f.raw.n.Add(to - f.read - int64(f.buffer.Buffered()))
	f.buffer.Reset(f.raw)
	f.direct = &offsetReader{r: f.buffer, in: f}
	f.r.Reset(f.direct)
	f.read = to
	return nil
}

// An Opener opens inputs and adds the bytes read from disk to Bytes.
type Opener struct {
	Files
	Stdin     io.Reader
	Bytes     *atomic.Int64
	MaxWindow uint64 // largest window of zstd and xz, and of formats that hold a part of their input
}

// Open opens a file, a URL, or "-" for standard input, and uncompresses by the first bytes.
func (o Opener) Open(ctx context.Context, name string) (*File, error) {
	in := &File{Name: DisplayName(name), ctx: ctx}
	var raw io.Reader
	if name == "-" {
		if o.Stdin == nil {
			return nil, errors.New("read standard input: none given")
		}
		raw = interruptible(ctx, in, o.Stdin)
	} else {
		f, err := o.open(ctx, name)
		if err != nil {
			return nil, err
		}
		in.closers = append(in.closers, f.Close)
		in.file, raw = f.random, f
	}
	in.raw = &countingReader{ctx: ctx, r: raw, n: o.Bytes}
	if err := o.uncompress(in); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (o Opener) uncompress(in *File) error {
	br := bufio.NewReaderSize(in.raw, 1<<16)
	in.buffer = br
	head, err := br.Peek(len(bzip2Magic))
	if err != nil && err != io.EOF {
		return in.failed(err)
	}
	var r io.Reader = br
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		in.Compression = "gzip"
		r = &memberReader{br: br, raw: in.raw}
	case isBzip2(head):
		in.Compression = "bzip2"
		r = bzip2.NewReader(br)
	case bytes.HasPrefix(head, []byte(xzMagic)):
		in.Compression = "xz"
		if r, err = newXZ(br, o.MaxWindow); err != nil {
			return in.told(err)
		}
	case isZstd(head):
		in.Compression = "zstd"
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(o.MaxWindow))
		if err != nil {
			return in.told(err)
		}
		in.closers = append(in.closers, func() error { z.Close(); return nil })
		r = z
	default:
		in.plain = in.file
	}
	in.direct = &offsetReader{r: r, in: in}
	in.r = bufio.NewReaderSize(in.direct, format.ChunkBytes)
	return nil
}

// isZstd reports whether head begins a zstd frame, or a skippable frame, as files of pzstd(1) do (RFC 8878, 3.1).
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")) || len(head) > 4 && head[0]&0xf0 == 0x50 && string(head[1:4]) == "\x2a\x4d\x18"
}

// bzip2Magic is the beginning of bzip2 data, with a digit as its fourth byte, and of their first block.
const bzip2Magic = "BZh91AY&SY"

// isBzip2 reports whether head begins bzip2 data, with or without a block.
func isBzip2(head []byte) bool {
	if len(head) < len(bzip2Magic) || string(head[:3]) != bzip2Magic[:3] || head[3] < '1' || head[3] > '9' {
		return false
	}
	block := string(head[4:])
	return block == bzip2Magic[4:] || block == "\x17\x72\x45\x38\x50\x90"
}

func (in *File) failed(err error) error {
	if pe := (*fs.PathError)(nil); err == nil || err == io.EOF || errors.As(err, &pe) && pe.Path == in.Name {
		return err
	}
	return fmt.Errorf("read %s: %w", in.Name, err)
}

// told returns the error of reading: a ParseError if compressed data are damaged, else the error of the read, which the
// counting reader has recorded.
func (in *File) told(err error) error {
	var what error
	switch {
	case in.raw.err != nil:
		return in.failed(err)
	case errors.Is(err, errTrailing), errors.Is(err, errWindow):
		what = err
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = fmt.Errorf("%w: the compressed data end early, after %d bytes uncompressed", format.ErrTruncated, in.read)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		what = fmt.Errorf("%w within this memory budget (%w)", format.ErrUnsupported, err)
	default:
		what = fmt.Errorf("%w after %d bytes uncompressed (%w)", format.ErrCompression, in.read, err)
	}
	return &format.ParseError{File: in.Name, Err: what}
}

// pipeBytes is the capacity of a pipe on most systems. Bytes in a larger buffer leave the cache before they are read.
const pipeBytes = 1 << 16

// interruptible returns a reader of r whose blocked read ends with ctx; the copying goroutine remains until its read of r
// returns.
func interruptible(ctx context.Context, in *File, r io.Reader) io.Reader {
	pr, pw := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(pw, struct{ io.Reader }{r}, make([]byte, pipeBytes)) // hides WriterTo, which copies half as much
		pw.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	in.closers = append(in.closers, func() error { stop(); return pr.Close() })
	return pr
}

// countingReader counts bytes and records an error. It checks ctx, as many bytes of input may yield no entries.
type countingReader struct {
	ctx context.Context
	r   io.Reader
	n   *atomic.Int64 // bytes read of all inputs
	own int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := 0, c.ctx.Err()
	if err == nil {
		n, err = c.r.Read(p)
	}
	c.n.Add(int64(n))
	c.own += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// countingReaderAt is random access to a file, with its bytes counted like those of a stream. It ends with the context.
type countingReaderAt struct{ f *File }

func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := c.f.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.f.plain.ReadAt(p, off)
	c.f.raw.n.Add(int64(n))
	return n, c.f.failed(err)
}

// offsetReader counts the uncompressed bytes of an input. It repeats an error, because the buffer above may have met it while
// looking ahead. It checks the context, as few compressed bytes can yield many.
type offsetReader struct {
	r   io.Reader
	in  *File
	err error
}

func (o *offsetReader) Read(p []byte) (n int, err error) {
	if o.err == nil {
		o.err = o.in.ctx.Err()
	}
	if o.err != nil {
		return 0, o.err
	}
	n, o.err = o.r.Read(p)
	o.in.read += int64(n)
	if o.err != nil && o.err != io.EOF {
		o.err = o.in.told(o.err)
	}
	return n, o.err
}

// Closing returns an empty input whose Close calls closer.
func Closing(name string, closer func() error) *File {
	in := &File{Name: name, ctx: context.Background(), closers: []func() error{closer}}
	in.raw = &countingReader{ctx: in.ctx, r: bytes.NewReader(nil), n: new(atomic.Int64)}
	in.buffer = bufio.NewReaderSize(in.raw, 16)
	in.direct = &offsetReader{r: in.buffer, in: in}
	in.r = bufio.NewReaderSize(in.direct, 16)
	return in
}
