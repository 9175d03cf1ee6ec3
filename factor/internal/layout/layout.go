// Package layout names the files of a result directory, and its format.
package layout

import (
	"slices"
	"strings"
)

// Format is the value of the field format of a Result.
const Format = "gdsvd-result/3"

// Files of a result.
const (
	Sigma  = "sigma.npy"
	Lambda = "lambda.npy" // of eigenpairs, in place of Sigma
	Result = "result.json"
	Left   = "U.npy"
	Right  = "V.npy"
	Events = "events.jsonl"

	RowBiases = "row-biases.npy" // of a completion
	ColBiases = "col-biases.npy"
)

// LongestEvent is the size in bytes below which a line of Events stays; a longer line is damage.
const LongestEvent = 1 << 20

// Files that a run keeps in its directory until it has found everything.
const (
	Checkpoint = "checkpoint"
	// CheckpointEvents are the lines of Events up to the checkpoint, and possibly some after it: this file is written first.
	CheckpointEvents = "checkpoint.jsonl"
	// CheckpointView holds the statistics of the view of a run, beside its checkpoint. Its contents are
	//
	//	a line of JSON  the fingerprint and the lengths of the parts
	//	numbers         float64 each, little-endian, part after part of view.View.Measured
	//	a line of JSON  the checksum of all bytes before, in the form of checkpoint.jsonl
	CheckpointView = "checkpoint.view"
	// Half ends the name of a file of a checkpoint while it is being written.
	Half = ".half"
)

// Side begins the names of the files with the ids and titles of rows or columns.
type Side string

// The two sides of a matrix.
const (
	Rows Side = "rows"
	Cols Side = "cols"
)

// IDs returns the name of the file of ids, one a line.
func (s Side) IDs() string { return string(s) + ".ids" }

// Titles returns the name of the file of titles, one a line.
func (s Side) Titles() string { return string(s) + ".titles" }

// ViewPrefix begins the names of files with statistics of a view.
const ViewPrefix = "view-"

func OfView(name string) bool {
	return strings.HasPrefix(name, ViewPrefix) && strings.HasSuffix(name, ".npy")
}

func OfNames(name string) bool {
	return slices.Contains([]string{Rows.IDs(), Rows.Titles(), Cols.IDs(), Cols.Titles()}, name)
}

func OfCheckpoint(name string) bool {
	return slices.Contains([]string{Checkpoint, CheckpointEvents, CheckpointView}, strings.TrimSuffix(name, Half))
}

// OfResult reports whether a file is one that a run makes in its directory.
func OfResult(name string) bool {
	own := []string{Sigma, Lambda, Left, Right, Events, Result, RowBiases, ColBiases}
	return slices.Contains(own, name) || OfCheckpoint(name) || OfView(name) || OfNames(name)
}
