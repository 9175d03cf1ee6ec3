package factor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/vfs"
)

// Names of the files of a result directory.
const (
	SigmaFile  = layout.Sigma
	LambdaFile = layout.Lambda // of eigenpairs, instead of SigmaFile
	ResultFile = layout.Result
)

// maxResult is the size in bytes up to which a result.json is read: that of one of
// a million triplets is smaller.
const maxResult = 256 << 20

// Number is a float64 whose JSON form is null when it is not finite.
type Number float64

func (x Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

func (x *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	*x = Number(v)
	return err
}

func numbers(x []float64) []Number {
	n := make([]Number, len(x))
	for i, v := range x {
		n[i] = Number(v)
	}
	return n
}

// Result is a factorisation in a result directory. Its fields are those of result.json, see
// RESULT.md; U and V are those of the user's matrix, whichever way it is stored.
type Result struct {
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
	Sigma         []Number      `json:"sigma,omitempty"`
	Lambda        []Number      `json:"lambda,omitempty"` // of eigenpairs, which have no sigma
	Norm          Number        `json:"norm,omitempty"`   // of eigenpairs: what residuals are relative to
	Residual      []Number      `json:"residual"`
	Floor         []Number      `json:"floor,omitempty"` // what rounding may hide of each residual; absent if not certified
	Clusters      [][2]int      `json:"clusters"`        // ranges of values closer than their residuals
	Orthogonality Orthogonality `json:"orthogonality"`
	Energy        Number        `json:"energy"`
	Target        *Target       `json:"target,omitempty"` // of a run with Options.Energy
	Outside       Outside       `json:"outside"`
	Passes        int           `json:"passes"`
	Products      int64         `json:"products"`
	BytesRead     int64         `json:"bytes_read"`
	Seconds       Seconds       `json:"seconds"`
	VectorFiles   int64         `json:"vector_files,omitempty"` // most bytes of vectors in files beside OUT; absent if in memory
	VectorsRead   int64         `json:"vectors_read,omitempty"` // bytes of vectors in files that the run has gone over; absent if in memory
	VectorsWrote  int64         `json:"vectors_written,omitempty"`
	PeakRSS       int64         `json:"peak_rss"` // measured; what was planned comes next
	Memory        []stream.Part `json:"memory,omitempty"`
	Seed          uint64        `json:"seed"`
	Settings      Settings      `json:"settings"`
	Choice        *Choice       `json:"choice,omitempty"` // of --method auto
	Store         StoreRef      `json:"store"`
	Engine        *Engine       `json:"engine,omitempty"`     // that made the passes; absent: the process itself
	View          *View         `json:"view,omitempty"`       // of the store, that the result is of; absent: the store itself
	Completion    *Completion   `json:"completion,omitempty"` // of the entries that are missing, by Complete; absent: of Run
	IDs           IDs           `json:"ids,omitzero"`         // of rows and columns
	Files         []File        `json:"files,omitempty"`      // the others of the directory
	CRC           crc.Sum       `json:"crc"`                  // of result.json; the last field

	dir    string
	fs     vfs.FS
	arrays map[string]*array // by name
}

// File is a file of a result.
type File struct {
	Name   string     `json:"name"`
	Size   int64      `json:"size"`
	CRC    crc.Sum    `json:"crc"`
	Pieces crc.Pieces `json:"pieces,omitempty"` // of a .npy file, of each MiB
}

// Orthogonality is max|UᵀU−I| and max|VᵀV−I|, null for vectors that were not computed.
type Orthogonality struct {
	U Number `json:"u"`
	V Number `json:"v"`
}

// Outside says what may be missing: no singular value beyond those found is larger than
// bound, unless that is wrong, which it is with at most the given probability.
type Outside struct {
	Steps       int     `json:"steps"` // products with random vectors outside of those found; 0: bound is that of the remaining energy
	Bound       Number  `json:"bound"`
	Probability float64 `json:"probability"`
	Leading     bool    `json:"leading"` // bound leaves no room for a value that was missed
}

// Seconds is where the time of a run has gone.
type Seconds struct {
	Total         float64 `json:"total"`
	Multiply      float64 `json:"multiply"`
	Orthogonalise float64 `json:"orthogonalise"`
	Wait          float64 `json:"wait"`
	Finish        float64 `json:"finish"`
	Checkpoint    float64 `json:"checkpoint"`
}

func newSeconds(s solver.Stats) Seconds {
	return Seconds{
		Total: s.Total.Seconds(), Multiply: s.Multiply.Seconds(), Orthogonalise: s.Orthogonalise.Seconds(),
		Wait: s.Wait.Seconds(), Finish: s.Finish.Seconds(), Checkpoint: s.Checkpoint.Seconds(),
	}
}

// Settings are those that a run was made with.
type Settings struct {
	Method    string  `json:"method"`
	Operator  string  `json:"operator"`
	Which     string  `json:"which,omitempty"` // LM, LA or SA: the result is of eigenpairs
	Shift     float64 `json:"shift,omitempty"` // absent: that of the solver
	Deflation string  `json:"deflation"`
	Stop      string  `json:"stop"`
	Tol       float64 `json:"tol"`
	Energy    float64 `json:"energy,omitempty"`   // the share of the energy that was asked for, instead of a number of triplets,
	MaxRank   int     `json:"max_rank,omitempty"` // and the most triplets of which it was asked
	MaxPasses int     `json:"max_passes"`         // 0: no limit
	Vectors   string  `json:"vectors"`
	Workers   int     `json:"workers"`
	Memory    int64   `json:"memory"`
	Init      string  `json:"init,omitempty"`       // the result that start vectors are from
	TimeLimit float64 `json:"time_limit,omitempty"` // seconds
	// OfMethod are the Settings of the method but those it finds itself, by name. In
	// JSON they are fields like the others.
	OfMethod map[string]float64 `json:"-"`
}

func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	text, err := json.Marshal(plain(s))
	if err != nil || len(s.OfMethod) == 0 {
		return text, err
	}
	more, err := json.Marshal(s.OfMethod)
	return append(append(text[:len(text)-1], ','), more[1:]...), err
}

func (s *Settings) UnmarshalJSON(text []byte) error {
	type plain Settings
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

// StoreRef is the store that a result is of.
type StoreRef struct {
	Path        string `json:"path"`
	Fingerprint string `json:"fingerprint"`
}

// Matrix is the fingerprint of the matrix that the result is of: the store, a view of it, or, of a name of
// its own, what completes it.
func (r *Result) Matrix() string {
	if r.Completion != nil {
		return r.Store.Fingerprint + " completed"
	}
	if r.View != nil {
		return r.View.Fingerprint
	}
	return r.Store.Fingerprint
}

// Open opens a result directory.
func Open(dir string) (*Result, error) { return OpenFS(vfs.OS(), dir) }

// Dir is the result directory.
func (r *Result) Dir() string { return r.dir }

// FS is the file system it is on.
func (r *Result) FS() vfs.FS { return r.fs }

// OpenFS is Open on a file system. A result.json that is damaged is csr.ErrCorrupt.
func OpenFS(fsys vfs.FS, dir string) (*Result, error) {
	name := filepath.Join(dir, ResultFile)
	text, err := vfs.ReadFile(fsys, name, maxResult)
	if err != nil {
		return nil, err
	}
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, damagedResult(name, "%.200v", err)
	}
	if head.Format != layout.Format {
		return nil, says(csr.ErrCorrupt, "%s: format %.60q, want %q: it is damaged, or of another version or program; compute the result again", name, head.Format, layout.Format)
	}
	if at, err := durable.CheckSeal(text); err != nil {
		return nil, damagedResult(name, "byte %d: %v", at, err)
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, damagedResult(name, "%.200v", err)
	}
	if err := r.consistent(); err != nil {
		return nil, damagedResult(name, "%v", err)
	}
	r.dir, r.fs = dir, fsys
	if err := r.list(); err != nil {
		return nil, damagedResult(name, "%v", err)
	}
	return &r, nil
}

// list takes in which files of numbers there are.
func (r *Result) list() (err error) {
	r.arrays = map[string]*array{}
	for _, f := range r.Files {
		if filepath.Ext(f.Name) != ".npy" || !layout.OfResult(f.Name) || filepath.Base(f.Name) != f.Name {
			continue
		}
		if r.arrays[f.Name], err = newArray(r, f); err != nil {
			return err
		}
	}
	return nil
}

// array opens a file of numbers, of which what is read is verified; it is fs.ErrNotExist unless the result lists it.
func (r *Result) array(name string) (*npy.Matrix, error) {
	a := r.arrays[name]
	if a == nil {
		return nil, says(fs.ErrNotExist, "%s lists no %s", filepath.Join(r.dir, ResultFile), name)
	}
	return a.open(r.fs, r.dir)
}

// consistent returns an error if the lengths, counts or values in result.json contradict k or the shape: readers index and
// allocate by them without a check of their own.
func (r *Result) consistent() error {
	k, values, other, name := r.K, r.Sigma, r.Lambda, "sigma"
	if r.Settings.Which != "" {
		values, other, name = other, values, "lambda"
	}
	strange := func(x Number) bool { return x-x != 0 }
	cluster := slices.IndexFunc(r.Clusters, func(c [2]int) bool { return c[0] < 0 || c[0] >= c[1] || c[1] > k })
	switch {
	case r.Rows < 0 || r.Rows > csr.MaxRows || r.Cols < 0 || r.Cols > csr.MaxRows || k < 1:
		return fmt.Errorf("rows, cols, k: %d, %d, %d", r.Rows, r.Cols, k)
	case len(values) != k || len(other) != 0 || len(r.Residual) != 0 && len(r.Residual) != k:
		return fmt.Errorf("%s, residual: %d and %d numbers, k is %d", name, len(values), len(r.Residual), k)
	case slices.ContainsFunc(values, strange):
		return fmt.Errorf("%s: number %d is not finite", name, slices.IndexFunc(values, strange))
	case len(r.Floor) != 0 && len(r.Floor) != k:
		return fmt.Errorf("floor: %d numbers, k is %d", len(r.Floor), k)
	case r.Converged < 0 || r.Converged > k || r.Rank < 0 || r.Rank > k:
		return fmt.Errorf("converged, rank: %d and %d, k is %d", r.Converged, r.Rank, k)
	case cluster >= 0:
		return fmt.Errorf("clusters: %v, k is %d", r.Clusters[cluster], k)
	}
	return nil
}

// isResult tells whether a directory is a result: only such a one is ever replaced.
func isResult(fsys vfs.FS, dir string) error {
	if _, err := OpenFS(fsys, dir); err != nil {
		return fmt.Errorf("it is not a result of gdsvd and is left alone: %w", err)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !layout.OfResult(e.Name()) {
			return &fs.PathError{Op: "remove", Path: filepath.Join(dir, e.Name()),
				Err: fmt.Errorf("it is not part of a result; the directory is left alone")}
		}
	}
	return nil
}

// Dims returns the numbers of rows and columns of the user's matrix.
func Dims(store *csr.Store) (rows, cols int64) { return csr.Orient(store, store.Rows(), store.Cols()) }
