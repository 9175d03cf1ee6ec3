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

// Trial is one run of an attack. All it does follows from the seed and the number.
type Trial struct {
	*rand.Rand
	Number int
	Dir    string // an empty directory of its own, removed afterwards
	Long   bool   // matrices may be large

	Kind    string  // what is attacked: a row of the table
	Outcome Outcome // what has come of it
	What    string  // one line about it, empty if right
	Trials  int     // how many there were in it, if more than one
	Seconds float64 // what the attack measures, if it measures time

	ctx      context.Context
	env      *Env
	limit    time.Duration // for each process
	commands []string      // what was run, for people
}

// newTrial seeds a trial.
func newTrial(ctx context.Context, e *Env, attack string, seed uint64, number int) *Trial {
	h := fnv.New64a()
	h.Write([]byte(attack))
	r := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(number)*0x9e3779b97f4a7c15))
	return &Trial{Rand: r, Number: number, ctx: ctx, env: e, limit: e.Limit}
}

// path is that of a file in the directory of the trial.
func (t *Trial) path(name string) string { return filepath.Join(t.Dir, name) }

// pick returns one of the choices.
func pick[T any](t *Trial, choices ...T) T { return choices[t.IntN(len(choices))] }

// between returns an integer from low to high, both included.
func (t *Trial) between(low, high int) int { return low + t.IntN(high-low+1) }

// job is a process to run: the arguments of gdsvd and what surrounds it.
type job struct {
	args  []string
	env   []string      // NAME=value, on top of the environment
	shell string        // run in a shell before the program, which takes its place
	group *cgroup.Group // to run in
	dir   string        // to run in
}

func gdsvd(args ...string) job { return job{args: args} }

// process is one that runs.
type process struct {
	cmd    *exec.Cmd
	job    job
	stdout bytes.Buffer // to be read when it has ended, as is the next
	stderr stamped
	ended  chan struct{} // closed when it has
	begun  time.Time
	took   time.Duration
	killed bool // by the trial
}

// stamped is a text that knows when each part of it was written.
type stamped struct {
	text  bytes.Buffer // not embedded: its ReadFrom would go past Write
	parts []stamp
}

type stamp struct {
	at  time.Time
	end int // of the part
}

func (s *stamped) Write(p []byte) (int, error) {
	n, err := s.text.Write(p)
	s.parts = append(s.parts, stamp{time.Now(), s.text.Len()})
	return n, err
}

func (s *stamped) String() string { return s.text.String() }

// between is what was written after one time and before another.
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
		_ = cmd.Wait() // how it ended is in its state
		p.took = time.Since(p.begun)
		close(p.ended)
	}()
	return p
}

// wait waits for the end. One that does not come in time is a judgement, and so is a crash.
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
	_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it says where it is
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.kill()
	}
	return judgef(Hung, "%s: still running after %v", p.job, t.limit)
}

// kill ends a process that has not ended by then, and reports whether it was in time.
func (p *process) kill() bool {
	select {
	case <-p.ended:
		return false
	default:
	}
	p.killed = true
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.ended
	return p.signalled() == syscall.SIGKILL
}

// signalled is the signal that has ended a process, 0 without one.
func (p *process) signalled() syscall.Signal {
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return s.Signal()
	}
	return 0
}

// stack is what a Go program prints when it dies of a panic or of the runtime.
var stack = regexp.MustCompile(`(?m)^(panic: |fatal error: |runtime: |SIG[A-Z]+: |unexpected fault address|goroutine \d+ )`)

// crash is a judgement if the process was ended by something other than itself.
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

// must runs a process that has to end well.
func (t *Trial) must(j job) *process {
	p := t.run(j)
	if p.code() != 0 {
		check(wrongf("%s: exit %d: %s", j, p.code(), head(p.stderr.String())))
	}
	return p
}

// refusal judges a process that has ended with something other than 0: nil if it
// has, Refused if it said so in one line and with one of the codes, else Wrong.
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

// isStopped reports whether an error is the refusal that says that a result
// falls short of the tolerance.
func isStopped(err error) bool {
	j, ok := err.(*judgement)
	return ok && j.outcome == Refused && j.code == 4
}

// expect runs a process that may end well or refuse with one of the codes: then it returns the refusal.
func (t *Trial) expect(j job, codes ...int) (p *process, refused error) {
	p = t.run(j)
	refused = p.refusal(codes...)
	if !isRefused(refused) {
		check(refused)
	}
	return p, refused
}

// solved is expect for an svd: that its result falls short of the tolerance, exit 4, is no refusal.
func (t *Trial) solved(j job, codes ...int) (short bool) {
	_, err := t.expect(j, append(codes, 4)...)
	short = isStopped(err)
	if !short {
		check(err)
	}
	return short
}

// String is the command as one would type it, without directories.
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

// head is the first line of a text, not too much of it.
func head(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 300 {
		return string(r[:300]) + " …"
	}
	return line
}

// names are the files of a directory.
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

// sameFiles judges whether two directories hold the same files, of which those
// listed are compared byte by byte: all if none are.
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

// sameFile judges whether two files have the same bytes.
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
