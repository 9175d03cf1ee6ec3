package main

import (
	"bufio"
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
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &journal{f, map[string]*Record{}}
	whole, err := j.load(identity)
	if err == nil {
		err = f.Truncate(whole) // a line that was cut off by a crash goes
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		err = json.NewEncoder(f).Encode(identity)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", f.Name(), err), f.Close())
	}
	return j, nil
}

// load reads the whole lines of a journal and returns their length.
func (j *journal) load(identity string) (whole int64, err error) {
	for in := bufio.NewReader(j.file); ; {
		line, err := in.ReadBytes('\n')
		switch had, r := "", new(Record); {
		case err == io.EOF:
			return whole, nil
		case err != nil:
			return 0, err
		case whole > 0:
			if err := json.Unmarshal(line, r); err != nil {
				return 0, err
			}
			j.records[r.Key] = r
		case json.Unmarshal(line, &had) != nil || had != identity:
			return 0, ErrOtherRun
		}
		whole += int64(len(line))
	}
}

func (j *journal) add(r *Record) error {
	j.records[r.Key] = r
	return json.NewEncoder(j.file).Encode(r)
}

func (j *journal) close() error { return j.file.Close() }
