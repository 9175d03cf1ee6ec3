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
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// Names of the files of a result directory.
const (
	SigmaFile  = layout.Sigma
	LambdaFile = layout.Lambda // replaces SigmaFile in a result of eigenpairs
	ResultFile = layout.Result
)

// maxResult is the largest size in bytes of a result.json that is read. The file of a million triplets is smaller.
const maxResult = 256 << 20

// Number is a float64 whose JSON form is null when it is not finite.
type Number float64

// Ceil rounds x up to the given number of significant digits, so that an upper bound printed with them is still an upper bound.
func (x Number) Ceil(digits int) Number {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', digits, 64), 64)
	if y < float64(x) {
		y += math.Pow10(int(math.Floor(math.Log10(math.Abs(y)))) + 1 - digits)
	}
	return Number(y)
}

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

// Result is a factorisation in a result directory. Its fields are those of result.json, see RESULT.md. U and V are those
// of the user's matrix, whichever way it is stored.
type Result struct {
	Format        string        `json:"format"`                    // name of the format
	Rows          int64         `json:"rows"`                      // number of rows of the matrix
	Cols          int64         `json:"cols"`                      // number of columns of the matrix
	NNZ           int64         `json:"nnz"`                       // number of stored entries
	K             int           `json:"k"`                         // number of triplets
	Method        string        `json:"method"`                    // name of the method
	Status        string        `json:"status"`                    // how the run ended, such as "converged"
	Certified     bool          `json:"certified"`                 // whether the residuals are measured rather than estimated
	Converged     int           `json:"converged"`                 // number of triplets whose certified residual and floor are at most the tolerance
	Rank          int           `json:"rank"`                      // number of singular values that are larger than the rounding error
	Sigma         []Number      `json:"sigma,omitempty"`           // the singular values, descending
	Lambda        []Number      `json:"lambda,omitempty"`          // the eigenvalues, of a result of gdsvd eigs, which has no `sigma`
	Norm          Number        `json:"norm,omitempty"`            // the norm that the residuals of eigenpairs are divided by
	Residual      []Number      `json:"residual"`                  // relative residual of each triplet
	Floor         []Number      `json:"floor,omitempty"`           // bound on the rounding error of each residual; absent if the result is not certified
	Clusters      [][2]int      `json:"clusters"`                  // ranges [first, end) of indices of singular values that are closer to one another than their residuals
	Orthogonality Orthogonality `json:"orthogonality"`             // deviation of the vectors from orthonormality
	Energy        Number        `json:"energy"`                    // share of ‖A‖²_F that the triplets capture
	Target        *Target       `json:"target,omitempty"`          // the share of the energy that was asked for; absent if K was given
	Outside       Outside       `json:"outside"`                   // what is known about singular values that are not in the result
	Passes        int           `json:"passes"`                    // number of passes over the matrix
	Products      int64         `json:"products"`                  // number of columns that were multiplied by the matrix; 0 for a completion
	BytesRead     int64         `json:"bytes_read"`                // bytes read from the store; 0 for a completion
	Seconds       Seconds       `json:"seconds"`                   // seconds of the run, by activity
	VectorFiles   int64         `json:"vector_files,omitempty"`    // largest size of the files of vectors beside OUT, in bytes; absent if the vectors are in memory
	VectorsRead   int64         `json:"vectors_read,omitempty"`    // bytes of vectors read from files; absent if the vectors are in memory
	VectorsWrote  int64         `json:"vectors_written,omitempty"` // bytes of vectors written to files
	PeakRSS       int64         `json:"peak_rss"`                  // peak resident memory of the process, measured
	Memory        []stream.Part `json:"memory,omitempty"`          // planned memory, one element for each purpose
	Seed          uint64        `json:"seed"`                      // seed of the random numbers
	Settings      Settings      `json:"settings"`                  // flags of the run, and their values
	Choice        *Choice       `json:"choice,omitempty"`          // what `--method auto` chose
	Store         StoreRef      `json:"store"`                     // the store
	Engine        *Engine       `json:"engine,omitempty"`          // the engine that ran the passes; absent if the process itself ran them
	View          *View         `json:"view,omitempty"`            // the view of the store that was factorised; absent if it was the store itself
	Completion    *Completion   `json:"completion,omitempty"`      // the completion of missing entries; absent in results of other commands than `complete`
	IDs           IDs           `json:"ids,omitzero"`              // the ids of rows and columns
	Files         []File        `json:"files,omitempty"`           // the other files of the directory, with sizes and checksums
	CRC           csr.Checksum  `json:"crc"`                       // checksum of result.json, its last field

	dir    string
	fs     vfs.FS
	arrays map[string]*array // by name
}

// Pieces are the checksums of the MiBs of a file, in order.
type Pieces = crc.Pieces

// File is a file of a result.
type File struct {
	Name   string       `json:"name"`             // name of the file
	Size   int64        `json:"size"`             // size in bytes
	CRC    csr.Checksum `json:"crc"`              // checksum (CRC-32C)
	Pieces Pieces       `json:"pieces,omitempty"` // checksums of the MiBs of a `.npy` file, in order, 8 hex digits each
}

// Orthogonality is max|UᵀU−I| and max|VᵀV−I|, null for vectors that were not computed.
type Orthogonality struct {
	U Number `json:"u"` // largest element of UᵀU − I
	V Number `json:"v"` // largest element of VᵀV − I
}

// Outside bounds the singular values that the result does not have. The bound is wrong with at most the given probability.
type Outside struct {
	Steps       int     `json:"steps"`       // number of products with random vectors orthogonal to the triplets found; 0 if the bound follows from the remaining energy
	Bound       Number  `json:"bound"`       // upper bound on every singular value that is not in the result
	Probability float64 `json:"probability"` // upper bound on the probability that `outside.bound` is wrong
	Leading     bool    `json:"leading"`     // whether the bound shows that no singular value larger than those of the result is missing, within twice the tolerance and rounding, which with `--operator gram` is 1.4e-14 of the largest square in the squares of values
}

// Seconds divides the time of a run by activity.
type Seconds struct {
	Total         float64 `json:"total"`         // seconds in total
	Multiply      float64 `json:"multiply"`      // seconds of products with the matrix; 0 for a completion
	Orthogonalise float64 `json:"orthogonalise"` // seconds of orthogonalising vectors
	Wait          float64 `json:"wait"`          // seconds of waiting for the disk
	Finish        float64 `json:"finish"`        // seconds of computing the certificate and the left vectors
	Checkpoint    float64 `json:"checkpoint"`    // seconds of writing checkpoints
}

func newSeconds(s solver.Stats) Seconds {
	return Seconds{
		Total: s.Total.Seconds(), Multiply: s.Multiply.Seconds(), Orthogonalise: s.Orthogonalise.Seconds(),
		Wait: s.Wait.Seconds(), Finish: s.Finish.Seconds(), Checkpoint: s.Checkpoint.Seconds(),
	}
}

// Settings are the settings of a run.
type Settings struct {
	Method    string  `json:"method"`               // name of the method
	Operator  string  `json:"operator"`             // operator that is iterated: "gram" (AᵀA), "dilation", or "symmetric" for eigenpairs
	Which     string  `json:"which,omitempty"`      // which eigenvalues: "LM", "LA" or "SA"; absent for singular values
	Shift     float64 `json:"shift,omitempty"`      // shift of the operator; absent if the solver chose it
	Deflation string  `json:"deflation"`            // how triplets that were found are kept out: "projected" or "plain"
	Stop      string  `json:"stop"`                 // stopping rule: "residual" or "paper"
	Tol       float64 `json:"tol"`                  // tolerance
	Energy    float64 `json:"energy,omitempty"`     // share of the energy that was asked for; absent if a number of triplets was
	MaxRank   int     `json:"max_rank,omitempty"`   // largest number of triplets to reach `settings.energy` with
	MaxPasses int     `json:"max_passes"`           // largest number of passes; 0 if there is no limit
	Vectors   string  `json:"vectors"`              // vectors that are written: "both", "left", "right" or "none"
	Workers   int     `json:"workers"`              // number of threads
	Memory    int64   `json:"memory"`               // memory budget in bytes
	Init      string  `json:"init,omitempty"`       // result that the start vectors are from
	TimeLimit float64 `json:"time_limit,omitempty"` // limit of the time in seconds
	// OfMethod holds the settings of the method by name, without those that the method finds itself. In JSON they are
	// fields like the others.
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

// StoreRef identifies the store of a result.
type StoreRef struct {
	Path        string `json:"path"`        // path of the store, or the input that the store of the run was made of, `-` for standard input
	Fingerprint string `json:"fingerprint"` // fingerprint of the matrix, 64 hex digits
}

// Missing says which singular values a certified result may lack; it returns "" for other results. A bound that is not
// below any value is left out.
func (r *Result) Missing() string {
	if !r.Certified {
		return ""
	}
	values, noun, side, sign := r.Sigma, "value", "larger", Number(1)
	beyond := "no other %s is above %.5g"
	if r.Settings.Which != "" {
		values, noun = r.Lambda, "eigenvalue"
	}
	first, least, bound := values[0], values[len(values)-1], r.Outside.Bound
	switch r.Settings.Which {
	case "LM":
		first, least, beyond = max(first, -first), max(least, -least), beyond+" in magnitude"
	case "SA":
		first, least, bound, side, sign, beyond = -first, -least, -bound, "smaller", -1, "no other %s is below %.5g"
	}
	beyond = fmt.Sprintf(beyond, noun, sign*bound.Ceil(5)+0) // no negative zero
	if r.Outside.Leading {
		text := "nothing " + side + " is missing"
		// Only the allowance for rounding lets the bound count as no larger than the least value: see solver.Outside.
		if r.Settings.Operator == "gram" && least > 0 && float64(bound-least) > 2.01*r.Settings.Tol*float64(first) {
			text = "rounding of AᵀA may hide a larger value, which --operator dilation finds"
		}
		if p := r.Outside.Probability; p > 0 {
			text += strings.Replace(fmt.Sprintf(" (error probability %.0e)", p), "e-0", "e-", 1)
		}
		return text + ": " + beyond
	}
	text := fmt.Sprintf("whether a %s %s is missing is not shown", side, noun)
	if r.Settings.Stop != "paper" {
		text += "; a run that begins with this result, --init, shows it"
	}
	switch {
	case bound <= least:
		return beyond
	case bound < first:
		return beyond + "; " + text
	}
	return text
}

// Matrix returns the fingerprint of the factorised matrix: that of the store or of its view. A completed matrix has
// a fingerprint of its own.
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

func (r *Result) Dir() string { return r.dir }

// FS returns the file system of the result.
func (r *Result) FS() vfs.FS { return r.fs }

// OpenFS is Open on a file system. The error of a damaged result.json wraps csr.ErrCorrupt.
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

// list fills r.arrays with the listed files of numbers.
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

// array opens a file of numbers; reads from it are verified. If the result does not list it, the error wraps fs.ErrNotExist.
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
	case r.Completion != nil && (r.Settings.Which != "" || r.Rank != k):
		return fmt.Errorf("completion: which %.60q, rank %d, k is %d", r.Settings.Which, r.Rank, k)
	case cluster >= 0:
		return fmt.Errorf("clusters: %v, k is %d", r.Clusters[cluster], k)
	}
	return nil
}

// isResult returns an error unless a directory is a result and holds nothing else: only such a directory is ever replaced.
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
