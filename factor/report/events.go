package report

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/solver"
)

// event is what a line of events.jsonl says that is drawn. Fields of a completion are absent elsewhere.
type event struct {
	Phase    string        `json:"phase"`
	Pass     int           `json:"pass"`
	Triplet  int           `json:"triplet"`
	Residual factor.Number `json:"residual"`
	Open     int           `json:"open"`
	Worst    factor.Number `json:"worst"`
	Seconds  struct {
		Total float64 `json:"total"`
	} `json:"seconds"`
	Objective factor.Number `json:"objective"`
	RMSE      factor.Number `json:"rmse"`
	HeldOut   factor.Number `json:"held_out_rmse"`
}

const (
	eventsFile = "events.jsonl"
	// Of a file with more lines than mostEvents, each second one is kept, or each fourth, and so on, and the last one.
	mostEvents  = 1500
	longestLine = 1 << 20
)

// readEvents reads the events of a result, nil if it has none. A file that is not what result.json says is csr.ErrCorrupt.
func readEvents(ctx context.Context, r *factor.Result) (_ []event, err error) {
	path := filepath.Join(r.Dir(), eventsFile)
	f, err := r.FS().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := crc.New()
	in := &sized{Reader: io.TeeReader(f, sum)}
	events, line, err := decodeEvents(ctx, in)
	if err == nil {
		for _, file := range r.Files {
			if file.Name == eventsFile && (file.Size != in.n || uint32(file.CRC) != sum.Sum32()) {
				err = fmt.Errorf("%w: %d bytes with the checksum %v, where %s says %d with %v", errEvents, in.n, crc.Sum(sum.Sum32()), factor.ResultFile, file.Size, file.CRC)
			}
		}
	}
	if errors.Is(err, errEvents) {
		err = fmt.Errorf("%w: %s: line %d: %w: the file is damaged; remove the result and compute it again", csr.ErrCorrupt, path, line, err)
	}
	return events, err
}

// sized counts what is read.
type sized struct {
	io.Reader
	n int64
}

func (s *sized) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.n += int64(n)
	return n, err
}

// errEvents says that lines are no events.
var errEvents = errors.New("no list of events")

// decodeEvents reads lines, and returns how many.
func decodeEvents(ctx context.Context, in io.Reader) (_ []event, line int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	var t thinned
	for lines.Scan() {
		line++
		if line%1024 == 0 && ctx.Err() != nil {
			return nil, line, ctx.Err()
		}
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, line, fmt.Errorf("%w: %w", errEvents, err)
		}
		t.add(e)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, line + 1, fmt.Errorf("%w: it is longer than %d bytes", errEvents, longestLine)
	} else if err != nil {
		return nil, line, err
	}
	return t.all(), line, nil
}

// thinned keeps some of many events.
type thinned struct {
	kept      []event
	n, stride int
	last      event
}

func (t *thinned) add(e event) {
	t.stride = max(t.stride, 1)
	if t.last = e; t.n%t.stride == 0 {
		t.kept = append(t.kept, e)
	}
	t.n++
	if len(t.kept) > mostEvents {
		for i := 0; 2*i < len(t.kept); i++ {
			t.kept[i] = t.kept[2*i]
		}
		t.kept = t.kept[:(len(t.kept)+1)/2]
		t.stride *= 2
	}
}

func (t *thinned) all() []event {
	if t.n > 0 && (t.n-1)%t.stride != 0 {
		return append(t.kept, t.last)
	}
	return t.kept
}

// searching tells whether an event is of a pass that looks for what may have been missed: its residuals are of no triplet.
func (e event) searching() bool {
	return e.Phase == solver.PhaseConfirm || e.Phase == solver.PhaseOutside
}
