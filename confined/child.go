// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// maxAnswer is how much a child may send for one job.
const maxAnswer = 64 << 20

// startTime is how long a child may take to get ready.
const startTime = time.Minute

// child is the parent's side of a child process.
type child[Q, R any] struct {
	*process
	results chan Result[R]
	orders  chan Order[Q]
	desk    *desk[Q, R]
	// used is the processor time that the child had taken when its last job ended.
	used time.Duration
	// jobs counts those that it was given.
	jobs uint64
	// retire ends the child when it is not used.
	retire *time.Timer
}

// process is a process with its two pipes.
type process struct {
	command *exec.Cmd
	io.WriteCloser
	output io.Reader
	// broken is closed when the pipes are, ended when the process is gone.
	broken, ended chan struct{}
	once          sync.Once

	mu sync.Mutex
	// left is how many bytes may come.
	left     int64
	overfull bool
	// resting says that the child waits for an order, and has nothing to say before it gets one.
	resting bool
	last    report
}

// startChild starts a child and waits until it is ready. The function is called when it has ended.
func startChild[Q, R any](program string, memory int64, ended func(*child[Q, R])) (*child[Q, R], error) {
	p, err := startProcess(program, memory)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	c := &child[Q, R]{process: p, results: make(chan Result[R], 1), orders: make(chan Order[Q])}
	c.desk = &desk[Q, R]{child: c, due: true}
	ready := make(chan bool, 1)
	go func() {
		c.serve()
		if <-ready {
			ended(c)
		}
	}()
	timer := time.NewTimer(startTime)
	defer timer.Stop()
	select {
	case first := <-c.results:
		c.used = first.Used
		ready <- true
		return c, nil
	case <-c.process.ended:
		err = fmt.Errorf("%w: it ended at once: %s", ErrNotStarted, c.last.first())
	case <-timer.C:
		err = fmt.Errorf("%w: it is not ready after %s", ErrNotStarted, startTime)
	}
	ready <- false
	c.kill()
	return nil, err
}

func startProcess(program string, memory int64) (*process, error) {
	path, err := executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(path), broken: make(chan struct{}), ended: make(chan struct{}), left: maxAnswer} // #nosec G204 -- the path is that of the own binary
	p.command.Args = []string{os.Args[0], subcommand, program, strconv.FormatInt(memory, 10)}
	p.command.Env = []string{}
	p.command.Stderr = &p.last
	if p.WriteCloser, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	if p.output, err = p.command.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, p.command.Start()
}

// serve answers the child until its pipes are closed, and waits for the end of the process, not for answers that are still being looked for.
func (c *child[Q, R]) serve() {
	go func() {
		c.converse()
		c.hangUp()
	}()
	<-c.broken
	c.kill()
	_ = c.command.Wait()
	close(c.process.ended)
}

// converse answers the child until there is nothing more to read.
func (c *child[Q, R]) converse() {
	server := rpc.NewServer()
	if err := server.RegisterName("Desk", c.desk); err != nil {
		panic(err) // the methods of a type of this package
	}
	server.ServeCodec(newCalls(c.process))
}

// rest notes whether the child waits for an order.
func (p *process) rest(resting bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting = resting
}

// Read reads what the child sends, as much as one job may, and nothing that comes when its end is decided. A child that speaks while it waits for an order
// is not what was started: it would hold up the next job.
func (p *process) Read(b []byte) (int, error) {
	n, err := p.output.Read(b)
	if p.isBroken() {
		return 0, errGone
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left -= int64(n)
	if n > 0 && p.resting {
		err = errors.New("the child speaks without an order")
	}
	if p.left < 0 {
		p.overfull = true
		err = errors.New("the child sends too much")
	}
	if err != nil {
		p.hangUp()
		return 0, err
	}
	return n, nil
}

// hangUp notes that nothing more is heard of the child.
func (p *process) hangUp() { p.once.Do(func() { close(p.broken) }) }

// isBroken reports whether nothing more is to be heard of the child.
func (p *process) isBroken() bool {
	select {
	case <-p.broken:
		return true
	default:
		return false
	}
}

// kill ends the process now.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	p.hangUp()
}

// isGone reports whether the process has ended.
func (p *process) isGone() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// allow gives the child another budget of bytes for a job.
func (p *process) allow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = maxAnswer
}

// perform hands the job over and waits for its end; from then on none of its questions is being answered. After an error the child is of no use.
// Once the job is long, lengthen says whether it may go on; it ends with errPutBack otherwise.
func (c *child[Q, R]) perform(ctx context.Context, job Job, limits Limits, request Q, lengthen func() bool) (Result[R], error) {
	asking, stopAsking := context.WithCancel(ctx)
	c.allow()
	c.jobs++
	c.last.begin(c.jobs)
	w := &work{ctx: asking, answers: job.Answers, limits: limits, clock: newClock(limits.Time), left: limits.Answers}
	c.desk.set(w)
	defer func() {
		stopAsking()
		c.desk.set(nil)
		w.asked.Wait()
		w.clock.stop()
	}()
	select {
	case c.orders <- Order[Q]{Number: c.jobs, Request: request}:
	case <-c.process.ended:
		return Result[R]{}, c.cause(w)
	case <-ctx.Done():
		return Result[R]{}, context.Cause(ctx)
	}
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for began, passed := time.Now(), limits.Time; ; {
		select {
		case <-look.C:
			if !c.isLong(time.Since(began)) {
				continue
			}
			if !lengthen() {
				return Result[R]{}, errPutBack
			}
			lowerPriority(c.command.Process.Pid)
			look.Stop()
		case result := <-c.results:
			if job.Took != nil {
				job.Took(max(0, min(result.Used-c.used, passed-w.clock.rest())))
			}
			c.used = result.Used
			return result, nil
		case <-c.process.ended:
			return Result[R]{}, c.cause(w)
		case <-w.clock.over():
			if !c.starved(limits.Time, passed) {
				return Result[R]{}, &Ended{Step: c.last.at(), Reason: OutOfTime, Limit: limits.Time.String()}
			}
			w.clock.extend(limits.Time / 10)
			passed += limits.Time / 10
		case <-ctx.Done():
			return Result[R]{}, context.Cause(ctx)
		}
	}
}

// A job is long that has taken shortWork of processor time, or shortStay by the clock, for which it may have waited for answers. It runs behind all short
// jobs and everything else of the machine, in a child that cannot be used again, because a process may not take its turn back.
const (
	shortWork    = 50 * time.Millisecond
	shortStay    = time.Second
	lookInterval = 20 * time.Millisecond
)

// isLong reports whether the job that has its child for so long is a long one.
func (c *child[Q, R]) isLong(stay time.Duration) bool {
	used, err := processorTime(c.command.Process.Pid)
	return err == nil && used-c.used >= shortWork || stay >= shortStay
}

// Where a machine is so busy that a job has had less than a share of its time on a processor, it gets more, up to a multiple of its time.
const (
	fairShare   = 4
	maxMultiple = 6
)

// starved reports whether the job has hardly been run so far. What has passed is without the time of its questions.
func (c *child[Q, R]) starved(limit, passed time.Duration) bool {
	used, err := processorTime(c.command.Process.Pid)
	return err == nil && used-c.used < limit/fairShare && passed < maxMultiple*limit
}
