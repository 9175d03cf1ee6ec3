package hostile

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// Trial is one run of an attack. The seed and the number determine all it does.
type Trial struct {
	*rand.Rand
	Number int
	Dir    string // an empty directory of the trial, removed afterwards
	Long   bool   // matrices may be large

	Kind    string  // what is attacked; a row of the table
	Outcome Outcome // the judgement
	What    string  // one line on the outcome; empty: right
	Trials  int     // number of trials in it; 0: one
	Seconds float64 // the time that the attack measures; 0: none

	ctx      context.Context
	env      *Env
	limit    time.Duration // for each process
	commands []string      // commands run, for the report of a single trial
}

// newTrial returns a trial seeded by the attack, the seed and the number.
func newTrial(ctx context.Context, e *Env, attack string, seed uint64, number int) *Trial {
	h := fnv.New64a()
	h.Write([]byte(attack))
	r := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(number)*0x9e3779b97f4a7c15))
	return &Trial{Rand: r, Number: number, ctx: ctx, env: e, limit: e.Limit}
}

// path returns the path of a file in the directory of the trial.
func (t *Trial) path(name string) string { return filepath.Join(t.Dir, name) }

// pick returns one of the choices.
func pick[T any](t *Trial, choices ...T) T { return choices[t.IntN(len(choices))] }

// between returns an integer from low to high, both included.
func (t *Trial) between(low, high int) int { return low + t.IntN(high-low+1) }

// job is a process to run: the arguments of gdsvd and its surroundings.
type job struct {
	args  []string
	env   []string      // NAME=value, added to the environment
	shell string        // shell commands run before the program, which then replaces the shell
	group *cgroup.Group // cgroup of the process
	dir   string        // working directory
}

func gdsvd(args ...string) job { return job{args: args} }

// process is a started process.
type process struct {
	cmd    *exec.Cmd
	job    job
	stdout bytes.Buffer // stdout and stderr are read after the end only
	stderr stamped
	ended  chan struct{} // closed when the process has ended
	begun  time.Time
	took   time.Duration
	killed bool // by the trial
}

// stamped is a text with the time at which each part was written.
type stamped struct {
	text  bytes.Buffer // not embedded: its ReadFrom would go past Write
	parts []stamp
}

type stamp struct {
	at  time.Time
	end int // of the part, as an offset in the text
}

func (s *stamped) Write(p []byte) (int, error) {
	n, err := s.text.Write(p)
	s.parts = append(s.parts, stamp{time.Now(), s.text.Len()})
	return n, err
}

func (s *stamped) String() string { return s.text.String() }

// between returns what was written after from and before to.
func (s *stamped) between(from, to time.Time) string {
	var b strings.Builder
	begin := 0
	for _, p := range s.parts {
		if p.at.After(from) && p.at.Before(to) {
			b.WriteString(s.String()[begin:p.end])
		}
		begin = p.end
	}
	return b.String()
}

// start starts a process.
func (t *Trial) start(j job) *process {
	t.commands = append(t.commands, j.String())
	name, args := t.env.Program.Path, j.args
	if j.shell != "" {
		name, args = "sh", slices.Concat([]string{"-c", j.shell + ` && exec "$@"`, "sh", t.env.Program.Path}, j.args)
	}
	cmd := exec.Command(name, args...)
	cmd = j.group.Command(cmd)
	cmd.Dir = j.dir
	cmd.Env = append(os.Environ(), j.env...)
	p := &process{cmd: cmd, job: j, ended: make(chan struct{}), begun: time.Now()}
	cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	check(cmd.Start())
	go func() {
		_ = cmd.Wait() // the process state says how it ended
		p.took = time.Since(p.begun)
		close(p.ended)
	}()
	return p
}

// wait waits for the end of p. A process that does not end in time, or crashes, ends in a judgement.
func (t *Trial) wait(p *process) error {
	alarm := time.NewTimer(t.limit)
	defer alarm.Stop()
	select {
	case <-p.ended:
		return p.crash()
	case <-t.ctx.Done():
		p.kill()
		return t.ctx.Err()
	case <-alarm.C:
	}
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // prints the stacks of its goroutines
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.kill()
	}
	return judgef(Hung, "%s: still running after %v", p.job, t.limit)
}

// kill kills a process that has not ended yet, and reports whether the kill ended it.
func (p *process) kill() bool {
	select {
	case <-p.ended:
		return false
	default:
	}
	p.killed = true
	_ = p.cmd.Process.Kill() // an error means that the process has ended
	<-p.ended
	return p.signalled() == syscall.SIGKILL
}

// signalled returns the signal that ended the process, or 0.
func (p *process) signalled() syscall.Signal {
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return s.Signal()
	}
	return 0
}

// stack matches what a Go program prints when a panic or the runtime ends it.
var stack = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: |SIG[A-Z]+: |unexpected fault address|goroutine \d+ )`)

// crash returns a judgement if a signal other than that of kill, or a panic, ended the process.
func (p *process) crash() error {
	if s := p.signalled(); s != 0 && !p.killed {
		if u, err := p.usage(); err == nil && u.Killed > 0 {
			return judgef(Crashed, "%s: killed by the kernel for want of memory", p.job)
		}
		return judgef(Crashed, "%s: ended by signal %d (%v)", p.job, int(s), s)
	}
	text := p.stderr.String()
	if m := stack.FindStringIndex(text); m != nil {
		return judgef(Crashed, "%s: %s", p.job, head(text[m[0]:]))
	}
	return nil
}

func (p *process) usage() (cgroup.Usage, error) {
	if p.job.group == nil {
		return cgroup.Usage{}, errors.New("no group")
	}
	return p.job.group.Usage()
}

// code is the exit code.
func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// run runs a process to its end.
func (t *Trial) run(j job) *process {
	p := t.start(j)
	check(t.wait(p))
	return p
}

// must runs a process whose exit code must be 0.
func (t *Trial) must(j job) *process {
	p := t.run(j)
	if p.code() != 0 {
		check(wrongf("%s: exit %d: %s", j, p.code(), head(p.stderr.String())))
	}
	return p
}

// refusal judges the exit of a process: nil for exit code 0, Refused for one of the codes with one
// line on standard error, else Wrong.
func (p *process) refusal(codes ...int) error {
	text := strings.TrimSpace(p.stderr.String())
	switch {
	case p.code() == 0:
		return nil
	case !slices.Contains(codes, p.code()):
		return wrongf("%s: exit %d, not one of %v: %s", p.job, p.code(), codes, head(text))
	case text == "":
		return wrongf("%s: exit %d without a word", p.job, p.code())
	case strings.Contains(text, "\n"):
		return wrongf("%s: exit %d with more than a line: %s", p.job, p.code(), head(strings.ReplaceAll(text, "\n", " ⏎ ")))
	case !strings.HasPrefix(text, "gdsvd: "):
		return wrongf("%s: exit %d, and the line does not say who speaks: %s", p.job, p.code(), head(text))
	}
	return &judgement{Refused, text, p.code()}
}

// isStopped reports whether err is the refusal with exit code 4: the result falls short of the
// tolerance.
func isStopped(err error) bool {
	j, ok := err.(*judgement)
	return ok && j.outcome == Refused && j.code == 4
}

// expect runs a process that may end well or refuse with one of the codes, and returns its refusal, if any.
func (t *Trial) expect(j job, codes ...int) (p *process, refused error) {
	p = t.run(j)
	refused = p.refusal(codes...)
	if !isRefused(refused) {
		check(refused)
	}
	return p, refused
}

// solved is expect for an svd: a result that falls short of the tolerance, exit code 4, is not a refusal.
func (t *Trial) solved(j job, codes ...int) (short bool) {
	_, err := t.expect(j, append(codes, 4)...)
	short = isStopped(err)
	if !short {
		check(err)
	}
	return short
}

// String returns the command as typed in a shell, without directories.
func (j job) String() string {
	var words []string
	for _, a := range j.args {
		if filepath.IsAbs(a) {
			a = filepath.Base(a)
		}
		words = append(words, a)
	}
	s := strings.Join(append(slices.Clone(j.env), "gdsvd "+strings.Join(words, " ")), " ")
	if j.shell != "" {
		s = j.shell + " && " + s
	}
	return s
}

// head returns the first line of a text, cut to 300 runes.
func head(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 300 {
		return string(r[:300]) + " …"
	}
	return line
}

// names returns the names of the files in a directory.
func names(dir string) (all []string) {
	for _, e := range need(os.ReadDir(dir)) {
		all = append(all, e.Name())
	}
	return all
}

// copyTree copies a directory, or a file.
func copyTree(from, to string) {
	if need(os.Stat(from)).IsDir() {
		check(os.CopyFS(to, os.DirFS(from)))
		return
	}
	check(os.WriteFile(to, need(os.ReadFile(from)), 0o666))
}

// sameFiles checks that two directories hold the same names, and that the listed files, or all if
// none is listed, have the same bytes.
func sameFiles(want, got string, listed ...string) {
	a := names(want)
	entries, err := os.ReadDir(got)
	if err != nil {
		check(wrongf("%v", err))
	}
	if !slices.EqualFunc(a, entries, func(name string, e os.DirEntry) bool { return name == e.Name() }) {
		check(wrongf("%s holds %v, not %v", filepath.Base(got), entries, a))
	}
	if len(listed) == 0 {
		listed = a
	}
	for _, name := range listed {
		check(sameFile(filepath.Join(want, name), filepath.Join(got, name)))
	}
}

// sameFile returns a judgement unless two files have the same bytes.
func sameFile(want, got string) error {
	x := need(os.ReadFile(want))
	y, err := os.ReadFile(got)
	switch {
	case err != nil:
		return wrongf("%v", err)
	case len(x) != len(y):
		return wrongf("%s is not what it is without the attack: %d bytes, not %d", filepath.Base(got), len(y), len(x))
	}
	for i := range x {
		if x[i] != y[i] {
			return wrongf("%s is not what it is without the attack: byte %d of %d", filepath.Base(got), i, len(x))
		}
	}
	return nil
}
