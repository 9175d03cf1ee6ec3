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
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/crc"
)

const (
	eventsFile  = "events.jsonl"
	longestLine = 1 << 20
)

// readEvents reads the events of a result, nil if it has none. A file that is not what result.json says is csr.ErrCorrupt.
func readEvents(ctx context.Context, r *factor.Result) (_ []factor.Event, err error) {
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
func decodeEvents(ctx context.Context, in io.Reader) (_ []factor.Event, line int, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	var t live.Thinned
	for lines.Scan() {
		line++
		if line%1024 == 0 && ctx.Err() != nil {
			return nil, line, ctx.Err()
		}
		var e factor.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, line, fmt.Errorf("%w: %w", errEvents, err)
		}
		t.Add(e)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, line + 1, fmt.Errorf("%w: it is longer than %d bytes", errEvents, longestLine)
	} else if err != nil {
		return nil, line, err
	}
	return t.Events, line, nil
}
