package ingest

import (
	"fmt"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// duplicateError reports two entries at one place under DuplicatesError.
type duplicateError struct {
	Row, Col              string // ids of the place in the user's matrix; 1-based indices where there are no ids
	FirstFile, SecondFile string // empty when they are not known (standard input cannot be read again)
	First, Second         format.Position
	Count, Entries        int64 // how many entries there are, of all, at a place that has one before
	Places                int64 // that have more than one
}

func (e *duplicateError) Error() string {
	pairs, repeat := "pairs have", "entries repeat"
	if e.Places == 1 {
		pairs = "pair has"
	}
	if e.Count == 1 {
		repeat = "entry repeats"
	}
	advice := fmt.Sprintf("%d %s several, %d %s a place, of %d; --duplicates sum adds them up (or: mean, first, last, max), --value count counts them",
		e.Places, pairs, e.Count, repeat, e.Entries)
	place := fmt.Sprintf("row %s, column %s: more than one entry", e.Row, e.Col)
	switch {
	case e.FirstFile == "":
		return place + "; " + advice
	case e.FirstFile == e.SecondFile && e.First == e.Second:
		return fmt.Sprintf("%s%v: %s; %s", e.FirstFile, e.First, place, advice)
	}
	return fmt.Sprintf("%s%v: %s (the first is at %s%v); %s",
		e.SecondFile, e.Second, place, e.FirstFile, e.First, advice)
}

// memoryError refuses an ingest that cannot stay within Options.Memory.
type memoryError struct {
	Need, Budget int64  // bytes
	What         string // what needs it
}

func (e *memoryError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("memory budget of %d MiB is too small: %s; about %d MiB are needed",
		e.Budget/mib, e.What, (e.Need+mib-1)/mib)
}
