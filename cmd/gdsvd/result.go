package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
)

// Names of the files of a result directory.
const (
	sigmaFile  = "sigma.npy"
	leftFile   = "U.npy"
	rightFile  = "V.npy"
	eventsFile = "events.jsonl"
	resultFile = "result.json"
)

// resultFormat is the format field of result.json. Files of the first format have no
// checksums.
const (
	resultFormat      = "gdsvd-result/2"
	resultFormatFirst = "gdsvd-result/1"
)

// maxResult is the size in bytes up to which a result.json is read: that of one of
// a million triplets is smaller.
const maxResult = 256 << 20

// number is a float64 whose JSON form is null when it is not finite.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

func (x *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*x = number(v)
	return err
}

func numbers(x []float64) []number {
	n := make([]number, len(x))
	for i, v := range x {
		n[i] = number(v)
	}
	return n
}

// ratio is a/b, and no number where b is 0.
func ratio(a, b float64) number {
	if b == 0 {
		return number(math.NaN())
	}
	return number(a / b)
}

// result is result.json: U and V are in the user's orientation.
type result struct {
	Format        string        `json:"format"`
	Rows          int64         `json:"rows"`
	Cols          int64         `json:"cols"`
	NNZ           int64         `json:"nnz"`
	K             int           `json:"k"`
	Method        string        `json:"method"`
	Status        string        `json:"status"`
	Certified     bool          `json:"certified"` // the residuals are measured, not estimated
	Converged     int           `json:"converged"` // triplets whose certified residual and floor are at most the tolerance
	Rank          int           `json:"rank"`      // values above roundoff
	Sigma         []number      `json:"sigma"`
	Residual      []number      `json:"residual"`
	Floor         []number      `json:"floor,omitempty"` // what rounding may hide of each residual; absent if not certified
	Clusters      [][2]int      `json:"clusters"`        // ranges of values closer than their residuals
	Orthogonality orthogonality `json:"orthogonality"`
	Energy        number        `json:"energy"`
	Outside       outside       `json:"outside"`
	Passes        int           `json:"passes"`
	Products      int64         `json:"products"`
	BytesRead     int64         `json:"bytes_read"`
	Seconds       seconds       `json:"seconds"`
	VectorFiles   int64         `json:"vector_files,omitempty"` // most bytes of vectors in files beside OUT; absent if in memory
	VectorsRead   int64         `json:"vectors_read,omitempty"` // bytes of vectors in files that the run has gone over; absent if in memory
	VectorsWrote  int64         `json:"vectors_written,omitempty"`
	PeakRSS       int64         `json:"peak_rss"` // measured; what was planned comes next
	Memory        []memoryPart  `json:"memory,omitempty"`
	Seed          uint64        `json:"seed"`
	Settings      settings      `json:"settings"`
	Choice        *choiceRecord `json:"choice,omitempty"` // of --method auto
	Store         storeRef      `json:"store"`
	Files         []resultPart  `json:"files,omitempty"` // the others of the directory
	CRC           crc.Sum       `json:"crc"`             // of this file, see RESULT.md; the last field
}

// resultPart is a file of a result.
type resultPart struct {
	Name string  `json:"name"`
	Size int64   `json:"size"`
	CRC  crc.Sum `json:"crc"`
}

// orthogonality is max|UᵀU−I| and max|VᵀV−I|, null for vectors that were not computed.
type orthogonality struct {
	U number `json:"u"`
	V number `json:"v"`
}

// outside says what may be missing: no singular value beyond those found is larger than
// bound, unless that is wrong, which it is with at most the given probability.
type outside struct {
	Steps       int     `json:"steps"` // products with random vectors outside of those found; 0: bound is that of the remaining energy
	Bound       number  `json:"bound"`
	Probability float64 `json:"probability"`
	Leading     bool    `json:"leading"` // bound leaves no room for a value that was missed
}

type seconds struct {
	Total         float64 `json:"total"`
	Multiply      float64 `json:"multiply"`
	Orthogonalise float64 `json:"orthogonalise"`
	Wait          float64 `json:"wait"`
	Finish        float64 `json:"finish"`
	Checkpoint    float64 `json:"checkpoint"`
}

func newSeconds(s solver.Stats) seconds {
	return seconds{
		Total: s.Total.Seconds(), Multiply: s.Multiply.Seconds(), Orthogonalise: s.Orthogonalise.Seconds(),
		Wait: s.Wait.Seconds(), Finish: s.Finish.Seconds(), Checkpoint: s.Checkpoint.Seconds(),
	}
}

type settings struct {
	Method    string  `json:"method"`
	Operator  string  `json:"operator"`
	Deflation string  `json:"deflation"`
	Stop      string  `json:"stop"`
	Tol       float64 `json:"tol"`
	MaxPasses int     `json:"max_passes"` // 0: no limit
	Vectors   string  `json:"vectors"`
	Workers   int     `json:"workers"`
	Memory    int64   `json:"memory"`
	Init      string  `json:"init,omitempty"`       // the result that start vectors are from
	TimeLimit float64 `json:"time_limit,omitempty"` // seconds
	// OfMethod are the settings of the method but those it finds itself, by name. In
	// JSON they are fields like the others.
	OfMethod map[string]float64 `json:"-"`
}

func (s settings) MarshalJSON() ([]byte, error) {
	type plain settings
	text, err := json.Marshal(plain(s))
	if err != nil || len(s.OfMethod) == 0 {
		return text, err
	}
	more, err := json.Marshal(s.OfMethod)
	return append(append(text[:len(text)-1], ','), more[1:]...), err
}

func (s *settings) UnmarshalJSON(text []byte) error {
	type plain settings
	var all, others map[string]any
	if err := errors.Join(json.Unmarshal(text, (*plain)(s)), json.Unmarshal(text, &all)); err != nil {
		return err
	}
	known, err := json.Marshal((*plain)(s))
	if err == nil {
		err = json.Unmarshal(known, &others)
	}
	s.OfMethod = map[string]float64{}
	for name, v := range all {
		if x, ok := v.(float64); ok && others[name] == nil {
			s.OfMethod[name] = x
		}
	}
	return err
}

type storeRef struct {
	Path        string `json:"path"`
	Fingerprint string `json:"fingerprint"`
}

// readResult reads the result.json of a result directory. One that is damaged is
// csr.ErrCorrupt.
func readResult(fsys vfs.FS, dir string) (*result, error) {
	name := filepath.Join(dir, resultFile)
	text, err := vfs.ReadFile(fsys, name, maxResult)
	if err != nil {
		return nil, err
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, damagedResult(name, "%v", err)
	}
	switch head.Format {
	case resultFormat:
		if at, err := durable.CheckSeal(text); err != nil {
			return nil, damagedResult(name, "byte %d: %v", at, err)
		}
	case resultFormatFirst:
	default:
		return nil, &outcome{fmt.Sprintf("%s: format %q, want %q: it is damaged, or of another version or program", name, head.Format, resultFormat), csr.ErrCorrupt}
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, damagedResult(name, "%v", err)
	}
	return &r, nil
}

// damagedResult is the error about a file of a result that is not what was written.
func damagedResult(name, format string, args ...any) error {
	return &outcome{fmt.Sprintf("%s: %s: the file is damaged; remove the result and compute it again", name, fmt.Sprintf(format, args...)), csr.ErrCorrupt}
}

// isResult tells whether a directory is a result: only such a one is ever replaced.
func isResult(fsys vfs.FS, dir string) error {
	if _, err := readResult(fsys, dir); err != nil {
		return fmt.Errorf("it is not a result of gdsvd and is left alone: %w", err)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !ofResult(e.Name()) {
			return &fs.PathError{Op: "remove", Path: filepath.Join(dir, e.Name()),
				Err: fmt.Errorf("it is not part of a result; the directory is left alone")}
		}
	}
	return nil
}

// ofResult tells whether a file of OUT is one that a run makes there.
func ofResult(name string) bool {
	switch name {
	case sigmaFile, leftFile, rightFile, eventsFile, resultFile:
		return true
	}
	return ofCheckpoint(name)
}
