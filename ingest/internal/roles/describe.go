package roles

import (
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Describe tells the columns and the flag that chooses them: by names if they stand in the
// input, else by numbers. time is the column of times that are read, or −1.
func (a *Assignment) Describe(named bool, time int) format.Description {
	d := format.Description{Columns: a.Columns}
	cols := []int{a.Row, a.Col}
	switch {
	case time >= 0:
		cols = append(cols, a.Value, time)
	case a.Value >= 0:
		cols = append(cols, a.Value)
	}
	flag := Numbered(cols)
	if named {
		names := make([]string, len(d.Columns))
		for i, c := range d.Columns {
			names[i] = c.Name
		}
		flag = strings.TrimPrefix(Chosen(names, "", cols...).Flag, "--columns ")
	}
	d.Flags = []format.Flag{{Name: "columns", Value: flag}}
	if a.Value < 0 {
		d.Notes = append(d.Notes, "no column is a value: every entry is 1")
	}
	for _, c := range a.Times {
		if c != time && d.Columns[c].Role == Time.String() {
			d.Notes = append(d.Notes, strconv.Quote(d.Columns[c].Name)+" is a time: it is no part of the matrix")
		}
	}
	return d
}
