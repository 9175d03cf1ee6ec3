// Package refused recognises inputs that ingest does not read, and says what to do about them.
package refused

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Files are binary files and archives. They are refused even if the user has chosen a format.
var Files = format.Format{
	Sniff: func(h format.Head) bool { return kindOf(h.Bytes).name != "" },
	Open: func(in *format.Input) (format.Reader, error) {
		head, _ := in.Peek(magicHead)
		k := kindOf(head)
		return nil, &format.ParseError{File: in.Name, Err: unsupported(k.name, strings.ReplaceAll(k.do, "FILE", in.Name))}
	},
}

// Text is text that could be cut into fields, but is something else. If the user has chosen a format, that format reads it.
var Text = format.Format{
	Sniff: func(h format.Head) bool {
		s := text.Take(bytes.TrimPrefix(h.Bytes, []byte(text.BOM)), h.Whole)
		return !h.Chosen && len(s.Lines) > 0 && suspect(s.Lines) != nil
	},
	Open: func(in *format.Input) (format.Reader, error) {
		_, s, err := text.Begin(in, "")
		if err != nil {
			return nil, err
		}
		return nil, &format.ParseError{File: in.Name, Line: int64(1 + s.Before), Text: text.Shorten(s.Lines[0]), Err: suspect(s.Lines)}
	},
}

func unsupported(what, do string) error {
	return fmt.Errorf("this is %s: %w; %s", what, format.ErrUnsupported, do)
}

type kind struct {
	magic string // first bytes; a "?" stands for any byte
	name  string
	do    string // what to do so that ingest can read it; FILE stands for its name
}

const (
	scipy  = "read it with scipy.io.loadmat, save the matrix with scipy.sparse.save_npz, and ingest that"
	hdf5   = "an HDF5 file (.h5ad, .h5 of 10x, .loom, .mat of MATLAB 7.3)"
	h5py   = "make the store in Python with gdsvd.Store.from_h5ad or gdsvd.Store.from_10x_h5; of another file save the matrix with scipy.sparse.save_npz"
	recode = "convert it to UTF-8: iconv -f UTF-16 -t UTF-8 FILE | gdsvd ingest -"
	export = "export it as CSV"
	arrow  = "the Python package makes text of it: python -m gdsvd arrow <FILE | gdsvd ingest -, or reads it: gdsvd.Store.from_table; or write it as Parquet"
	twice  = "it is compressed twice: uncompress it once"
)

// magics are the first bytes of files that are not text, Matrix Market or IDX.
var magics = []kind{
	{"\x1f\x8b", "gzip", twice},
	{"\x28\xb5\x2f\xfd", "zstd", twice},
	{"PK\x03\x04", "a zip archive", "unpack it: unzip -p FILE | gdsvd ingest -"},
	{"BZh?1AY&SY", "bzip2 data", twice},
	{"\xfd7zXZ\x00", "xz data", twice},
	{"\x04\x22\x4d\x18", "lz4 data", "uncompress it: lz4cat FILE | gdsvd ingest -"},
	{"\x1f\x9d", "compress (.Z) data", "uncompress it: zcat FILE | gdsvd ingest -"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it first"},
	{"Rar!\x1a\x07", "a RAR archive", "unpack it first"},
	{"\xff\xfe\x00\x00", "UTF-32 text", strings.ReplaceAll(recode, "16", "32")},
	{"\xff\xfe", "UTF-16 text", recode},
	{"\xfe\xff", "UTF-16 text", recode},
	{"\x89HDF\r\n\x1a\n", hdf5, h5py},
	{"MATLAB 7.3 MAT-file", hdf5, h5py},
	{"MATLAB 5.0 MAT-file", "a MATLAB file", scipy},
	{"ARROW1\x00\x00", "an Arrow file (Feather)", arrow},
	{"FEA1", "an Arrow file (Feather, version 1)", arrow},
	{"\xff\xff\xff\xff???\x00?\x00\x00\x00", "a stream of Arrow", arrow}, // a message shorter than 16 MiB
	{"Obj\x01", "an Avro file", export},
	{"ORC", "an ORC file", export},
	{"SQLite format 3\x00", "an SQLite database", export},
	{"\x80?\x95", "a Python pickle", export},
	{"%PDF-", "a PDF document", export},
	{"version https://git-lfs", "a pointer to a file in Git LFS", "fetch the file itself: git lfs pull"},
}

// magicHead is the number of bytes that suffice for all kinds: the signature of a tar file ends before it.
const magicHead = 512

// kindOf recognises a file by its first bytes. The kind of text, Matrix Market and IDX has no name.
func kindOf(head []byte) kind {
	for _, k := range magics {
		match := len(head) >= len(k.magic)
		for i := 0; match && i < len(k.magic); i++ {
			match = k.magic[i] == '?' || k.magic[i] == head[i]
		}
		if match && (len(k.magic) > 4 || k.magic[0] != 'O' && k.magic[0] != 'F' || bytes.IndexByte(head, 0) >= 0) {
			return k.within(head)
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return kind{name: "a tar archive", do: "unpack it first, or: tar -xOf FILE NAME | gdsvd ingest -"}
	}
	return kind{}
}

// within tells zip archives apart by the name of their first file.
func (k kind) within(head []byte) kind {
	switch {
	case k.name != "a zip archive" || len(head) < 30:
	case bytes.HasSuffix(head[30:min(len(head), 30+int(binary.LittleEndian.Uint16(head[26:])))], []byte(".npy")):
		return kind{} // package npz reads it
	case bytes.Contains(head[30:], []byte("[Content_Types].xml")), bytes.Contains(head[30:], []byte("xl/")):
		return kind{name: "a spreadsheet (.xlsx)", do: export}
	}
	return k
}

// suspect returns the error for text that could be cut into fields, but is something else; nil: it looks like a table.
func suspect(sample [][]byte) error {
	first := bytes.TrimSpace(sample[0])
	switch {
	case isJSON(first):
		return unsupported("JSON", "convert it, e.g. lines of objects with jq -r '[.user,.item,.rating]|@csv'")
	case bytes.HasPrefix(first, []byte("<")) && markup().Match(first):
		return unsupported("HTML or XML", "perhaps a server has sent a list of files, or the page of an error, in place of the file")
	case bytes.HasPrefix(bytes.ToLower(first), []byte("@relation")):
		return unsupported("ARFF", export)
	case bytes.HasPrefix(bytes.ToLower(first), []byte("%%matrixmarket")):
		return unsupported("Matrix Market whose banner is not the first line", "leave out the blank lines above it")
	case excel().Match(first):
		return unsupported("a line that tells Excel the separator", "leave it out, with tail -n +2 or an editor")
	case rows(sample):
		return &format.AmbiguityError{Readings: []format.Reading{
			{Text: "lines are rows of index:value, as svmlight has them", Flag: "--format svmlight"},
			{Text: "a field with a colon is an id", Flag: "--format delimited"},
		}}
	}
	if name := boeing(sample); name != "" {
		return unsupported(name, "the SuiteSparse collection has its matrices as Matrix Market, too; else read a real unsymmetric one with scipy.io.hb_read, save it with scipy.sparse.save_npz, and ingest that")
	}
	for i, l := range sample {
		switch {
		case i < 2 && rule().Match(l):
			return unsupported("a table drawn with lines", export)
		case bytes.IndexByte(l, 0) >= 0:
			return unsupported("binary, or UTF-16 text: it has NUL bytes", "ingest reads the binary formats of --format only")
		case bytes.IndexByte(l, '\r') >= 0 && (i == 0 || bytes.IndexByte(l, '"') < 0): // quoted fields may have one
			return unsupported("text whose lines end with carriage returns alone", `convert it: tr '\r' '\n'`)
		}
	}
	return nil
}

var (
	markup = text.Pattern(`(?i)^<(!doctype|\?xml|html|head|body|error)`)
	excel  = text.Pattern(`(?i)^sep=.?$`)
	pairs  = text.Pattern(`^[^ \t#]+([ \t]+(-?\d+|qid):[ \t]*[-+0-9.eE]+)+[ \t]*(#.*)?$`) // svmlight, except for lines that its reader would refuse
	nearly = text.Pattern(`^[^ \t#]+([ \t]+(-?\d+|qid):[ \t]*[^ \t]*)+[ \t]*(#.*)?$`)     // the same with any values, or none

	kindAndShape = text.Pattern(`^(?i:[RCPIQ][SUHZR][AE]) +( *\d+){3,4} *$`)
	fortran      = text.Pattern(`^\(.*[Ii].*\)`)
	cards        = text.Pattern(`^( *\d+){4,5} *$`)
	rule         = text.Pattern(`^[-+=|: ]*---[-+=|: ]*$`)
)

// rows reports whether the lines are those of svmlight: at least one with good values, and a last one that may end within an index.
func rows(sample [][]byte) bool {
	for i, l := range sample {
		if !nearly().Match(l) && (i < len(sample)-1 || !nearly().Match(append(bytes.Clone(l), ':'))) {
			return false
		}
	}
	return slices.ContainsFunc(sample, pairs().Match)
}

// boeing returns the name of the format if the sample is a Harwell–Boeing or Rutherford–Boeing file, else "". The header is a
// title, which may be blank, four or five numbers of lines, the type and the dimensions, and Fortran formats.
func boeing(sample [][]byte) string {
	for i := range min(2, len(sample)-2) {
		counts := len(bytes.Fields(sample[i]))
		if cards().Match(sample[i]) && kindAndShape().Match(sample[i+1]) && fortran().Match(sample[i+2]) {
			return map[int]string{4: "a Rutherford–Boeing file", 5: "a Harwell–Boeing file"}[counts]
		}
	}
	return ""
}

// isJSON reports whether a line begins an object or a list of objects or lists.
func isJSON(l []byte) bool {
	if len(l) == 0 {
		return false
	}
	behind := bytes.TrimSpace(l[1:])
	next := byte(0)
	if len(behind) > 0 {
		next = behind[0]
	}
	switch l[0] {
	case '{':
		return next == 0 || next == '"' || next == '\'' || next == '}'
	case '[':
		return next == 0 || next == '{' || next == '[' || l[len(l)-1] == ']' || bytes.HasSuffix(l, []byte("],"))
	}
	return false
}
