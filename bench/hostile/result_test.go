package hostile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

// result is a result directory, read without the program.
type result struct {
	harness.Result
	K        int       `json:"k"`
	Floor    []float64 `json:"floor"` // bounds of what rounding may hide of each residual; nil: none are given
	sigma    []float64
	u, v     *mat.Dense
	tol      float64
	operator string
}

// readResult reads the result of a rows×cols matrix.
func readResult(dir string, rows, cols int) (*result, error) {
	b, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return nil, wrongf("%v", err)
	}
	r := &result{}
	// harness.Result reads null as 0, which must not pass here.
	if m := regexp.MustCompile(`(?s)"(sigma|residual)": \[[^\]]*null`).FindSubmatch(b); m != nil {
		return nil, wrongf("result.json: %s has an entry that is not a number", m[1])
	}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, wrongf("result.json: %v", err)
	}
	if err := json.Unmarshal(r.Settings["tol"], &r.tol); err != nil {
		return nil, wrongf("result.json: settings.tol: %v", err)
	}
	if err := json.Unmarshal(r.Settings["operator"], &r.operator); err != nil {
		return nil, wrongf("result.json: settings.operator: %v", err)
	}
	s, err := readNPY(filepath.Join(dir, "sigma.npy"), r.K, 1)
	if err != nil {
		return nil, err
	}
	r.sigma = s.RawMatrix().Data
	if r.u, err = readNPY(filepath.Join(dir, "U.npy"), rows, r.K); err != nil {
		return nil, err
	}
	r.v, err = readNPY(filepath.Join(dir, "V.npy"), cols, r.K)
	return r, err
}

var (
	npyShape = regexp.MustCompile(`'shape': \((\d+),(?: (\d+),?)?\)`)
	npyOrder = regexp.MustCompile(`'fortran_order': (True|False)`)
)

// readNPY reads an array of finite float64 values of shape (rows, cols), or (rows,) if cols is 1.
func readNPY(name string, rows, cols int) (*mat.Dense, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, wrongf("%v", err)
	}
	base := filepath.Base(name)
	if len(b) < 12 || !bytes.HasPrefix(b, []byte("\x93NUMPY")) {
		return nil, wrongf("%s: not an npy file", base)
	}
	begin, size := 10, int(binary.LittleEndian.Uint16(b[8:]))
	if b[6] >= 2 {
		begin, size = 12, int(binary.LittleEndian.Uint32(b[8:]))
	}
	if begin+size > len(b) {
		return nil, wrongf("%s: the header ends behind the file", base)
	}
	header := b[begin : begin+size]
	shape, order := npyShape.FindSubmatch(header), npyOrder.FindSubmatch(header)
	if shape == nil || order == nil || !bytes.Contains(header, []byte("'descr': '<f8'")) {
		return nil, wrongf("%s: header %q", base, header)
	}
	first, _ := strconv.Atoi(string(shape[1]))
	second := 1
	if len(shape[2]) > 0 {
		second, _ = strconv.Atoi(string(shape[2]))
	}
	data := b[begin+size:]
	if first != rows || second != cols || len(data) != 8*rows*cols {
		return nil, wrongf("%s: %d × %d in %d bytes, want %d × %d", base, first, second, len(data), rows, cols)
	}
	a := mat.NewDense(rows, cols, nil)
	for n := range rows * cols {
		v := math.Float64frombits(binary.LittleEndian.Uint64(data[8*n:]))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, wrongf("%s: value %d is %v", base, n, v)
		}
		if string(order[1]) == "True" {
			a.Set(n%rows, n/rows, v)
		} else {
			a.Set(n/cols, n%cols, v)
		}
	}
	return a, nil
}

// readJSON reads a JSON object from a file.
func readJSON(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

// event holds the fields of a line of events.jsonl that do not measure the process.
type event struct {
	Phase           string
	Pass            int
	Sigma, Residual float64
}

// readEvents reads the events of a result.
func readEvents(dir string) (all []event, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("events.jsonl: %w", err)
		}
		all = append(all, e)
	}
	return all, nil
}
