package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Record is what one case has given. Fields that mean nothing for its experiment
// are zero.
type Record struct {
	Key        string  `json:"key"`
	Experiment string  `json:"experiment"`
	Matrix     string  `json:"matrix"`
	Rows       int64   `json:"rows,omitempty"`
	Cols       int64   `json:"cols,omitempty"`
	Bytes      int64   `json:"bytes,omitempty"` // of the store
	Rank       int     `json:"k,omitempty"`
	Gap        float64 `json:"gap,omitempty"` // σ₁−σ₂
	A          float64 `json:"a,omitempty"`   // parameters drawn for the values
	B          float64 `json:"b,omitempty"`
	Rejected   int     `json:"rejected,omitempty"` // draws of them that were refused

	Method   string  `json:"method"`
	Beta     float64 `json:"beta,omitempty"` // the best of those tried
	Status   string  `json:"status"`
	Passes   int     `json:"passes"` // products with the whole matrix
	Products int64   `json:"products"`
	Seconds  float64 `json:"seconds"`

	ErrSigma   float64 `json:"err_sigma"`          // ε_Σ
	ErrVectors float64 `json:"err_vectors"`        // ε_{U,V}
	Residual   float64 `json:"residual,omitempty"` // the largest that was certified

	Points []Point `json:"points,omitempty"`
}

// Point is what a run that is stopped early has to show.
type Point struct {
	Passes  int     `json:"passes"`
	Seconds float64 `json:"seconds"`
	Worst   float64 `json:"worst"` // largest residual of the k triplets
	Mean    float64 `json:"mean"`  // their geometric mean
}

// journal keeps the records of a run in a file, a line each, from the moment
// they exist.
type journal struct {
	file    *os.File
	records map[string]*Record
}

const journalName = "journal.jsonl"

// ErrOtherRun is returned when the directory holds the journal of a run with
// other settings.
var ErrOtherRun = errors.New("the directory holds a run with other settings")

// openJournal opens or begins the journal in dir. identity describes the
// settings that records depend on.
func openJournal(dir, identity string) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	j := &journal{f, map[string]*Record{}}
	if err := j.load(identity); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	return j, nil
}

// load reads the whole lines of a journal, or begins it. A line that was cut off by a crash goes.
func (j *journal) load(identity string) error {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	head, lines, begun := bytes.Cut(whole, []byte("\n"))
	had := ""
	if begun && (json.Unmarshal(head, &had) != nil || had != identity) {
		return ErrOtherRun
	}
	for line := range bytes.Lines(lines) {
		r := new(Record)
		if err := json.Unmarshal(line, r); err != nil {
			return err
		}
		j.records[r.Key] = r
	}
	if err := j.file.Truncate(int64(len(whole))); err != nil || begun {
		return err
	}
	return json.NewEncoder(j.file).Encode(identity)
}

func (j *journal) add(r *Record) error {
	j.records[r.Key] = r
	return json.NewEncoder(j.file).Encode(r)
}

func (j *journal) close() error { return j.file.Close() }
