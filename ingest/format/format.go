// Package format is the contract between ingest and the formats it reads.
//
// A [Format] recognises an input by its first bytes and opens it as a [Reader]. A Reader cuts the input into chunks and turns
// each chunk into a [Batch]: columns of row keys, column keys and values. Keys are ids, integers or texts. If the Reader declares
// a shape, keys are indices counted from 0 instead.
//
// An [Input] is a stream of uncompressed bytes. A regular file that is not compressed has an [io.ReaderAt] and a size as well,
// for formats that begin reading at the end of the file or jump in it.
//
// One goroutine calls Next; workers call Parse for distinct chunks at the same time; Check is called with the batches in input
// order. An ingest that is resumed opens the input again and calls Seek with the End of the last chunk that it has kept.
//
// To add a format, write a package with a Format and add a line to package all. Options of one format only are arguments of the
// function that returns its Format, such as delimited.Format. A Reader that knows names of columns or the number of entries is
// a [Describer] as well. An error about the content of an input is a *[ParseError] that wraps one of the Err variables of this
// package or an error of the format.
package format

import (
	"fmt"
	"io"
)

// ChunkBytes is the number of bytes of an input that are parsed at a time, and the length of the longest line. It does not
// depend on options, so that whether an input is accepted does not depend on them either.
const ChunkBytes = 256 << 10

// A Format is a kind of input.
type Format struct {
	// Name is the name by which a user chooses the format. A format without a name cannot be chosen: it only recognises inputs
	// in order to refuse them.
	Name string
	// Sniff tells whether an input is of this format; nil: it is never recognised, only chosen.
	Sniff func(Head) bool
	// Open reads the part of the input before the entries.
	Open func(*Input) (Reader, error)
	// Timed reports that entries may have times.
	Timed bool
	// Beside describes the files that belong to an input of the format; nil: there are none.
	Beside *Beside
}

// Beside describes the files with the ids of an input. Their names are the name of the input with another suffix.
type Beside struct {
	Suffix string    // suffix of the input
	Files  [2]string // by Side: suffix of the file with the ids of the side
	// Labels begins to read the file of a side.
	Labels func(side Side, in *Input, close func() error) (IDs, error)
}

// A Head is the information by which a format is recognised. It does not include the name of the file.
type Head struct {
	Bytes  []byte // the first ChunkBytes of the uncompressed input, or fewer
	Whole  bool   // Bytes is the whole input
	Chosen bool   // the user has named a format; only formats without a name are asked
}

// An Input is one opened input.
type Input struct {
	Name string // for messages
	Stream
	At   io.ReaderAt // random access to the same bytes; nil: the input is a stream only
	Size int64       // length in bytes, if At is not nil
	// Window is the number of bytes already read that a Reader may hold besides a chunk; 0: no limit.
	Window int64
	// Format is the name of the format being opened. Open may replace it by the name of a special form of the format.
	Format string
	Chosen bool // the format has been named rather than recognised
	// IDs are the numbers of ids in the files of each side, for a format with a Beside; 0: there is no such file.
	IDs [2]int64
	// Columns are the columns that the user has chosen for a table; see ingest.Options.
	Columns []string
	// Events: the value of a matrix entry is the number of lines with its row and column, and no column of the table holds
	// values. Ingest replaces the values of a batch by 1.
	Events bool
	// Times asks for Batch.Time: Open fails if the input has no times. See Format.Timed.
	Times bool
	// Before is the Reader of the previous input, which may be of another format; nil: this input is the first one.
	Before Reader
	// Declare states the shape of the matrix: keys are indices, and this input must be the only one. It returns an error
	// if the matrix is too large.
	Declare func(Shape) error
}

// A Shape is the shape of the user's matrix, for inputs whose keys are indices.
type Shape struct {
	Rows, Cols int64
	// Late: Rows and Cols are 0 when Open declares the shape, and the last Check declares it again. Keys are indices
	// below 2³². First is the index of the first column in the input.
	Late  bool  `json:",omitempty"`
	First int64 `json:",omitempty"`
	// Missing is the value of the entries that are not known; 0: all entries are known.
	Missing float64 `json:",omitempty"`
}

// Of returns the length of a side.
func (s *Shape) Of(side Side) int64 { return [...]int64{s.Rows, s.Cols}[side] }

// A Stream is the uncompressed content of an input. Its errors are complete messages, except that a *ParseError among them
// lacks the line.
type Stream interface {
	io.Reader
	// Peek returns the next n bytes without consuming them; n is ChunkBytes at most. Fewer bytes come with an error.
	Peek(n int) ([]byte, error)
	// ReadSlice reads up to and including the first delimiter, as that of bufio.Reader does.
	ReadSlice(delimiter byte) ([]byte, error)
	// Skip skips the next n bytes.
	Skip(n int64) error
}

// A Reader reads one input.
type Reader interface {
	// Next fills c with the next chunk. It may fill the capacity of c.Data, or leave it to Parse to read from Input.At.
	// After the last chunk it returns io.EOF.
	Next(c *Chunk) error
	// Parse appends the entries of a chunk to an empty batch. It passes a line that cannot be read to Batch.Refuse; an error
	// ends the ingest. Distinct chunks are parsed concurrently.
	Parse(c *Chunk, b *Batch) error
	// Check returns an error if the batches up to this one contradict each other or the header; t is the sum of their
	// tallies. After the last batch it is called once more with nil for c and b.
	Check(t Tally, c *Chunk, b *Batch) error
	// Seek continues at the End of a chunk. The Reader has just been opened.
	Seek(p Position) error
	// Locate returns the position of entry n of the batch of a chunk, counted from 0.
	Locate(c *Chunk, n int) Position
}

// A Position is a place in an input.
type Position struct {
	Line int64  // from 1; 0: the format has no lines
	Byte int64  // offset in the uncompressed input, or in its part, from 0
	Part string // name of the part, if the input has several, such as an archive; else empty
	Row  int64  // row of the matrix, or element of a dense matrix, from 0, if the input numbers them implicitly; else 0
}

// String returns the text that follows the name of the file in messages.
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
	Held       any // data that Next passes to Parse instead of Data; Next may use the memory that an earlier chunk held
	Begin, End Position
}

// Resized returns s with length n and undefined contents: s itself if its capacity suffices.
func Resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A Tally holds counts over batches. It is kept when an ingest is interrupted.
type Tally struct {
	Entries int64 // entries counted as the declared number counts them: with bad lines, before symmetric expansion
	// First are the lines of the first entries of two kinds that a format distinguishes, such as below and above the
	// diagonal; 0: none.
	First [2]int64
	// Cols is the largest column index read plus one, if the shape is declared late.
	Cols int64
	// LeftOut counts two kinds of things that are not part of the matrix, such as labels.
	LeftOut [2]int64
}

// Add adds the tally of the following batch.
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
	// HeaderAuto decides by the first lines: by well-known column names, and by texts above numbers. If these leave the
	// answer open, the error is an AmbiguityError.
	HeaderAuto Header = iota
	// HeaderYes takes the first line of each input as column names.
	HeaderYes
	// HeaderNo takes the first line as data.
	HeaderNo
)

// String returns "auto", "yes" or "no".
func (h Header) String() string { return NameOf(h, "auto", "yes", "no") }

// IndexBase says which number the first column has in index:value pairs.
type IndexBase uint8

const (
	// BaseAuto is 0 if a column has the number 0, or a comment says so, else 1, as the definition of the format says.
	BaseAuto IndexBase = iota
	// BaseZero counts columns from 0.
	BaseZero
	// BaseOne counts columns from 1.
	BaseOne
)

// String returns "auto", "0" or "1".
func (b IndexBase) String() string { return NameOf(b, "auto", "0", "1") }

// NameOf returns the name of a choice; names are the names of all choices, from 0.
func NameOf[T ~uint8](choice T, names ...string) string {
	if int(choice) < len(names) {
		return names[choice]
	}
	return fmt.Sprintf("unknown(%d)", uint8(choice))
}
