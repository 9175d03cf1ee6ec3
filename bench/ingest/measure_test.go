package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/cgroup"
)

type report struct {
	Date      string        `json:"date"`
	Processor string        `json:"processor"`
	Cores     int           `json:"cores"`
	Files     int           `json:"files"`
	Bytes     int64         `json:"bytes"`
	Ratings   int64         `json:"ratings"`
	Memory    string        `json:"memory"`
	Limit     int64         `json:"limit"`
	Killed    *interruption `json:"killed,omitempty"`
	Resumed   *ingestion    `json:"resumed"`
	Again     *ingestion    `json:"without_a_break,omitempty"`
	Same      bool          `json:"same_bytes"` // whether both stores have the same bytes
	Group     cgroup.Usage  `json:"group"`
	Check     float64       `json:"check_seconds"`
}

// An interruption is a killed process.
type interruption struct {
	Seconds float64 `json:"seconds"`
	Saved   int64   `json:"saved_bytes"` // bytes of the text that need not be read again
}

// An ingestion is a process that ended by itself.
type ingestion struct {
	Wall    float64 `json:"wall_seconds"`
	PeakRSS int64   `json:"peak_rss"`
	ingest.Report
}

func (c *config) measure(ctx context.Context) (r *report, err error) {
	r = &report{
		Date: time.Now().UTC().Format(time.DateOnly), Processor: harness.Processor(), Cores: runtime.NumCPU(),
		Memory: c.memory, Limit: c.limit,
	}
	files, size, err := c.makeText(ctx, c.size, c.part)
	if err != nil {
		return nil, fmt.Errorf("make the text: %w", err)
	}
	r.Files, r.Bytes = len(files), size
	group, err := cgroup.New("gdsvd-ingest", c.limit)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, group.Remove()) }()
	if err := cgroup.Forget(files...); err != nil {
		return nil, err
	}
	store := filepath.Join(c.dir, "killed.csr")
	if c.kill > 0 {
		if r.Killed, err = c.killed(ctx, group, files, store, size); err != nil {
			return nil, err
		}
	}
	if r.Resumed, err = c.ingest(ctx, group, files, store, "--resume"); err != nil {
		return nil, err
	}
	r.Ratings = r.Resumed.NNZ // no rating occurs twice: a duplicate would be an error
	if r.Group, err = group.Usage(); err != nil {
		return nil, err
	}
	check, err := c.gdsvd.Run(ctx, nil, "check", "-q", store)
	if err != nil {
		return nil, err
	}
	r.Check = check.Seconds
	if !c.again {
		return r, nil
	}
	if err := cgroup.Forget(files...); err != nil {
		return nil, err
	}
	whole := filepath.Join(c.dir, "again.csr")
	if r.Again, err = c.ingest(ctx, group, files, whole); err != nil {
		return nil, err
	}
	r.Same, err = same(store, whole)
	return r, err
}

// arguments returns the arguments of gdsvd ingest for the files.
func (c *config) arguments(files []string, store string, flags ...string) []string {
	return slices.Concat([]string{"ingest", "-q", "--json", "--memory", c.memory, "-o", store}, flags, files)
}

// killed runs an ingest and kills it when the share c.kill of the text is saved.
func (c *config) killed(ctx context.Context, g *cgroup.Group, files []string, store string, size int64) (*interruption, error) {
	cmd := c.gdsvd.Command(ctx, g, c.arguments(files, store)...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var saved int64
	for float64(saved) < c.kill*float64(size) {
		select {
		case err := <-ended:
			return nil, errors.Join(errors.New("it ended before it could be killed"), err)
		case <-time.After(2 * time.Millisecond):
		}
		saved = readSoFar(store)
	}
	i := &interruption{Seconds: time.Since(began).Seconds(), Saved: saved}
	_ = cmd.Process.Kill() // an error means that the process has ended
	if err := <-ended; err == nil {
		return nil, errors.New("it ended before it could be killed")
	}
	return i, nil
}

// readSoFar returns how many bytes of text the journal of an ingest records as read.
func readSoFar(store string) int64 {
	var j struct{ Place struct{ Disk int64 } }
	b, err := os.ReadFile(filepath.Join(store+ingest.SpoolSuffix, "journal"))
	if err != nil || json.Unmarshal(b, &j) != nil {
		return 0
	}
	return j.Place.Disk
}

func (c *config) ingest(ctx context.Context, g *cgroup.Group, files []string, store string, flags ...string) (*ingestion, error) {
	run, err := c.gdsvd.Run(ctx, g, c.arguments(files, store, flags...)...)
	if err != nil {
		return nil, err
	}
	i := &ingestion{Wall: run.Seconds}
	return i, run.Decode(i)
}

// same reports whether two directories have the same files with the same bytes.
func same(a, b string) (bool, error) {
	err := exec.Command("diff", "-rq", a, b).Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// The number of countries, and the distances between the ids of users of consecutive countries and
// of films of consecutive years.
const (
	countries = 8
	userStep  = 72000
	filmStep  = 66000
)

// makeText writes files of ratings with size bytes in total.
func (c *config) makeText(ctx context.Context, size, ratings int64) (files []string, bytesMade int64, err error) {
	share := float64(ratings) / 10000054
	part := filepath.Join(c.dir, "part.dat")
	err = c.gdsvd.Do(ctx, "generate", "ratings", "-q", "-o", part, "--force", "--seed", "1", "--ratings", strconv.FormatInt(ratings, 10),
		"--users", strconv.Itoa(int(69878*share)), "--items", strconv.Itoa(max(400, int(10677*share))))
	if err != nil {
		return nil, 0, err
	}
	base, err := os.ReadFile(part)
	if err := errors.Join(err, os.Remove(part)); err != nil {
		return nil, 0, err
	}
	for n := 0; bytesMade < size; n++ {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		name := filepath.Join(c.dir, fmt.Sprintf("part-%03d.dat", n))
		users, films := int64(n%countries)*userStep, int64(n/countries)*filmStep
		made, err := writePart(name, base, users, films, size-bytesMade)
		if err != nil {
			return nil, 0, err
		}
		files, bytesMade = append(files, name), bytesMade+made
	}
	return files, bytesMade, nil
}

// writePart writes the text base, or its first size bytes, with users and films renumbered.
func writePart(name string, base []byte, users, films, size int64) (made int64, err error) {
	f, err := os.Create(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for len(base) > 0 && made < size {
		user, rest := number(base)
		film, rest := number(rest[2:])
		end := bytes.IndexByte(rest, '\n') + 1
		line = strconv.AppendInt(line[:0], user+users, 10)
		line = append(line, "::"...)
		line = strconv.AppendInt(line, film+films, 10)
		line = append(line, rest[:end]...)
		base = rest[end:]
		made += int64(len(line))
		if _, err := w.Write(line); err != nil {
			return 0, err
		}
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return made, f.Close()
}

// number parses the digits that text begins with.
func number(text []byte) (n int64, rest []byte) {
	i := 0
	for ; text[i] >= '0' && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	return n, text[i:]
}

func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d cores of %s. %.2f GB of text, %d million ratings in %d files, `--memory %s`, in a control group of %d MiB (page cache included).\n\n",
		r.Date, r.Cores, r.Processor, float64(r.Bytes)/1e9, r.Ratings/1e6, r.Files, r.Memory, r.Limit>>20)
	b.WriteString("| | |\n|---|---|\n")
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	x := r.Resumed
	wall := x.Wall
	if r.Killed != nil {
		wall += r.Killed.Seconds
		row("killed (SIGKILL) after", "%.1f s, with %.2f GB of text saved", r.Killed.Seconds, float64(r.Killed.Saved)/1e9)
		row("resumed, to the end", "%.1f s", x.Wall)
	}
	row("in all", "%.1f s, %.0f MB/s of text", wall, float64(r.Bytes)/1e6/wall)
	if r.Again != nil {
		a := r.Again
		row("without a break", "%.1f s, %.0f MB/s of text: read %.1f s, sort %.1f s, write %.1f s", a.Wall, float64(r.Bytes)/1e6/a.Wall, a.Seconds.Read, a.Seconds.Sort, a.Seconds.Write)
		row("the two stores are equal byte by byte", "%v", r.Same)
	}
	row("matrix", "%d × %d, %d entries", x.Rows, x.Cols, x.NNZ)
	row("sorted runs", "%d, %.2f GB, %.2f bytes per entry", x.Runs, float64(x.Spool)/1e9, float64(x.Spool)/float64(x.NNZ))
	row("written to temporary files", "%.2f GB", float64(x.SpilledBytes)/1e9)
	row("estimated before", "%.2f GB of temporary files, %.2f GB of store", float64(x.Estimate.Spool)/1e9, float64(x.Estimate.Store)/1e9)
	row("store", "%.2f GB, %.2f bytes per rating", float64(x.Bytes)/1e9, float64(x.Bytes)/float64(x.NNZ))
	row("most memory of the process", "%d MiB", x.PeakRSS>>20)
	row("most memory of the group", "%d MiB, %d processes killed for want of it", r.Group.Peak>>20, r.Group.Killed)
	row("`gdsvd check`", "no problems, %.1f s", r.Check)
	return b.String()
}
