// Package lines keeps strings in a text file, one a line, and finds them by their number or, if they are in order, by their
// contents.
package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sort"
	"strings"
	"sync"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
)

// Sum describes a file that has been written.
type Sum struct {
	Size    int64
	CRC     uint32
	Escaped bool // \\, \n and \r in it stand for a backslash, the end of a line and a carriage return
}

// ErrDamaged is wrapped by the errors about a file that differs from what was written.
var ErrDamaged = errors.New("damaged lines")

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`)
var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")

// Write makes a new file of all strings, each followed by a line feed. The file is escaped only if a string has a line
// feed or a carriage return; Write then iterates over all strings twice.
func Write(fsys vfs.FS, name string, all iter.Seq2[string, error]) (Sum, error) {
	s, again, err := write(fsys, name, all, false)
	if again && err == nil {
		if err = fsys.Remove(name); err == nil {
			s, _, err = write(fsys, name, all, true)
		}
	}
	return s, err
}

// write writes a file. If it is not to be escaped, write stops at the first string that has to be, and returns again = true.
func write(fsys vfs.FS, name string, all iter.Seq2[string, error], escaped bool) (s Sum, again bool, err error) {
	f, err := durable.Create(fsys, name)
	if err != nil {
		return s, false, err
	}
	s.Escaped = escaped
	line := []byte(nil)
	for text, bad := range all {
		if err = bad; err != nil {
			break
		}
		if escaped {
			text = escaper.Replace(text)
		} else if again = strings.ContainsAny(text, "\n\r"); again {
			break
		}
		line = append(append(line[:0], text...), '\n')
		s.CRC = crc.Update(s.CRC, line)
		if _, err = f.Write(line); err != nil {
			break
		}
	}
	if err != nil || again {
		return s, again, errors.Join(err, f.Discard())
	}
	s.Size = f.Size()
	return s, false, f.Close()
}

// File is an open file of lines. It keeps 16 bytes for each spacing bytes of the file in memory, and decoded blocks of
// lines of at most keptBytes or one block. It is safe for concurrent use.
type File struct {
	f     vfs.File
	sum   Sum
	count int64
	marks []mark

	mu    sync.Mutex
	at    int // block that lines is from; −1: none
	lines []string
	kept  map[int][]string // lines of some blocks, by block
	size  int              // bytes of the kept blocks in the text
}

// mark is the number and the offset of the first line of a block.
type mark struct{ line, offset int64 }

// spacing is the least number of bytes of a block of lines, unless it is the last block.
const spacing = 4 << 10

// keptBytes is the largest number of bytes of the text whose lines are kept in memory: lines that are looked up in any
// order, such as the ids of neighbours, are mostly in a few blocks.
const keptBytes = 256 << 10

// maxLine is the largest number of bytes of a line: ids and titles stay below 1 MiB, and escaping at most doubles them.
const maxLine = 2 << 20

// Open reads a file once and compares it with its size, its checksum and the number of its lines.
func Open(ctx context.Context, fsys vfs.FS, name string, sum Sum, count int64) (*File, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	x := &File{f: f, sum: sum, count: count, at: -1, kept: map[int][]string{}}
	if err := x.scan(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return x, nil
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrDamaged)
}

// scan finds the beginnings of the blocks of lines, and verifies the file.
func (x *File) scan(ctx context.Context) error {
	info, err := x.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != x.sum.Size {
		return damaged("byte %d: it ends there, not at %d", info.Size(), x.sum.Size)
	}
	var of uint32
	var lines, next int64 // number of complete lines; offset from which on the next beginning of a line is marked
	buf := make([]byte, min(1<<20, x.sum.Size))
	last := byte('\n')
	for at := int64(0); at < x.sum.Size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(int64(len(buf)), x.sum.Size-at)]
		if err := x.read(b, at); err != nil {
			return err
		}
		of, last = crc.Update(of, b), b[len(b)-1]
		if at == 0 {
			x.marks, next = []mark{{0, 0}}, spacing
		}
		for begin := 0; begin < len(b); {
			if at+int64(begin)-x.marks[len(x.marks)-1].offset > spacing+maxLine {
				return damaged("line %d is longer than %d bytes", lines+1, maxLine)
			}
			skip := min(max(next-1-at, int64(begin)), int64(len(b))) // a line that begins at next follows a line feed at next−1
			lines += int64(bytes.Count(b[begin:skip], []byte{'\n'}))
			end := bytes.IndexByte(b[skip:], '\n')
			if end < 0 {
				break
			}
			begin = int(skip) + end + 1
			lines++
			if offset := at + int64(begin); offset < x.sum.Size {
				x.marks = append(x.marks, mark{lines, offset})
				next = offset + spacing
			}
		}
		at += int64(len(b))
	}
	switch {
	case crc.Sum(of) != crc.Sum(x.sum.CRC):
		return damaged("bytes 0 to %d have the checksum %v, not %v", x.sum.Size, crc.Sum(of), crc.Sum(x.sum.CRC))
	case last != '\n':
		return damaged("byte %d: the last line has no end", x.sum.Size)
	case lines != x.count:
		return damaged("%d lines, not %d", lines, x.count)
	}
	return nil
}

func (x *File) read(b []byte, at int64) error {
	n, err := x.f.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return damaged("byte %d: it ends there, not at %d", at+int64(n), x.sum.Size)
	}
	return err
}

func (x *File) Name() string { return x.f.Name() }
func (x *File) Count() int64 { return x.count }

// At returns line i, 0 ≤ i < Count. The string keeps nothing else of the file in memory.
func (x *File) At(i int64) (string, error) {
	if i < 0 || i >= x.count {
		panic(fmt.Sprintf("lines: %d of %d", i, x.count))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	line, err := x.line(i)
	return strings.Clone(line), err
}

func (x *File) line(i int64) (string, error) {
	b := x.at
	if b < 0 || i < x.marks[b].line || i >= x.marks[b].line+int64(len(x.lines)) {
		b = sort.Search(len(x.marks), func(b int) bool { return x.marks[b].line > i }) - 1
		if err := x.load(b); err != nil {
			return "", err
		}
	}
	return x.lines[i-x.marks[b].line], nil
}

func (x *File) load(b int) error {
	x.at = -1
	if lines, ok := x.kept[b]; ok {
		x.at, x.lines = b, lines
		return nil
	}
	end, count := x.sum.Size, x.count-x.marks[b].line
	if b+1 < len(x.marks) {
		end, count = x.marks[b+1].offset, x.marks[b+1].line-x.marks[b].line
	}
	buf := make([]byte, end-x.marks[b].offset)
	if err := x.read(buf, x.marks[b].offset); err != nil {
		return err
	}
	text := string(buf)
	x.lines = make([]string, 0, count)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if x.sum.Escaped {
			line = unescaper.Replace(line)
		}
		x.lines = append(x.lines, line)
	}
	if int64(len(x.lines)) != count {
		return damaged("bytes %d to %d have %d lines, not %d: the file has changed while it was read", x.marks[b].offset, end, len(x.lines), count)
	}
	if x.size += len(text); x.size > keptBytes {
		clear(x.kept)
		x.size = len(text)
	}
	x.at, x.kept[b] = b, x.lines
	return nil
}

// Find returns the number of the first line for which atLeast is true, or Count if it is true for none. atLeast must be
// true for all lines behind that one.
func (x *File) Find(atLeast func(line string) bool) (n int64, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	holds := func(i int64) bool {
		if err != nil {
			return true
		}
		line, bad := x.line(i)
		if err = bad; err != nil {
			return true
		}
		return atLeast(line)
	}
	// b is the first block for whose first line atLeast is true; the result is that line or in the block before.
	b := sort.Search(len(x.marks), func(b int) bool { return holds(x.marks[b].line) })
	if b == 0 || err != nil {
		return 0, err
	}
	first, end := x.marks[b-1].line, x.count
	if b < len(x.marks) {
		end = x.marks[b].line
	}
	i := sort.Search(int(end-first), func(i int) bool { return holds(first + int64(i)) })
	return first + int64(i), err
}

func (x *File) Close() error { return x.f.Close() }
