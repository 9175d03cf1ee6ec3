package format

// Side is a side of the user's matrix.
type Side uint8

const (
	RowSide Side = iota
	ColSide
)

// String is "rows" or "columns".
func (s Side) String() string { return NameOf(s, "rows", "columns") }

// Identified is a Reader that has declared a shape and knows the ids of its rows or
// columns. Its keys are indices nevertheless: row i of the input has the id number i.
type Identified interface {
	Reader
	// IDs begins to read the ids of a side at the first one; nil: the ids are the indices.
	// It is called before the first Next, and perhaps once more, of a Reader opened
	// for that, when a message is to name two lines.
	IDs(side Side) (IDs, error)
}

// IDs are the ids of a side in order of the indices. As many as the shape says are
// wanted, and no two may be equal; ingest checks both.
type IDs interface {
	// Next is the next one, valid until the call after; io.EOF is behind the last.
	Next() (Label, error)
	Close() error
}

// A Label is the id of a row or column and what people call it.
type Label struct {
	ID    []byte
	Title []byte // empty: none
	File  string // where it stands
	Line  int64  // from 1
}

// Omitting is a Reader that leaves out what is no part of the matrix.
type Omitting interface {
	Reader
	// Omits are names of what Tally.LeftOut counts.
	Omits() [2]string
}

// Symmetric is a Reader that may give the entries of both triangles where the input has one.
type Symmetric interface {
	Reader
	// Symmetric tells whether it does; skew: those of the other triangle are negated.
	Symmetric() (mirrored, skew bool)
}

// A Describer is a Reader that knows more of its input than its entries tell. Of any other
// the name of the format, the shape it has declared and the entries say all.
type Describer interface {
	Reader
	// Describe is called behind Open.
	Describe() Description
}

// A Description is what a Reader has found out before it reads entries.
type Description struct {
	Separator string   // of fields, in words: "commas"; "": there are none
	Header    Header   // HeaderAuto: there cannot be one
	Columns   []Column // of a table, in the order of the input
	// Entries is as many as Tally.Entries will be behind the last batch; 0: not known.
	Entries int64
	// Notes are what is not obvious: what is left out, or made of what.
	Notes []string
	// Flags of gdsvd ingest say what has been found out, that of the format aside: with them nothing
	// is left to be recognised.
	Flags []Flag
}

// A Flag is a flag of gdsvd ingest without its dashes.
type Flag struct {
	Name  string `json:"name"`  // name of the flag
	Value string `json:"value"` // value of the flag
}

// A Column is what has been found out about a column of a table.
type Column struct {
	Name string `json:"name"` // name in the input, or a description if the input has no name for it
	Role string `json:"role"` // "row", "column", "value", "time", or "unused"
	Why  string `json:"why"`  // why the column has this role
	// Word is that of the name which tells the role: "user" of "userIds"; empty if something else
	// tells it. Parts of one matrix have the same.
	Word string `json:"-"`
}
