// Package format is the contract between ingest and the formats it reads.
//
// A [Format] recognises an input by its first bytes and opens it as a [Reader]. A Reader cuts the input into chunks and turns
// each into a [Batch]: columns of row keys, column keys and values. Keys are ids, integers or texts, unless the Reader declares
// a shape: then they are indices counted from 0.
//
// An [Input] is a stream of uncompressed bytes. Where it is a regular file that is not compressed it has an [io.ReaderAt] and a
// size as well, for formats that begin at their end or jump.
//
// One goroutine calls Next; workers call Parse for distinct chunks at the same time; Check sees the batches in order of the
// input. An ingest that is resumed opens the input again and calls Seek with the End of the last chunk it has kept.
//
// To add a format: a folder with a Format, and its line in package all. What can be chosen for it alone is an argument of what
// makes its Format, as of delimited.Format. A Reader that knows names of columns or a number of entries is a [Describer] as
// well. What is wrong with an input is a *[ParseError] that wraps one of the package's Err variables or an error of the
// format's own.
package format

import (
	"fmt"
	"io"
)

// ChunkBytes is how much of an input is parsed at a time, and the length of the
// longest line. It does not depend on options: whether an input is accepted must not either.
const ChunkBytes = 256 << 10

// A Format is a kind of input.
type Format struct {
	// Name chooses the format. One without a name cannot be chosen: it recognises
	// inputs in order to refuse them.
	Name string
	// Sniff tells whether an input is of this format; nil: it is never recognised, only chosen.
	Sniff func(Head) bool
	// Open reads what stands before the entries.
	Open func(*Input) (Reader, error)
	// Timed: entries may have times.
	Timed bool
	// Beside, unless nil, are files that belong to an input of the format.
	Beside *Beside
}

// Beside are files of the ids of an input, which have its name but for the suffix.
type Beside struct {
	Suffix string    // of the input
	Files  [2]string // by Side: of those of ids
	// Labels begins to read one of them.
	Labels func(side Side, in *Input, close func() error) (IDs, error)
}

// A Head is what a format is recognised by, never the name of the file.
type Head struct {
	Bytes  []byte // the first ChunkBytes of the uncompressed input, or fewer
	Whole  bool   // that is all of it
	Chosen bool   // a format has been named; only formats without a name are asked
}

// An Input is one opened input.
type Input struct {
	Name string // for messages
	Stream
	At   io.ReaderAt // the same bytes at any place; nil: only as a stream
	Size int64       // bytes, if At is not nil
	// Window is how many bytes a Reader may hold of what it has read, beside a chunk; 0: any number.
	Window int64
	// Format is the name of the format being opened. Open may set that of a special form of it.
	Format string
	Chosen bool // the format has been named rather than recognised
	// IDs are how many ids the files of a side have, of a format with a Beside; 0: there is none.
	IDs [2]int64
	// Columns have been chosen for a table; see ingest.Options. What is chosen for one format alone, its Open knows by itself.
	Columns []string
	// Events: an entry is the number of lines at its place, and no column is its value. Whatever
	// values a batch has, ingest takes 1.
	Events bool
	// Times asks for Batch.Time: Open fails if there will be none. See Format.Timed.
	Times bool
	// Before is the Reader of the input before this one, of whatever format, or nil.
	Before Reader
	// Declare tells the shape of the matrix: keys are indices, and no other input may be
	// beside this one. It fails if the matrix is too large.
	Declare func(Shape) error
}

// A Shape is that of the user's matrix, of inputs whose keys are indices.
type Shape struct {
	Rows, Cols int64
	// Late: Rows and Cols are 0 when Open declares it, and declared once more by the last Check. The keys
	// are indices below 2³² nevertheless, First being the index that the first column has in them.
	Late  bool  `json:",omitempty"`
	First int64 `json:",omitempty"`
	// Missing is the value of entries that are not known; 0: there are none.
	Missing float64 `json:",omitempty"`
}

// Of is the length of a side.
func (s *Shape) Of(side Side) int64 { return [...]int64{s.Rows, s.Cols}[side] }

// A Stream is the uncompressed content of an input. Its errors need no more
// words; those that are a *ParseError lack the line.
type Stream interface {
	io.Reader
	// Peek is the next n bytes, ChunkBytes at most; fewer come with an error.
	Peek(n int) ([]byte, error)
	// ReadSlice reads up to the first delimiter, like that of bufio.Reader.
	ReadSlice(delimiter byte) ([]byte, error)
	// Skip goes n bytes on.
	Skip(n int64) error
}

// A Reader reads one input.
type Reader interface {
	// Next makes c the next chunk. It may fill the capacity of c.Data, or leave it to
	// Parse to read from Input.At. It is io.EOF behind the last chunk.
	Next(c *Chunk) error
	// Parse puts the entries of a chunk into an empty batch. A line that cannot be
	// read goes to Batch.Refuse; an error ends the ingest. Distinct chunks are parsed concurrently.
	Parse(c *Chunk, b *Batch) error
	// Check tells what is wrong with all batches up to this one together; t is their sum.
	// Behind the last, c and b are nil.
	Check(t Tally, c *Chunk, b *Batch) error
	// Seek goes on at the End of a chunk; the Reader has just been opened.
	Seek(p Position) error
	// Locate is where entry n of the batch of a chunk stands, counted from 0.
	Locate(c *Chunk, n int) Position
}

// A Position is a place in an input.
type Position struct {
	Line int64  // from 1; 0: the format has no lines
	Byte int64  // of the uncompressed input, or of its part, from 0
	Part string // of an input that has several, as an archive; else empty
	Row  int64  // of the matrix, or element of a dense one, from 0, where they are not written but counted; else 0
}

// String is what stands behind the name of the file in messages.
func (p Position) String() string {
	if p.Line > 0 {
		return fmt.Sprintf(":%d", p.Line)
	}
	if p.Part != "" {
		return fmt.Sprintf(", %s, byte %d", p.Part, p.Byte)
	}
	if p.Byte < 0 {
		return ""
	}
	return fmt.Sprintf(", byte %d", p.Byte)
}

// A Chunk is a piece of an input: whole lines, or a range of elements.
type Chunk struct {
	Data       []byte
	Held       any // what Next has made for Parse instead of Data; it may use that of an earlier chunk again
	Begin, End Position
}

// Resized returns s with length n, its contents undefined: s itself if its capacity is enough.
func Resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A Tally is what is counted over batches, and kept when an ingest is interrupted.
type Tally struct {
	Entries int64 // as counted by a declared number: with bad lines, before symmetric expansion
	// First are the lines of the first entries of two kinds that a format tells
	// apart, as below and above the diagonal; 0: none.
	First [2]int64
	// Cols is one more than the largest column index met, if the shape is declared late.
	Cols int64
	// LeftOut is how many things of two kinds are no part of the matrix, as labels.
	LeftOut [2]int64
}

// Add adds the tally of the next batch.
func (t *Tally) Add(next Tally) {
	t.Entries += next.Entries
	for i, line := range next.First {
		if t.First[i] == 0 {
			t.First[i] = line
		}
	}
	t.Cols = max(t.Cols, next.Cols)
	for i, n := range next.LeftOut {
		t.LeftOut[i] += n
	}
}

// Header says whether the first line of a delimited input names the columns.
type Header uint8

const (
	// HeaderAuto decides by the first lines: by names of the trade, and by texts above
	// numbers. What they leave open is an AmbiguityError.
	HeaderAuto Header = iota
	// HeaderYes takes the first line of each input as names.
	HeaderYes
	// HeaderNo takes the first line as data.
	HeaderNo
)

// String is "auto", "yes" or "no".
func (h Header) String() string { return NameOf(h, "auto", "yes", "no") }

// IndexBase says what number the first column has in index:value pairs.
type IndexBase uint8

const (
	// BaseAuto is 0 if a column has the number 0, or a comment says so, else 1, as the format's definition has it.
	BaseAuto IndexBase = iota
	// BaseZero counts columns from 0.
	BaseZero
	// BaseOne counts columns from 1.
	BaseOne
)

// String is "auto", "0" or "1".
func (b IndexBase) String() string { return NameOf(b, "auto", "0", "1") }

// NameOf is the name of a choice among those of all, which count from 0.
func NameOf[T ~uint8](choice T, names ...string) string {
	if int(choice) < len(names) {
		return names[choice]
	}
	return fmt.Sprintf("unknown(%d)", uint8(choice))
}
