package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// Options of Result. The zero value verifies the files and measures nothing.
type Options struct {
	Store    string                    // the store to measure the result on; "": none
	Tol      float64                   // tolerance for the residuals; 0: residuals are compared with what the result states
	Memory   int64                     // budget of the whole process in bytes; 0: factor.DefaultMemory
	Workers  int                       // 0: all processors
	FS       vfs.FS                    // nil: the operating system's
	Log      *slog.Logger              // nil: nothing is logged
	Planned  func(factor.Memory) error // is called with the planned memory before it is allocated
	Progress func(done, total int64)   // reports bytes read; several goroutines may call it at the same time
	Remote   *remote.Options           // engine whose tasks measure; nil: this process measures
}

type checker struct {
	Options
	dir     string
	entries []fs.DirEntry
	stated  *factor.Result // contents of result.json; nil if it is missing or cannot be read
	arrays  arrays
	values  []float64
	report  *Report
	total   int64 // bytes to be read, for the progress
}

// Result verifies a result directory of this program or another, or a directory of package foldin or align, as far as this is
// possible without the matrix. If o has a store, Result measures the triplets on its matrix. The report lists what is wrong
// with the result; the error is for a check that could not be completed.
func Result(ctx context.Context, dir string, o Options) (_ *Report, err error) {
	o.FS = cmp.Or(o.FS, vfs.OS())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Planned == nil {
		o.Planned = func(factor.Memory) error { return nil }
	}
	o.Memory = cmp.Or(o.Memory, factor.DefaultMemory())
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	c := &checker{Options: o, dir: dir, report: &Report{Dir: dir}}
	defer func() { err = errors.Join(err, c.arrays.close()) }()
	if err := c.run(ctx); err != nil {
		return nil, c.stated.OrReplaced(err)
	}
	if len(c.report.Problems) > 0 {
		if err := c.stated.OrReplaced(csr.ErrCorrupt); !errors.Is(err, csr.ErrCorrupt) {
			return nil, err
		}
	}
	if o.Store != "" && len(c.report.Problems) == 0 {
		if c.report.Measured, err = c.measure(ctx); err != nil {
			return nil, err
		}
	}
	return c.report, nil
}

func (c *checker) run(ctx context.Context) (err error) {
	if c.entries, err = c.FS.ReadDir(c.dir); err != nil {
		return err
	}
	for _, kind := range []folder.Kind{folder.Projection(), folder.Alignment()} {
		if c.has(kind.File) && !c.has(factor.ResultFile) {
			return c.folder(ctx, kind)
		}
	}
	if c.has(factor.ResultFile) {
		c.stated, err = factor.OpenFS(c.FS, c.dir)
		if err := c.problem(err); err != nil {
			return err
		}
	} else if description, beside := c.undescribed(); beside != "" {
		c.wrong(description, "it is missing beside %s", beside)
	}
	if c.stated != nil {
		c.report.Sealed, c.report.stated = true, c.stated
	}
	if err := c.arrays.open(c.FS, c.dir, c.entries, c.problem); err != nil {
		return err
	}
	for _, m := range c.arrays.all() {
		c.total += m.Size()
	}
	steps := []func(context.Context) error{c.contents, c.names, c.shapes, c.statements, c.checkpoint}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.strays()
	c.report.what = c.kind()
	return nil
}

// undescribed finds a file that only gdsvd writes, and returns the name of the file that would describe it. Arrays of other
// programs and the checkpoint of a first run have no description.
func (c *checker) undescribed() (description, file string) {
	for _, e := range c.entries {
		switch name := e.Name(); {
		case name == folder.Vectors && c.has(folder.Rotation):
			return folder.Alignment().File, name
		case name == folder.Vectors:
			return folder.Projection().File, name
		case name == layout.Events:
			return factor.ResultFile, name
		case name == layout.RowBiases, name == layout.ColBiases, layout.OfView(name), layout.OfNames(name):
			description, file = factor.ResultFile, name
		}
	}
	return description, file
}

func (c *checker) has(name string) bool {
	return slices.ContainsFunc(c.entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// problem records err if it says that the result is damaged, and returns any other error.
func (c *checker) problem(err error) error {
	switch {
	case errors.Is(err, npy.ErrFormat):
		err = errors.New(strings.TrimSuffix(err.Error(), ": "+npy.ErrFormat.Error()))
	case !errors.Is(err, csr.ErrCorrupt):
		return err
	}
	c.report.Problems = append(c.report.Problems, err)
	return nil
}

func (c *checker) wrong(name, format string, args ...any) {
	c.report.Problems = append(c.report.Problems, fmt.Errorf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...)))
}

func (c *checker) warn(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...))
	c.report.Warnings = append(c.report.Warnings, text)
}

func (c *checker) advance(n int) {
	c.report.Bytes += int64(n)
	c.Progress(c.report.Bytes, max(c.total, c.report.Bytes))
}

// names verifies the number, kind and order of the ids and titles of a result. It does nothing if the report has problems
// already.
func (c *checker) names(ctx context.Context) error {
	if c.stated == nil || len(c.report.Problems) > 0 {
		return nil
	}
	for _, side := range []struct {
		of   *factor.SideIDs
		open func(context.Context) (*factor.Names, error)
	}{{c.stated.IDs.Rows, c.stated.RowNames}, {c.stated.IDs.Cols, c.stated.ColNames}} {
		if side.of == nil {
			continue
		}
		n, err := side.open(ctx)
		if err == nil {
			err = errors.Join(n.Verify(ctx), n.Close())
		}
		if err := c.problem(err); err != nil {
			return err
		}
	}
	return nil
}

// shapes compares the arrays with one another and with result.json.
func (c *checker) shapes(context.Context) (err error) {
	if c.arrays.sigma == nil {
		if len(c.report.Problems) == 0 && (c.stated != nil || c.arrays.u != nil || c.arrays.v != nil) {
			c.wrong(factor.SigmaFile, "there are no singular values: want %s", strings.Join(arrayNames["sigma"], " or "))
		}
		return nil
	}
	if c.values, err = c.arrays.values(); err != nil {
		return c.problem(err)
	}
	if !c.arrays.signed() {
		err = sorted(c.arrays.sigma.Name(), c.values, c.stated == nil)
	}
	if err == nil {
		rows, cols := int64(0), int64(0)
		if c.stated != nil {
			rows, cols = c.stated.Rows, c.stated.Cols
		}
		err = c.arrays.fits(rows, cols, int64(len(c.values)))
	}
	if err != nil {
		c.report.Problems = append(c.report.Problems, err)
	}
	return nil
}

// statements compares the fields of result.json with one another and with the arrays.
func (c *checker) statements(context.Context) error {
	r := c.stated
	if r == nil {
		return nil
	}
	k, values, valuesFile := r.K, r.Sigma, factor.SigmaFile
	if r.Settings.Which != "" {
		values, valuesFile = r.Lambda, factor.LambdaFile
	}
	switch {
	case r.Rows < 1 || r.Cols < 1:
		c.wrong(factor.ResultFile, "rows, cols: %d, %d", r.Rows, r.Cols)
	case len(r.Residual) != k && r.Completion == nil:
		c.wrong(factor.ResultFile, "residual: %d numbers, k is %d", len(r.Residual), k)
	case c.values != nil && len(c.values) != k:
		c.wrong(valuesFile, "shape: %d values, k is %d in %s", len(c.values), k, factor.ResultFile)
	case c.values != nil:
		for i, v := range c.values {
			if math.Float64bits(float64(values[i])) != math.Float64bits(v) {
				c.wrong(factor.ResultFile, "%s: value %d is %v, %v in %s", strings.TrimSuffix(valuesFile, ".npy"), i, values[i], v, valuesFile)
				break
			}
		}
	}
	both, vectors := factor.Both.String(), r.Settings.Vectors
	want := map[string]bool{
		valuesFile: true, layout.Events: true,
		layout.Left: vectors == both || vectors == factor.Left.String(), layout.Right: vectors == both || vectors == factor.Right.String(),
	}
	for _, name := range []string{factor.SigmaFile, factor.LambdaFile, layout.Left, layout.Right, layout.Events} {
		listed := slices.ContainsFunc(r.Files, func(p factor.File) bool { return p.Name == name })
		switch {
		case listed && !want[name]:
			c.wrong(factor.ResultFile, "files: %s is listed, settings.vectors is %q", name, r.Settings.Vectors)
		case want[name] && r.Certified && !listed:
			c.wrong(name, "the file is missing")
		case !listed && c.has(name):
			c.warn(name, "%s does not list it", factor.ResultFile)
		}
	}
	return nil
}

// checkpoint verifies the checkpoint of an unfinished run, if the directory has one.
func (c *checker) checkpoint(ctx context.Context) error {
	for _, name := range []string{layout.Checkpoint, layout.CheckpointEvents, layout.CheckpointView} {
		if !c.has(name) {
			continue
		}
		if name == layout.Checkpoint {
			info, err := c.FS.Stat(filepath.Join(c.dir, name))
			if err != nil {
				return err
			}
			c.total += info.Size()
		}
		if err := c.problem(c.verify(ctx, filepath.Join(c.dir, name))); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) verify(ctx context.Context, path string) (err error) {
	visit := func(b []byte) error { c.advance(len(b)); return ctx.Err() }
	f, err := c.FS.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		switch {
		case errors.Is(err, durable.ErrLines):
			err = says(csr.ErrCorrupt, "%s is damaged: %s", path, strings.TrimPrefix(err.Error(), durable.ErrLines.Error()+": "))
		case errors.Is(err, solver.ErrCheckpoint), errors.Is(err, complete.ErrState):
			err = says(csr.ErrCorrupt, "%s is damaged: %v (%v begins anew)", path, err, factor.Option("Replace"))
		}
		err = errors.Join(err, f.Close())
	}()
	if filepath.Base(path) != layout.Checkpoint {
		_, err = durable.CheckLines(f, visit)
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if complete.IsState(f) {
		_, _, err = complete.Load(f, info.Size())
		c.advance(int(info.Size()))
		return errors.Join(err, ctx.Err())
	}
	saved, err := solver.ReadCheckpoint(io.TeeReader(f, writerFunc(visit)), info.Size())
	if err != nil {
		return err
	}
	return saved.Verify()
}

type writerFunc func(b []byte) error

func (f writerFunc) Write(b []byte) (int, error) { return len(b), f(b) }

// strays warns of files that do not belong to a result of gdsvd.
func (c *checker) strays() {
	if c.stated == nil {
		return
	}
	for _, e := range c.entries {
		switch name := e.Name(); {
		case !layout.OfResult(name):
			c.warn(name, "the file does not belong to the result")
		case strings.HasSuffix(name, layout.Half):
			c.warn(name, "left by a checkpoint that was not written to its end; --resume and --force remove it")
		}
	}
}

// kind returns the format of the sentence about a directory without problems.
func (c *checker) kind() string {
	switch {
	case c.report.Sealed:
		return "%[1]s is sound: its files match " + factor.ResultFile + ", %[2]s read"
	case c.arrays.sigma == nil:
		return "the checkpoint in %[1]s is sound, %[2]s read"
	}
	return "the arrays in %[1]s are whole and finite, %[2]s read; there is no " + factor.ResultFile + " to compare them with"
}

func says(kind error, format string, args ...any) error {
	return &factor.Error{Kind: kind, Format: format, Args: args}
}
