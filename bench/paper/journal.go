package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gdsvd/gdsvd/internal/vfs"
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

// maxJournal is the size in bytes up to which a journal is read.
const maxJournal = 1 << 30

// ErrOtherRun is returned when the directory holds the journal of a run with
// other settings.
var ErrOtherRun = errors.New("the directory holds a run with other settings")

// openJournal opens or begins the journal in dir. identity describes the
// settings that records depend on.
func openJournal(dir, identity string) (*journal, error) {
	name := filepath.Join(dir, journalName)
	data, err := vfs.ReadFile(vfs.OS, name, maxJournal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	header, err := json.Marshal(identity)
	if err != nil {
		return nil, err
	}
	j := &journal{records: map[string]*Record{}}
	whole, err := j.load(data, header)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if j.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return nil, err
	}
	// A line that was cut off by a crash goes.
	err = j.file.Truncate(int64(whole))
	if err == nil {
		_, err = j.file.Seek(int64(whole), 0)
	}
	if err == nil && whole == 0 {
		_, err = j.file.Write(append(header, '\n'))
	}
	if err != nil {
		return nil, errors.Join(err, j.file.Close())
	}
	return j, nil
}

// load reads the whole lines of a journal and returns their length.
func (j *journal) load(data, header []byte) (whole int, err error) {
	for first := true; ; first = false {
		line, _, found := bytes.Cut(data[whole:], []byte("\n"))
		switch {
		case !found:
			return whole, nil
		case first && !bytes.Equal(line, header):
			return 0, ErrOtherRun
		case !first:
			r := new(Record)
			if err := json.Unmarshal(line, r); err != nil {
				return 0, err
			}
			j.records[r.Key] = r
		}
		whole += len(line) + 1
	}
}

func (j *journal) add(r *Record) error {
	w := bufio.NewWriter(j.file)
	if err := json.NewEncoder(w).Encode(r); err != nil {
		return fmt.Errorf("record %s: %w", r.Key, err)
	}
	j.records[r.Key] = r
	return w.Flush()
}

func (j *journal) close() error { return j.file.Close() }
