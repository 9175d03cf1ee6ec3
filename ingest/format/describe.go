package format

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
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Column is what has been found out about a column of a table.
type Column struct {
	Name string `json:"name"` // in the input, or what stands for it
	Role string `json:"role"` // "row", "column", "value", "time", or "unused"
	Why  string `json:"why"`
	// Word is that of the name which tells the role: "user" of "userIds"; empty if something else
	// tells it. Parts of one matrix have the same.
	Word string `json:"-"`
}
