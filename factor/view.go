package factor

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/remote"
	"github.com/gdsvd/gdsvd/stream/view"
)

// View describes the view of the store that a result factorises.
type View struct {
	Pipeline    string `json:"pipeline"`    // the pipeline in canonical form
	Fingerprint string `json:"fingerprint"` // fingerprint of the store and the pipeline
	Norm        Number `json:"norm"`        // ‖B‖_F, where B is the view of the matrix
	Reads       int    `json:"reads"`       // number of times that the store is read for statistics, in addition to the passes
	// number of rows if every column of B has mean 0, or number of columns if every row has; absent otherwise
	Observations  int64           `json:"observations,omitempty"`
	Variance      []Number        `json:"explained_variance,omitempty"`       // variance of each component, σ²/(observations − 1); absent without `observations`
	VarianceRatio []Number        `json:"explained_variance_ratio,omitempty"` // share of the variance of each component, σ²/‖B‖²_F; absent without `observations`
	Statistics    []ViewStatistic `json:"statistics,omitempty"`               // statistics that the steps have measured
}

// ViewStatistic is a number that a step has measured, or the file of a vector that it has measured.
type ViewStatistic struct {
	Step  string  `json:"step"`            // name of the step
	Name  string  `json:"name"`            // name of the statistic
	File  string  `json:"file,omitempty"`  // name of the file, if the statistic is a vector
	Value *Number `json:"value,omitempty"` // value, if the statistic is one number
}

// source returns the matrix that is factorised: the store, or its view.
func (t *task) source() stream.Source {
	if t.view != nil {
		return t.view
	}
	return t.store
}

// planView makes the view of the options. Its statistics are not measured yet.
func (t *task) planView() (err error) {
	if !t.View.Imputes() {
		err = t.store.NoMissing()
	}
	if err != nil || len(t.View) == 0 {
		return err
	}
	if t.View, err = t.read.Keep(t.FS, t.View, t.Memory, t.Log); err != nil {
		return err
	}
	across, _ := csr.Orient(t.store, false, true)
	t.view = view.Plan(t.read, t.View, across)
	return nil
}

// measureView reads the store for the statistics of the view, unless they are kept beside the checkpoint.
func (t *task) measureView(ctx context.Context, before outState, tasks *remote.Matrix) (err error) {
	if t.view == nil {
		return nil
	}
	if t.Resume && before.checkpoint {
		err := recallMeasured(t.FS, filepath.Join(t.Dir, layout.CheckpointView), t.view)
		if t.recalled = err == nil; t.recalled {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Log.Warn("the statistics of the view are measured again", "error", err)
		}
	}
	o := stream.Options{Memory: t.Memory, Workers: t.Workers}
	if tasks == nil {
		err = t.read.Measure(ctx, t.view, o, t.Measuring)
	} else {
		err = t.read.MeasureBy(t.view, t.Measuring, func() error { return tasks.Measure(ctx, o, t.read.Read) })
	}
	if err != nil && ctx.Err() != nil {
		return says(context.Canceled, source.Interrupted)
	}
	return err
}

// sayView adds the description of the view to a result.
func (t *task) sayView(r *Result) {
	if t.view == nil {
		return
	}
	norm, _ := t.view.Norm()
	r.View = &View{Pipeline: t.View.String(), Fingerprint: t.view.Fingerprint(), Norm: Number(norm), Reads: t.view.Reads()}
	switch t.View.Centred() {
	case "columns":
		r.View.Observations = r.Rows
	case "rows":
		r.View.Observations = r.Cols
	}
	if n := r.View.Observations; n > 0 {
		for _, s := range r.Sigma {
			r.View.Variance = append(r.View.Variance, s*s/Number(max(1, n-1)))
			share := Number(0) // (σ/norm)²
			if norm != 0 {
				share = s / Number(norm) * (s / Number(norm))
			}
			r.View.VarianceRatio = append(r.View.VarianceRatio, share)
		}
	}
	for _, s := range t.view.Statistics() {
		say := ViewStatistic{Step: t.View[s.Step].String(), Name: s.Name}
		if s.Number {
			say.Value = (*Number)(&s.Values[0])
		} else {
			say.File = viewFile(t.View, s)
		}
		r.View.Statistics = append(r.View.Statistics, say)
	}
}

func viewFile(p view.Pipeline, s view.Statistic) string {
	return fmt.Sprintf("%s%d-%s-%s.npy", layout.ViewPrefix, s.Step+1, p[s.Step].Name, s.Name)
}

func (o *output) writeView(p view.Pipeline, statistics []view.Statistic) error {
	for _, s := range statistics {
		if s.Number {
			continue
		}
		f := File{Name: viewFile(p, s)}
		if err := f.of(npy.WriteVector(o.fsys, o.path(f.Name), s.Values)); err != nil {
			return err
		}
		o.files = append(o.files, f)
	}
	return nil
}

// Pipeline returns the pipeline of the view that was factorised, with the masks kept beside the result; nil if it was the store.
func (r *Result) Pipeline(ctx context.Context) (view.Pipeline, error) {
	if r.View == nil {
		return nil, nil
	}
	p, err := view.Parse(r.View.Pipeline)
	if err == nil {
		p, err = p.Resolve(func(step int, file string) (*view.Mask, error) {
			if file != "" {
				return nil, fmt.Errorf("%v names a file, not what was in it", p[step])
			}
			n := r.Cols
			if p[step].Axis == "rows" {
				n = r.Rows
			}
			x, err := r.statistic(ctx, viewFile(p, view.Statistic{Step: step, Name: "mask"}), n)
			kept := make([]bool, len(x))
			for i, v := range x {
				kept[i] = v != 0
			}
			return view.NewMask(kept), err
		})
	}
	if err != nil && ctx.Err() == nil && !explained(err) {
		err = damagedResult(filepath.Join(r.dir, ResultFile), "view: %v", err)
	}
	return p, err
}

// explained reports whether an error itself says what can be done: it is about a damaged or an unreadable file.
func explained(err error) bool {
	_, system := errors.AsType[*fs.PathError](err)
	return system || errors.Is(err, csr.ErrCorrupt)
}

func (r *Result) statistic(ctx context.Context, name string, n int64) ([]float64, error) {
	if !layout.OfView(name) || filepath.Base(name) != name {
		return nil, fmt.Errorf("%q is no file of a view", name)
	}
	return r.vector(ctx, name, n)
}

// Fit fits the steps of the view to new rows or, if columns is true, new columns, by the statistics of the result's matrix.
func (r *Result) Fit(ctx context.Context, p view.Pipeline, columns bool) (*view.Fitted, error) {
	return view.Fit(p, r.Rows, r.Cols, columns, func(step int, name string, n int64) ([]float64, error) {
		nth := 0 // number of equal steps before this step
		for _, s := range p[:step] {
			if s.String() == p[step].String() {
				nth++
			}
		}
		for _, s := range r.View.Statistics {
			switch {
			case s.Step != p[step].String() || s.Name != name:
			case nth > 0:
				nth--
			case s.Value != nil:
				return []float64{float64(*s.Value)}, nil
			default:
				x, err := r.statistic(ctx, s.File, n)
				if err != nil && ctx.Err() == nil && !explained(err) {
					err = damagedResult(filepath.Join(r.dir, s.File), "%v", err)
				}
				return x, err
			}
		}
		return nil, fmt.Errorf("%s does not say the %s of its step %v: it was made by an earlier version; compute it again", r.dir, name, p[step])
	})
}

// viewHeader is the first line of layout.CheckpointView.
type viewHeader struct {
	Fingerprint string  `json:"fingerprint"` // fingerprint of the store and the pipeline
	Lengths     []int64 `json:"lengths"`     // lengths of the parts
}

// maxViewHeader is the largest size in bytes of the first line.
const maxViewHeader = 1 << 16

// viewBuffer is the size in bytes of the buffer for the file.
const viewBuffer = 1 << 16

func writeMeasured(w io.Writer, v *view.View) error {
	parts, h := v.Measured(), viewHeader{v.Fingerprint(), v.Lengths()}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := crc.New()
	b := bufio.NewWriterSize(io.MultiWriter(w, sum), viewBuffer)
	_, _ = b.Write(append(text, '\n')) // Flush returns the error
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

// recallMeasured reads the statistics that another run has measured into a view.
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
	numbers := int64(0)
	for _, n := range h.Lengths {
		numbers += n
	}
	if want := int64(len(line)) + 8*numbers; size != want {
		return nil, fmt.Errorf("it has %d bytes before its checksum, its first line calls for %d", size, want)
	}
	parts := make([][]float64, len(h.Lengths))
	for i, n := range h.Lengths {
		parts[i] = make([]float64, n)
		for some := range slices.Chunk(parts[i], viewBuffer/8) {
			if err := binary.Read(r, binary.LittleEndian, some); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

// saveView writes the statistics of the view beside the checkpoint.
func (c *checkpoints) saveView() error {
	if c.view == nil || c.recalled {
		return nil
	}
	err := c.replace(layout.CheckpointView, func(w io.Writer) error { return writeMeasured(w, c.view) })
	c.recalled = err == nil
	return err
}
