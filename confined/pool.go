// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package confined runs the programs of users, such as templates and charts, in worker processes of the own binary. A worker has no environment, no
// descriptors beside its pipes, no connections, a limit of memory that it sets itself before it reads anything, and a deadline. A package that has something
// to run declares a Program in a variable of its own; every executable that imports the package, a test binary too, can then be a worker: it notices that
// while its packages are initialised, serves, and never reaches main. The parent makes a Pool of a few workers, which do one job at a time. Messages of
// encoding/gob go over the standard input and output of a worker. It promises nothing to others.
package confined

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/sync/semaphore"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Pool runs jobs in a few workers, which are started when they are needed and live as long as there is work for them. One owner has at most half of the
// workers, and always leaves one to others where there are several. It is safe for concurrent use.
type Pool[Q, R any] struct {
	program *Program[Q, R]
	limits  Limits
	// places are for jobs; those of an owner need one of its own, too.
	places *semaphore.Weighted
	owners sync.Map
	mu     sync.Mutex
	idle   []*worker[Q, R]
}

// Limits of a Pool. Zero fields mean those of DefaultLimits.
type Limits struct {
	// Children is how many workers there are at most, Memory how many bytes each may take beside those that it starts with.
	Children int
	Memory   int64
	// Time is how long one job may take without the time of answers, Answer how long one of these, and Answers how long all of a job together. Idle is how long
	// a worker waits for a job before it ends.
	Time, Answer, Answers, Idle time.Duration
}

// DefaultLimits returns the limits that apply where none are given.
func DefaultLimits() Limits { return Limits{}.orDefault() }

func (l Limits) orDefault() Limits {
	return Limits{
		Children: cmp.Or(l.Children, 4), Memory: cmp.Or(l.Memory, 256<<20), Time: cmp.Or(l.Time, 8*time.Second),
		Answer: cmp.Or(l.Answer, 5*time.Second), Answers: cmp.Or(l.Answers, time.Minute), Idle: cmp.Or(l.Idle, time.Minute),
	}
}

// Most returns how many bytes all workers together may take at most.
func (l Limits) Most() int64 {
	l = l.orDefault()
	return int64(l.Children) * (l.Memory + headroom + idleMemory)
}

// waitingGauge is that of all pools of this process.
var waitingGauge = promauto.With(ctrlmetrics.Registry).NewGaugeVec(prometheus.GaugeOpts{
	Name: "landscaper_child_jobs_waiting", Help: "Jobs that wait for a child process.",
}, []string{"program"})

// NewPool returns a Pool. No worker is started.
func NewPool[Q, R any](program *Program[Q, R], limits Limits) *Pool[Q, R] {
	limits = limits.orDefault()
	return &Pool[Q, R]{program: program, limits: limits, places: semaphore.NewWeighted(int64(limits.Children))}
}

// Job says for which tenant a request is run, and what it may ask the parent, by name.
type Job struct {
	Owner   string
	Answers map[string]Answer
}

// ErrNotStarted is in the chain of errors of workers that could not be started. Trying again may help.
var ErrNotStarted = errors.New("the child process for it could not be started")

// Run runs a request in a worker, for which it waits as long as the context lives. What a worker does that is ended from outside is begun once more, so
// answers must bear being asked twice. Errors are those of the context, *Ended when the worker did not survive the job, and what the program returned.
func (p *Pool[Q, R]) Run(ctx context.Context, job Job, request Q) (none R, err error) {
	leave, err := p.enter(ctx, job.Owner)
	if err != nil {
		return none, err
	}
	defer leave()
	response, err := p.attempt(ctx, job, request, p.takeIdle())
	if ended, ok := errors.AsType[*Ended](err); ok && ended.Reason == Died && ctx.Err() == nil {
		return p.attempt(ctx, job, request, nil)
	}
	return response, err
}

// enter waits until a job of an owner may begin.
func (p *Pool[Q, R]) enter(ctx context.Context, owner string) (leave func(), err error) {
	waiting := waitingGauge.WithLabelValues(p.program.name)
	waiting.Inc()
	defer waiting.Dec()
	found, _ := p.owners.LoadOrStore(owner, semaphore.NewWeighted(max(1, int64(p.limits.Children/2))))
	own := found.(*semaphore.Weighted)
	if own.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	if p.places.Acquire(ctx, 1) != nil {
		own.Release(1)
		return nil, context.Cause(ctx)
	}
	return func() { p.places.Release(1); own.Release(1) }, nil
}

// attempt runs a request in a worker, nil for a new one.
func (p *Pool[Q, R]) attempt(ctx context.Context, job Job, request Q, w *worker[Q, R]) (none R, err error) {
	if w == nil {
		if w, err = startWorker(ctx, p.program, p.limits.Memory); err != nil {
			return none, cmp.Or(context.Cause(ctx), fmt.Errorf("%w: %w", ErrNotStarted, err))
		}
	}
	done, step, err := w.converse(ctx, job, p.limits, request)
	if err != nil {
		w.stop()
		return none, cmp.Or(context.Cause(ctx), w.cause(step, p.limits))
	}
	p.rest(w, !done.Spent)
	if done.Problem != "" {
		err = errors.New(done.Problem)
	}
	return done.Value, err
}

// takeIdle returns the worker that was used last, nil if there is none.
func (p *Pool[Q, R]) takeIdle() *worker[Q, R] {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	w := p.idle[last]
	p.idle = p.idle[:last]
	w.retire.Stop()
	return w
}

// rest keeps a worker for the next job, and ends it when none comes.
func (p *Pool[Q, R]) rest(w *worker[Q, R], usable bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !usable {
		go w.stop()
		return
	}
	p.idle = append(p.idle, w)
	w.retire = time.AfterFunc(p.limits.Idle, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if at := slices.Index(p.idle, w); at >= 0 {
			p.idle = slices.Delete(p.idle, at, at+1)
			go w.stop()
		}
	})
}

// worker is the parent's side of a worker process.
type worker[Q, R any] struct {
	command *exec.Cmd
	encoder *gob.Encoder
	decoder *gob.Decoder
	output  io.LimitedReader
	// complaint is what the runtime says when it ends the process, fate why the parent has ended it.
	complaint bytes.Buffer
	fate      atomic.Pointer[Ended]
	// retire ends the worker when it is not used.
	retire *time.Timer
}

// startWorker starts a worker and waits until it is ready.
func startWorker[Q, R any](ctx context.Context, program *Program[Q, R], memory int64) (*worker[Q, R], error) {
	w := &worker[Q, R]{command: exec.Command(executable())} // #nosec G204 -- the path is that of the own binary
	w.command.Args = []string{os.Args[0], subcommand, program.name, strconv.FormatInt(memory, 10)}
	w.command.Env, w.command.Stderr = []string{}, &w.complaint
	input, err := w.command.StdinPipe()
	output, problem := w.command.StdoutPipe()
	if err := cmp.Or(err, problem); err != nil {
		return nil, err
	}
	w.output = io.LimitedReader{R: output, N: maxOutput}
	w.encoder, w.decoder = gob.NewEncoder(input), gob.NewDecoder(&w.output)
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, w.kill)()
	defer time.AfterFunc(time.Minute, w.kill).Stop()
	if w.decoder.Decode(&message[R]{}) != nil {
		w.stop()
		return nil, errors.New("it ended at once: " + w.complaint.String())
	}
	return w, nil
}

func (w *worker[Q, R]) kill() { _ = w.command.Process.Kill() }
func (w *worker[Q, R]) stop() {
	w.kill()
	_ = w.command.Wait()
}

// converse sends a request, answers what the worker asks, and returns its result, or the step at which it broke off. The clock of the job stands still while
// it waits for an answer.
func (w *worker[Q, R]) converse(ctx context.Context, job Job, limits Limits, request Q) (m message[R], step string, err error) {
	defer context.AfterFunc(ctx, w.kill)()
	w.output.N = maxOutput
	end := func(reason Reason, limit time.Duration) {
		w.fate.CompareAndSwap(nil, &Ended{Reason: reason, Limit: limit.String()})
		w.kill()
	}
	began, left, answers := time.Now(), limits.Time, limits.Answers
	clock := time.AfterFunc(left, func() { end(OutOfTime, limits.Time) })
	defer clock.Stop()
	for next := (message[Q]{Value: request}); ; {
		if err := w.encoder.Encode(next); err != nil {
			return m, step, err
		}
		for m.Kind = isStep; m.Kind == isStep; {
			m = message[R]{}
			if err := w.decoder.Decode(&m); err != nil {
				return m, step, err
			}
			if m.Kind == isStep {
				step = m.Name
			}
		}
		if wasOver := !clock.Stop(); m.Kind == isResult {
			m.Spent = m.Spent || wasOver
			return m, step, nil
		}
		asked := time.Now()
		left -= asked.Sub(began)
		next = message[Q]{}
		next.Body, next.Problem = job.answer(ctx, m.Name, m.Body, min(limits.Answer, answers))
		began = time.Now()
		if answers -= began.Sub(asked); answers <= 0 {
			end(TooMuchAsked, limits.Answers)
		}
		clock.Reset(left)
	}
}

// answer answers a question. What panics ends its own job, as a panic in the job itself does, not this process.
func (j Job) answer(ctx context.Context, name string, argument []byte, limit time.Duration) (content []byte, trouble string) {
	answer := j.Answers[name]
	if answer == nil {
		return nil, "it is not available here"
	}
	defer func() {
		if r := recover(); r != nil {
			trouble = panicked(r)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("there was no answer within %s", limit))
	defer cancel()
	content, err := answer(ctx, argument)
	if err != nil {
		return nil, err.Error()
	}
	return content, ""
}

// Reason is why a worker ended before its job and what helps, as a sentence with LIMIT in the place of a limit.
type Reason string

// Reasons of Ended. The job is to blame for all of them but the last, which says that nothing of the others is known.
const (
	OutOfTime     Reason = "it did not end within LIMIT; do less in it, and look for a loop without end"
	OutOfMemory   Reason = "it used more than LIMIT of memory; make smaller values, and look for a loop without end"
	TooDeep       Reason = "its calls are nested without end; look for something that calls itself"
	TooMuchOutput Reason = "its result is larger than LIMIT; make less in one"
	TooMuchAsked  Reason = "it waited for components or objects of a cluster longer than LIMIT; ask once, keep the answer in a variable, and look for a loop without end"
	Died          Reason = "its process was ended from outside"
)

// Ended says why a worker ended before its job, the limit that was exceeded, and what the job did last; empty when it did not say.
type Ended struct {
	Reason      Reason
	Limit, Step string
}

// Error says what happened and what helps.
func (e *Ended) Error() string {
	return strings.TrimPrefix(e.Step+": "+strings.Replace(string(e.Reason), "LIMIT", e.Limit, 1), ": ")
}

// outOfMemory is what the runtime of Go writes when the system refuses memory to it. Its garbage collector may also end by SIGSEGV then; in the code
// of a program that is a panic, which is told in other words.
var outOfMemory = []string{"out of memory", "cannot allocate", "cannot map pages", "failed to create new OS thread", "failed to reserve", "failed to allocate", "errno=12"}

// cause finds out why the process has ended.
func (w *worker[Q, R]) cause(step string, limits Limits) error {
	said, code := w.complaint.String(), w.command.ProcessState.ExitCode()
	says := func(words string) bool { return strings.Contains(said, words) }
	switch fate := w.fate.Load(); {
	case fate != nil:
		return &Ended{Reason: fate.Reason, Limit: fate.Limit, Step: step}
	case w.output.N <= 0:
		return &Ended{Reason: TooMuchOutput, Limit: fmt.Sprintf("%d MiB", maxOutput>>20), Step: step}
	case says("stack exceeds"):
		return &Ended{Reason: TooDeep, Step: step}
	case code == exitMemory || strings.HasPrefix(said, "SIGSEGV") || slices.ContainsFunc(outOfMemory, says):
		return &Ended{Reason: OutOfMemory, Limit: fmt.Sprintf("%d MiB", limits.Memory>>20), Step: step}
	}
	return &Ended{Reason: Died, Step: step}
}
