package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
)

// resultReport is what gdsvd check prints about a result.
type resultReport struct {
	Result   string    `json:"result"`
	OK       bool      `json:"ok"`
	Sealed   bool      `json:"sealed"` // there are checksums, and they were compared
	Bytes    int64     `json:"bytes"`  // of files that were read
	Problems []string  `json:"problems"`
	Warnings []string  `json:"warnings"`
	Measured *measured `json:"measured,omitempty"` // with --store
}

// resultChecker is one check of a result directory.
type resultChecker struct {
	app     *app
	dir     string
	entries []fs.DirEntry
	stated  *result // result.json; nil if there is none, or none that can be read
	arrays  arrays
	values  []float64
	report  *resultReport
	total   int64 // bytes to be read, for the progress
}

// checkResult verifies a result directory as far as that goes without the matrix, and
// measures it if o has a store.
func (a *app) checkResult(ctx context.Context, dir string, o checkOptions) error {
	c := &resultChecker{app: a, dir: dir, report: &resultReport{Result: dir, Problems: []string{}, Warnings: []string{}}}
	a.display.Begin("check")
	err := c.run(ctx)
	defer func() { err = errors.Join(err, c.arrays.close()) }()
	if err == nil && o.store != "" && len(c.report.Problems) == 0 {
		c.report.Measured, err = c.measure(ctx, o)
	}
	a.display.End()
	if err != nil {
		return err
	}
	return c.print()
}

func (c *resultChecker) run(ctx context.Context) (err error) {
	if c.entries, err = c.app.fsys.ReadDir(c.dir); err != nil {
		return err
	}
	if c.has(resultFile) {
		if c.stated, err = readResult(c.app.fsys, c.dir); err != nil {
			if err := c.problem(err); err != nil {
				return err
			}
		}
	}
	c.report.Sealed = c.stated != nil && c.stated.Format != resultFormatFirst
	if err := c.arrays.open(c.app.fsys, c.dir, c.entries, c.problem); err != nil {
		return err
	}
	c.total = c.arrays.size()
	steps := []func(context.Context) error{c.contents, c.shapes, c.statements, c.checkpoint}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.strays()
	return nil
}

func (c *resultChecker) has(name string) bool {
	return slices.ContainsFunc(c.entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

// problem records what is wrong with the result and passes on the rest.
func (c *resultChecker) problem(err error) error {
	if errors.Is(err, csr.ErrCorrupt) || errors.Is(err, npy.ErrFormat) {
		c.report.Problems = append(c.report.Problems, strings.TrimSuffix(message(err), ": "+npy.ErrFormat.Error()))
		return nil
	}
	return err
}

// wrong records what is wrong with a file.
func (c *resultChecker) wrong(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...))
	c.report.Problems = append(c.report.Problems, text)
}

func (c *resultChecker) warn(name, format string, args ...any) {
	text := fmt.Sprintf("%s: %s", filepath.Join(c.dir, name), fmt.Sprintf(format, args...))
	c.report.Warnings = append(c.report.Warnings, text)
}

// advance shows that bytes have been read.
func (c *resultChecker) advance(n int) {
	c.report.Bytes += int64(n)
	c.app.display.Update(progress.State{Done: c.report.Bytes, Total: max(c.total, c.report.Bytes), Bytes: true})
}

// contents reads every file once: checksums where result.json has them, and entries that are not finite.
func (c *resultChecker) contents(ctx context.Context) error {
	type sum struct {
		size int64
		crc  crc.Sum
	}
	sums := map[string]sum{}
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
		sums[filepath.Base(m.Name())] = sum{m.Size(), crc.Sum(of)}
	}
	if !c.report.Sealed {
		return nil
	}
	for _, part := range c.stated.Files {
		got, ok := sums[part.Name]
		switch {
		case !c.has(part.Name):
			c.wrong(part.Name, "the file is missing")
			continue
		case !ok: // events, or an array that cannot be read
			f, err := c.app.fsys.Open(filepath.Join(c.dir, part.Name))
			if err != nil {
				return err
			}
			info, err := f.Stat()
			if err == nil {
				got.size = info.Size()
			}
			if err == nil && got.size == part.Size { // what has another size need not be read, and may be of any
				got.crc, err = checksum(f, func(chunk []byte) error { c.advance(len(chunk)); return ctx.Err() })
			}
			if err = errors.Join(err, f.Close()); err != nil {
				return err
			}
		}
		if got.size != part.Size {
			c.wrong(part.Name, "byte %d: it ends there, %s says %d", got.size, resultFile, part.Size)
		} else if got.crc != part.CRC {
			c.wrong(part.Name, "bytes 0 to %d have the checksum %v, %s says %v", got.size, got.crc, resultFile, part.CRC)
		}
	}
	return nil
}

// shapes compares the arrays with one another and with result.json.
func (c *resultChecker) shapes(context.Context) (err error) {
	if c.arrays.sigma == nil {
		if len(c.report.Problems) == 0 && (c.stated != nil || c.arrays.u != nil || c.arrays.v != nil) {
			c.wrong(sigmaFile, "there are no singular values: want %s", strings.Join(arrayNames["sigma"], " or "))
		}
		return nil
	}
	if c.values, err = c.arrays.values(); err == nil {
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
		c.report.Problems = append(c.report.Problems, err.Error())
	}
	return nil
}

// statements compares what result.json says about itself and about the arrays.
func (c *resultChecker) statements(context.Context) error {
	r := c.stated
	if r == nil {
		return nil
	}
	k := r.K
	switch {
	case r.Rows < 1 || r.Cols < 1 || k < 1:
		c.wrong(resultFile, "rows, cols, k: %d, %d, %d", r.Rows, r.Cols, k)
	case len(r.Sigma) != k || len(r.Residual) != k:
		c.wrong(resultFile, "sigma, residual: %d and %d numbers, k is %d", len(r.Sigma), len(r.Residual), k)
	case len(r.Floor) != 0 && len(r.Floor) != k:
		c.wrong(resultFile, "floor: %d numbers, k is %d", len(r.Floor), k)
	case r.Converged < 0 || r.Converged > k || r.Rank < 0 || r.Rank > k:
		c.wrong(resultFile, "converged, rank: %d and %d, k is %d", r.Converged, r.Rank, k)
	case c.values != nil && len(c.values) != k:
		c.wrong(sigmaFile, "shape: %d values, k is %d in %s", len(c.values), k, resultFile)
	case c.values != nil:
		for i, v := range c.values {
			if math.Float64bits(float64(r.Sigma[i])) != math.Float64bits(v) {
				c.wrong(resultFile, "sigma: value %d is %v, %v in %s", i, r.Sigma[i], v, sigmaFile)
				break
			}
		}
	}
	want := map[string]bool{sigmaFile: true, eventsFile: true}
	switch r.Settings.Vectors {
	case bothVectors.name, leftOnly.name, rightOnly.name:
		want[leftFile] = r.Settings.Vectors != rightOnly.name
		want[rightFile] = r.Settings.Vectors != leftOnly.name
	}
	for _, name := range []string{sigmaFile, leftFile, rightFile, eventsFile} {
		listed := slices.ContainsFunc(r.Files, func(p resultPart) bool { return p.Name == name })
		switch {
		case listed && !want[name]:
			c.wrong(resultFile, "files: %s is listed, settings.vectors is %q", name, r.Settings.Vectors)
		case want[name] && r.Certified && (c.report.Sealed && !listed || !c.report.Sealed && !c.has(name)):
			c.wrong(name, "the file is missing")
		case c.report.Sealed && !listed && c.has(name):
			c.warn(name, "%s does not list it", resultFile)
		}
	}
	return nil
}

// checkpoint verifies that of an unfinished run, if there is one.
func (c *resultChecker) checkpoint(ctx context.Context) error {
	for _, name := range []string{checkpointFile, checkpointEvents} {
		if !c.has(name) {
			continue
		}
		f, err := c.app.fsys.Open(filepath.Join(c.dir, name))
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
	r := readerFunc(func(b []byte) (int, error) {
		n, err := f.Read(b)
		c.advance(n)
		if cancelled := ctx.Err(); cancelled != nil {
			err = cancelled
		}
		return n, err
	})
	saved, err := solver.ReadCheckpoint(r, info.Size())
	if err != nil {
		return err
	}
	return saved.Verify()
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

var _ io.Reader = readerFunc(nil)

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

// print prints the report and returns what is wrong.
func (c *resultChecker) print() error {
	r := c.report
	verdict := c.verdict()
	r.OK = verdict == nil
	if c.app.json {
		return errors.Join(c.app.printJSON(r), verdict)
	}
	out := &errWriter{w: c.app.stdout}
	for _, p := range r.Problems {
		out.printf("%s\n", p)
	}
	for _, w := range r.Warnings {
		out.printf("warning: %s\n", w)
	}
	if r.Measured != nil && out.err == nil {
		out.err = c.app.printMeasured(r.Measured)
	}
	if len(r.Problems) == 0 {
		out.printf("%s\n", c.sound())
	}
	return errors.Join(out.err, verdict)
}

// sound says what is known of files in which nothing is wrong.
func (c *resultChecker) sound() string {
	size := memory.FormatSize(c.report.Bytes)
	switch {
	case c.report.Sealed:
		return fmt.Sprintf("%s is sound: its files are as %s says, %s read", c.dir, resultFile, size)
	case c.stated != nil:
		return fmt.Sprintf("%s shows no damage, %s read; it was made before results had checksums", c.dir, size)
	case c.arrays.sigma == nil:
		return fmt.Sprintf("the checkpoint in %s is sound, %s read", c.dir, size)
	}
	return fmt.Sprintf("the arrays in %s are whole and finite, %s read; there is no %s to compare them with", c.dir, size, resultFile)
}

// verdict is the error of a result that is damaged or not what it states, or nil.
func (c *resultChecker) verdict() error {
	if n := len(c.report.Problems); n > 0 {
		return &outcome{fmt.Sprintf("%s: %s found; compute what is damaged again", c.dir, plural(n, "problem")), csr.ErrCorrupt}
	}
	if c.report.Measured == nil {
		return nil
	}
	return c.report.Measured.verdict(c.dir)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
