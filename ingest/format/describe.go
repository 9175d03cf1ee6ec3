package format

// A Column is what has been found out about a column of a table.
type Column struct {
	Name string // in the input, or what stands for it
	Role string // "row", "column", "value", "time", or "unused"
	Why  string
}
