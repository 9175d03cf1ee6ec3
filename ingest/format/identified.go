package format

// Side is a side of the user's matrix.
type Side uint8

const (
	RowSide Side = iota
	ColSide
)

// String returns "rows" or "columns".
func (s Side) String() string { return NameOf(s, "rows", "columns") }

// Identified is a Reader that has declared a shape and knows the ids of its rows or columns. Its keys are indices all the
// same: row i of the input has id number i.
type Identified interface {
	Reader
	// IDs begins to read the ids of a side at the first id; nil: the indices are the ids. It is called before the first
	// Next. If a message has to name two lines, it is called again on another Reader opened for this purpose.
	IDs(side Side) (IDs, error)
}

// IDs reads the ids of a side in the order of the indices. Their number must be that of the shape, and no two may be
// equal; ingest checks both.
type IDs interface {
	// Next returns the next id, valid until the following call; after the last id it returns io.EOF.
	Next() (Label, error)
	Close() error
}

// A Label is the id of a row or column and its title for people.
type Label struct {
	ID    []byte
	Title []byte // empty: none
	File  string // name of the file
	Line  int64  // from 1
}

// Omitting is a Reader that leaves out data that are not part of the matrix.
type Omitting interface {
	Reader
	// Omits returns the names of the two kinds of data that Tally.LeftOut counts.
	Omits() [2]string
}

// Symmetric is a Reader of a format that may store only one triangle of a symmetric matrix.
type Symmetric interface {
	Reader
	// Symmetric returns whether the Reader adds the entries of the other triangle, and whether it negates them (skew).
	Symmetric() (mirrored, skew bool)
}

// A Describer is a Reader that knows more about its input than its entries tell. Other Readers are described by the name
// of the format, the declared shape and the entries.
type Describer interface {
	Reader
	// Describe is called after Open.
	Describe() Description
}

// A Description holds what a Reader knows about its input before it reads entries.
type Description struct {
	Separator string   // separator of fields, in words: "commas"; "": there is none
	Header    Header   // HeaderAuto: the format has no header
	Columns   []Column // of a table, in the order of the input
	// Entries is the value that Tally.Entries will have after the last batch; 0: not known.
	Entries int64
	// Notes say what is not obvious, such as which data are left out or converted.
	Notes []string
	// Flags of gdsvd ingest state the result of the recognition, except for the format: with them nothing is left to
	// be recognised.
	Flags []Flag
}

// A Flag is a flag of gdsvd ingest without its dashes.
type Flag struct {
	Name  string `json:"name"`  // name of the flag
	Value string `json:"value"` // value of the flag
}

// A Column is the result of the recognition for one column of a table.
type Column struct {
	Name string `json:"name"` // name in the input, or a description if the input has no name for it
	Role string `json:"role"` // "row", "column", "value", "time", or "unused"
	Why  string `json:"why"`  // why the column has this role
	// Word is the word of the name that determines the role: "user" of "userIds"; empty if something else determines the
	// role. All parts of one matrix have the same words.
	Word string `json:"-"`
}
