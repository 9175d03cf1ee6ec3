// Package remote makes the passes over a matrix by tasks. An [Engine] runs the tasks: in goroutines ([Local]), in
// programs at the other end of a pipe ([Command]), and through these with Dask or Ray.
//
// [Matrix] is a [solver.Matrix]. It cuts the blocks of a store into groups of about equal numbers of entries. A pass is one
// [Task] for each group: a record of names without numbers. Numbers are in pieces, files of one folder that the driver and all
// workers see under the same path, or objects of a bucket of S3. Reads for the statistics of a view are tasks, too
// ([Matrix.Measure]), and so are the sweeps that make left vectors ([Left]). A [Worker] makes the pieces of a task from the
// pieces that the task names and from the store.
//
// # Same bits
//
// The sums of a group are a function of the group (package stream), and sums of groups are added in the order of the
// groups. So results depend on the matrix and the number of groups alone: not on the engine, the number of workers, or
// tasks that were run twice. The number of groups is a part of solver.Info.ID. Workers with instructions that round
// differently are refused: see [Answer].
//
// # Pieces
//
// A piece is some float64s, little endian, and a trailer of 16 bytes: "gdsvdpc1", the CRC-32C of the name of its run,
// "/", its own name and the numbers, as 4 bytes little endian, and 4 zero bytes. It is written under a temporary name
// and renamed: a piece is complete or absent. Every run has a folder with a random name, so that leftovers of an
// earlier run are never taken for pieces of this one, and every pass has names of its own. Pieces last as long as the
// pass, and are not synced to the disk: what a crash leaves of a piece is not taken for the piece.
//
// # Faults
//
// The answers of an engine are not trusted. After every stage all pieces must exist with the right size, and each
// reader of a piece checks its CRC-32C. A task with missing pieces is given to the engine again, up to Options.Tries
// times, and so is a task whose piece is damaged. The driver makes its own damaged pieces again, except the sums of a
// view and the inputs of left vectors. An error that every other worker would meet, such as a damaged shard, ends the
// run at once (Answer.Kind).
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Engine runs tasks somewhere.
type Engine interface {
	// Run runs tasks, in any order and any number of times, and calls answer, one call at a time, when a task has
	// ended. Answer.ID is the index of the task. Run returns when no more answers will come. A Matrix does not trust
	// the error, or an answer without error: it looks for the pieces. Run ends soon after ctx is cancelled.
	Run(ctx context.Context, tasks []Task, answer func(Answer)) error
	// Name returns the name of the engine for messages, such as "local".
	Name() string
	io.Closer
}

// Local runs tasks in this process. It is the reference that other engines are compared with.
type Local struct {
	*Worker
	Parallel int // tasks at a time, each with the memory and the goroutines of the Worker; 0: one
}

var _ Engine = (*Local)(nil)

func (*Local) Name() string { return "local" }

func (e *Local) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	var g errgroup.Group
	g.SetLimit(max(1, e.Parallel))
	answers := make(chan Answer)
	go func() {
		for i, t := range tasks {
			if ctx.Err() != nil {
				break
			}
			g.Go(func() error {
				a := e.Do(ctx, t)
				a.ID = i
				answers <- a
				return nil
			})
		}
		_ = g.Wait() // its functions return no errors
		close(answers)
	}()
	for a := range answers {
		answer(a)
	}
	return context.Cause(ctx)
}

// Command is an engine of programs at the other end of a pipe: each reads tasks from its standard input, a line of JSON each,
// and answers on its standard output as Worker.Serve does, in any order. The programs stay from one stage to the next. A
// program that ends or does not answer is replaced; its tasks have failed, and may be tried again.
type Command struct {
	Args      []string
	Label     string        // what Name returns
	Processes int           // 0: one
	Window    int           // tasks that a process has at a time; 0: all
	Timeout   time.Duration // a process that has tasks and does not answer for this long is killed; 0: no limit

	procs []*process // nil: no process in this place
}

var _ Engine = (*Command)(nil)

func (c *Command) Name() string { return c.Label }

// process is a running program.
type process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	answers chan Answer // closed when the program has ended
	err     error       // why the program has ended; set before answers is closed
	stderr  tail
}

func (c *Command) start() (_ *process, err error) {
	p := &process{cmd: exec.Command(c.Args[0], c.Args[1:]...), answers: make(chan Answer, 1<<10)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.stderr, time.Second // children of the program may keep its stderr open
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen()
	return p, nil
}

// listen reads the answers of the program until it ends.
func (p *process) listen() {
	lines := bufio.NewScanner(p.out)
	lines.Buffer(nil, longestLine)
	var err error
	for lines.Scan() {
		var a Answer
		if err = json.Unmarshal(lines.Bytes(), &a); err != nil {
			err = fmt.Errorf("its standard output is no answer: %.80q", lines.Bytes())
			p.kill()
			break
		}
		p.answers <- a
	}
	err = errors.Join(err, p.cmd.Wait())
	if err == nil {
		err = errors.New("it has ended")
	}
	if said := p.stderr.last(); said != "" {
		err = fmt.Errorf("%w: %s", err, said)
	}
	p.err = fmt.Errorf("worker %s: %w", p.cmd.Path, err)
	close(p.answers)
}

// say writes a line to the program, which is killed if it does not read the line within timeout, unless that is 0.
func (p *process) say(line []byte, timeout time.Duration) error {
	if timeout > 0 {
		defer time.AfterFunc(timeout, p.kill).Stop()
	}
	_, err := p.in.Write(line)
	return err
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // an error means that the process has ended

func (p *process) end() {
	p.kill()
	_, _ = p.in.Close(), p.out.Close()
	for range p.answers {
	}
}

func (c *Command) Run(ctx context.Context, tasks []Task, answer func(Answer)) error {
	for len(c.procs) < max(1, c.Processes) {
		c.procs = append(c.procs, nil)
	}
	queue := make(chan int, len(tasks))
	for i := range tasks {
		queue <- i
	}
	close(queue)
	var one sync.Mutex
	var g errgroup.Group
	for i := range c.procs {
		s := &slot{Command: c, at: i, tasks: tasks, queue: queue, open: map[int]bool{}, answer: func(a Answer) {
			one.Lock()
			defer one.Unlock()
			answer(a)
		}}
		g.Go(func() error { return s.run(ctx) })
	}
	return g.Wait()
}

// slot is the state of one process in a Run.
type slot struct {
	*Command
	at     int
	tasks  []Task
	queue  chan int
	open   map[int]bool // tasks that the process has
	answer func(Answer)
}

func (s *slot) run(ctx context.Context) error {
	for {
		more, err := s.fill()
		if err != nil {
			s.fail(err)
			continue
		}
		if len(s.open) == 0 && !more {
			return nil
		}
		if err := s.wait(ctx); err != nil {
			s.fail(err)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
}

// fill gives the process as many tasks as it may have, and reports whether it gave any.
func (s *slot) fill() (some bool, err error) {
	for s.Window == 0 || len(s.open) < s.Window {
		i, ok := <-s.queue
		if !ok {
			return some, nil
		}
		some, s.open[i] = true, true
		if s.procs[s.at] == nil {
			p, err := s.start()
			if err != nil {
				return some, err
			}
			s.procs[s.at] = p
		}
		line, err := json.Marshal(request{i, s.tasks[i]})
		if err == nil {
			err = s.procs[s.at].say(append(line, '\n'), s.Timeout)
		}
		if err != nil {
			return some, err
		}
	}
	return some, nil
}

func (s *slot) wait(ctx context.Context) error {
	p := s.procs[s.at]
	var late <-chan time.Time
	if s.Timeout > 0 {
		timer := time.NewTimer(s.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case a, ok := <-p.answers:
		if !ok {
			return p.err
		}
		if s.open[a.ID] {
			delete(s.open, a.ID)
			s.answer(a)
		}
		return nil
	case <-late:
		return fmt.Errorf("worker %s: no answer for %v", p.cmd.Path, s.Timeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fail ends the process; all tasks that the process has fail with err.
func (s *slot) fail(err error) {
	if p := s.procs[s.at]; p != nil {
		p.end()
		s.procs[s.at] = nil
		if fault := new(fs.PathError); errors.As(err, &fault) {
			err = p.err // err is of the write: p.err says why the process has ended
		}
	}
	for i := range s.open {
		delete(s.open, i)
		s.answer(Answer{ID: i, Error: err.Error()})
	}
}

// Close ends the programs. A program that runs for more than patience after the end of its input is killed.
func (c *Command) Close() error {
	const patience = 5 * time.Second
	for i, p := range c.procs {
		if p == nil {
			continue
		}
		_ = p.in.Close()                        // an error means that it reads no more, or has ended
		kill := time.AfterFunc(patience, p.end) // closes its output, too, which its children may keep open
		for range p.answers {
		}
		kill.Stop()
		c.procs[i] = nil
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(b), nil
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	return string(lines[len(lines)-1])
}
