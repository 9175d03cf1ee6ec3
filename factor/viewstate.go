package factor

import (
	"github.com/gdsvd/gdsvd/factor/internal/layout"

	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
)

// viewHeader is the first line of layout.CheckpointView.
type viewHeader struct {
	Fingerprint string  `json:"fingerprint"` // of the store and the pipeline
	Lengths     []int64 `json:"lengths"`     // of the parts
}

// maxViewHeader is the size in bytes up to which the first line is read.
const maxViewHeader = 1 << 16

// viewBuffer is the size in bytes of the part of the file that is in memory.
const viewBuffer = 1 << 16

func writeMeasured(w io.Writer, v *view.View) error {
	parts, h := v.Measured(), viewHeader{v.Fingerprint(), v.Lengths()}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := crc.New()
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), viewBuffer)
	_, _ = b.Write(append(text, '\n')) // the error stays
	for _, part := range parts {
		for _, x := range part {
			_, _ = b.Write(binary.LittleEndian.AppendUint64(b.AvailableBuffer(), math.Float64bits(x)))
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, durable.SealedLine, crc.Sum(sum.Sum32()))
	return err
}

// recallMeasured gives a view what another run has measured for it.
func recallMeasured(fsys vfs.FS, name string, v *view.View) (err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := checkEvents(f)
	if err != nil {
		return err
	}
	parts, err := parseMeasured(io.NewSectionReader(f, 0, size), size, v)
	if err == nil {
		err = v.Recall(parts)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func parseMeasured(from io.Reader, size int64, v *view.View) ([][]float64, error) {
	r := bufio.NewReaderSize(from, maxViewHeader)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("bytes 0 to %d are no line of JSON: %w", len(line), err)
	}
	var h viewHeader
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("bytes 0 to %d: %w", len(line), err)
	}
	if h.Fingerprint != v.Fingerprint() {
		return nil, fmt.Errorf("it is of another store or view, %.16s…, not of %.16s…", h.Fingerprint, v.Fingerprint())
	}
	if want := v.Lengths(); !slices.Equal(h.Lengths, want) {
		return nil, fmt.Errorf("bytes 0 to %d: lengths %v, want %v", len(line), h.Lengths, want)
	}
	parts, numbers := make([][]float64, len(h.Lengths)), int64(0)
	for _, n := range h.Lengths {
		numbers += n
	}
	if want := int64(len(line)) + 8*numbers; size != want {
		return nil, fmt.Errorf("it has %d bytes before its checksum, its first line calls for %d", size, want)
	}
	for i := range parts {
		parts[i] = make([]float64, h.Lengths[i])
		for j := range parts[i] {
			b, err := r.Peek(8)
			if err != nil {
				return nil, err
			}
			parts[i][j] = math.Float64frombits(binary.LittleEndian.Uint64(b))
			if _, err := r.Discard(8); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// recallView takes what has been measured for the view from beside the checkpoint, and reports whether
// it could.
func (t *task) recallView(before outState) bool {
	if !t.Resume || !before.checkpoint {
		return false
	}
	err := recallMeasured(t.FS, filepath.Join(t.Dir, layout.CheckpointView), t.view)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Log.Warn("what was measured for the view is measured again", "error", err)
	}
	t.recalled = err == nil
	return t.recalled
}

// saveView keeps what has been measured for the view beside the checkpoint.
func (c *checkpoints) saveView() error {
	if c.view == nil || c.recalled {
		return nil
	}
	err := c.replace(layout.CheckpointView, func(w io.Writer) error { return writeMeasured(w, c.view) })
	c.recalled = err == nil
	return err
}
