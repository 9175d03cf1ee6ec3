package factor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/factor/internal/folder"
	"github.com/gdsvd/gdsvd/factor/internal/npy"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
)

// CheckOptions of Check. The zero value verifies the files and measures nothing.
type CheckOptions struct {
	Store    string                  // the store to measure the result on; "": none
	Tol      float64                 // what to compare residuals with; 0: what the result states
	Memory   int64                   // budget of the whole process in bytes; 0: DefaultMemory
	Workers  int                     // 0: all processors
	FS       vfs.FS                  // nil: the operating system's
	Log      *slog.Logger            // nil: nothing is logged
	Planned  func(Memory) error      // is told what measuring will take before it takes it
	Progress func(done, total int64) // bytes; several goroutines may call it at a time
}

// Report is what Check has found.
type Report struct {
	Dir      string
	Sealed   bool         // there are checksums, and they were compared
	Bytes    int64        // of files that were read
	Problems []error      // that make the result unfit for use
	Warnings []string     //
	Measured *Measurement // with CheckOptions.Store

	what string // there is
}

// resultChecker is one check of a result directory.
type resultChecker struct {
	CheckOptions
	dir     string
	entries []fs.DirEntry
	stated  *Result // result.json; nil if there is none, or none that can be read
	arrays  arrays
	values  []float64
	report  *Report
	total   int64 // bytes to be read, for the progress
}

// Check verifies a result directory, of this program or another, or what packages foldin and align write, as far as that goes without the matrix, and
// measures the triplets on the matrix if o has a store. What is wrong with the result is in the report;
// the error is for what kept it from being checked.
func Check(ctx context.Context, dir string, o CheckOptions) (_ *Report, err error) {
	full := Options{FS: o.FS, Log: o.Log, Planned: o.Planned, Memory: o.Memory, Workers: o.Workers}.withDefaults()
	o.FS, o.Log, o.Planned, o.Memory, o.Workers = full.FS, full.Log, full.Planned, full.Memory, full.Workers
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	c := &resultChecker{CheckOptions: o, dir: dir, report: &Report{Dir: dir}}
	defer func() { err = errors.Join(err, c.arrays.close()) }()
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	if o.Store != "" && len(c.report.Problems) == 0 {
		if c.report.Measured, err = c.measure(ctx); err != nil {
			return nil, err
		}
	}
	return c.report, nil
}

func (c *resultChecker) run(ctx context.Context) (err error) {
	if c.entries, err = c.FS.ReadDir(c.dir); err != nil {
		return err
	}
	for _, kind := range []folder.Kind{folder.Projection(), folder.Alignment()} {
		if c.has(kind.File) && !c.has(ResultFile) {
			return c.folder(ctx, kind)
		}
	}
	if c.has(ResultFile) {
		if c.stated, err = OpenFS(c.FS, c.dir); err != nil {
			if err := c.problem(err); err != nil {
				return err
			}
		}
	} else if c.has(eventsFile) {
		// Arrays of other programs come without either.
		if err := c.problem(told(csr.ErrCorrupt, "%s: it is missing beside %s", filepath.Join(c.dir, ResultFile), eventsFile)); err != nil {
			return err
		}
	}
	c.report.Sealed = c.stated != nil && c.stated.Format != resultFormatFirst
	if err := c.arrays.open(c.FS, c.dir, c.entries, c.problem); err != nil {
		return err
	}
	c.total = c.arrays.size()
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

func (c *resultChecker) has(name string) bool {
	return slices.ContainsFunc(c.entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// problem records what is wrong with the result and passes on the rest.
func (c *resultChecker) problem(err error) error {
	switch {
	case errors.Is(err, npy.ErrFormat):
		err = errors.New(strings.TrimSuffix(err.Error(), ": "+npy.ErrFormat.Error()))
	case !errors.Is(err, csr.ErrCorrupt):
		return err
	}
	c.report.Problems = append(c.report.Problems, err)
	return nil
}

// wrong records what is wrong with a file.
func (c *resultChecker) wrong(name, format string, args ...any) {
	c.report.Problems = append(c.report.Problems, fmt.Errorf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...)))
}

func (c *resultChecker) warn(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...))
	c.report.Warnings = append(c.report.Warnings, text)
}

// advance shows that bytes have been read.
func (c *resultChecker) advance(n int) {
	c.report.Bytes += int64(n)
	c.Progress(c.report.Bytes, max(c.total, c.report.Bytes))
}

// contents reads every file once: checksums where result.json has them, and entries that are not finite.
func (c *resultChecker) contents(ctx context.Context) error {
	sums := map[string]File{}
	for _, m := range []*npy.Matrix{c.arrays.sigma, c.arrays.u, c.arrays.v} {
		if m == nil {
			continue
		}
		of := uint32(0)
		err := m.Scan(ctx, func(chunk []byte) { of = crc.Update(of, chunk); c.advance(len(chunk)) })
		if err != nil {
			if err := c.problem(fmt.Errorf("%s: %w", m.Name(), err)); err != nil {
				return err
			}
		}
		sums[filepath.Base(m.Name())] = File{Size: m.Size(), CRC: crc.Sum(of)}
	}
	if !c.report.Sealed {
		return nil
	}
	return c.sealed(ctx, ResultFile, c.stated.Files, sums)
}

// sealed compares files with what the description says of them. Of those that have been read, read has what was found.
func (c *resultChecker) sealed(ctx context.Context, description string, files []File, read map[string]File) error {
	for _, part := range files {
		got, ok := read[part.Name]
		switch {
		case !c.has(part.Name):
			c.wrong(part.Name, "the file is missing")
			continue
		case !ok: // events, or an array that cannot be read
			f, err := c.FS.Open(filepath.Join(c.dir, part.Name))
			if err != nil {
				return err
			}
			info, err := f.Stat()
			if err == nil {
				got.Size = info.Size()
			}
			if err == nil && got.Size == part.Size { // what has another size need not be read, and may be of any
				got.CRC, err = checksum(f, func(chunk []byte) error { c.advance(len(chunk)); return ctx.Err() })
			}
			if err = errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
		if got.Size != part.Size {
			c.wrong(part.Name, "byte %d: it ends there, %s says %d", got.Size, description, part.Size)
		} else if got.CRC != part.CRC {
			c.wrong(part.Name, "bytes 0 to %d have the checksum %v, %s says %v", got.Size, got.CRC, description, part.CRC)
		}
	}
	return nil
}

// shapes compares the arrays with one another and with result.json.
func (c *resultChecker) shapes(context.Context) (err error) {
	if c.arrays.sigma == nil {
		if len(c.report.Problems) == 0 && (c.stated != nil || c.arrays.u != nil || c.arrays.v != nil) {
			c.wrong(SigmaFile, "there are no singular values: want %s", strings.Join(arrayNames["sigma"], " or "))
		}
		return nil
	}
	if c.values, err = c.arrays.values(); err == nil && !c.arrays.signed() {
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

// statements compares what result.json says about itself and about the arrays.
func (c *resultChecker) statements(context.Context) error {
	r := c.stated
	if r == nil {
		return nil
	}
	k, values, valuesFile := r.K, r.Sigma, SigmaFile
	if r.Settings.Which != "" {
		values, valuesFile = r.Lambda, LambdaFile
	}
	switch {
	case r.Rows < 1 || r.Cols < 1 || k < 1:
		c.wrong(ResultFile, "rows, cols, k: %d, %d, %d", r.Rows, r.Cols, k)
	case len(values) != k || len(r.Residual) != k && r.Completion == nil:
		c.wrong(ResultFile, "%s, residual: %d and %d numbers, k is %d", strings.TrimSuffix(valuesFile, ".npy"), len(values), len(r.Residual), k)
	case len(r.Floor) != 0 && len(r.Floor) != k:
		c.wrong(ResultFile, "floor: %d numbers, k is %d", len(r.Floor), k)
	case r.Converged < 0 || r.Converged > k || r.Rank < 0 || r.Rank > k:
		c.wrong(ResultFile, "converged, rank: %d and %d, k is %d", r.Converged, r.Rank, k)
	case c.values != nil && len(c.values) != k:
		c.wrong(valuesFile, "shape: %d values, k is %d in %s", len(c.values), k, ResultFile)
	case c.values != nil:
		for i, v := range c.values {
			if math.Float64bits(float64(values[i])) != math.Float64bits(v) {
				c.wrong(ResultFile, "%s: value %d is %v, %v in %s", strings.TrimSuffix(valuesFile, ".npy"), i, values[i], v, valuesFile)
				break
			}
		}
	}
	want := map[string]bool{valuesFile: true, eventsFile: true}
	for _, v := range []Vectors{Both, Left, Right} {
		if r.Settings.Vectors == v.String() {
			want[leftFile], want[rightFile] = v.u(), v.v()
		}
	}
	for _, name := range []string{SigmaFile, LambdaFile, leftFile, rightFile, eventsFile} {
		listed := slices.ContainsFunc(r.Files, func(p File) bool { return p.Name == name })
		switch {
		case listed && !want[name]:
			c.wrong(ResultFile, "files: %s is listed, settings.vectors is %q", name, r.Settings.Vectors)
		case want[name] && r.Certified && (c.report.Sealed && !listed || !c.report.Sealed && !c.has(name)):
			c.wrong(name, "the file is missing")
		case c.report.Sealed && !listed && c.has(name):
			c.warn(name, "%s does not list it", ResultFile)
		}
	}
	return nil
}

// checkpoint verifies that of an unfinished run, if there is one.
func (c *resultChecker) checkpoint(ctx context.Context) error {
	for _, name := range []string{checkpointFile, checkpointEvents, checkpointView} {
		if !c.has(name) {
			continue
		}
		f, err := c.FS.Open(filepath.Join(c.dir, name))
		if err != nil {
			return err
		}
		if name == checkpointFile {
			err = c.verifyCheckpoint(ctx, f)
		} else {
			_, err = checkEvents(f, func(b []byte) error { c.advance(len(b)); return ctx.Err() })
		}
		if err := errors.Join(c.ofCheckpoint(err), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// ofCheckpoint is problem for what was found in a checkpoint.
func (c *resultChecker) ofCheckpoint(err error) error {
	if err == nil {
		return nil
	}
	if told := resumeError(err, c.dir); told != nil {
		err = told
	}
	return c.problem(err)
}

func (c *resultChecker) verifyCheckpoint(ctx context.Context, f vfs.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c.total += info.Size()
	if complete.IsState(f) {
		if _, _, err = complete.Load(f, info.Size()); errors.Is(err, complete.ErrState) {
			err = damagedCheckpoint(filepath.Join(c.dir, checkpointFile), "%v (%v begins anew)", err, Option("Replace"))
		}
		c.advance(int(info.Size()))
		return err
	}
	read := writerFunc(func(b []byte) error { c.advance(len(b)); return ctx.Err() })
	saved, err := solver.ReadCheckpoint(io.TeeReader(f, read), info.Size())
	if err != nil {
		return err
	}
	return saved.Verify()
}

// strays warns of files that do not belong to a result of gdsvd.
func (c *resultChecker) strays() {
	if c.stated == nil {
		return
	}
	for _, e := range c.entries {
		switch name := e.Name(); {
		case !ofResult(name):
			c.warn(name, "the file does not belong to the result")
		case strings.HasSuffix(name, halfSuffix):
			c.warn(name, "left by a checkpoint that was not written to its end; --resume and --force remove it")
		}
	}
}

// kind says what was found that nothing is wrong with.
func (c *resultChecker) kind() string {
	switch {
	case c.report.Sealed:
		return "%[1]s is sound: its files are as " + ResultFile + " says, %[2]s read"
	case c.stated != nil:
		return "%[1]s shows no damage, %[2]s read; it was made before results had checksums"
	case c.arrays.sigma == nil:
		return "the checkpoint in %[1]s is sound, %[2]s read"
	}
	return "the arrays in %[1]s are whole and finite, %[2]s read; there is no " + ResultFile + " to compare them with"
}

// Sound says what is known of a result without problems.
func (r *Report) Sound() string { return fmt.Sprintf(r.what, r.Dir, memory.FormatSize(r.Bytes)) }

// Err is the error of a result that is damaged or not what it states, or nil.
func (r *Report) Err() error {
	switch n := len(r.Problems); {
	case n == 1:
		return told(csr.ErrCorrupt, "%s: 1 problem found; compute what is damaged again", r.Dir)
	case n > 1:
		return told(csr.ErrCorrupt, "%s: %d problems found; compute what is damaged again", r.Dir, n)
	case r.Measured == nil:
		return nil
	}
	return r.Measured.verdict(r.Dir)
}
