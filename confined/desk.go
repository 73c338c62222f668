// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// desk is what a child can call. Everything that comes from there is foreign.
type desk[Q, R any] struct {
	child *child[Q, R]
	mu    sync.Mutex
	work  *work
	// due is true while a result is expected.
	due bool
}

// work is the job that a child has.
type work struct {
	ctx     context.Context
	answers map[string]Answer
	limits  Limits
	clock   *clock

	// asked are the questions that are being answered.
	asked sync.WaitGroup

	mu   sync.Mutex
	left time.Duration
	// questions and content count what was asked, and the bytes that were answered.
	questions int
	content   int64
	// excess is the limit of questions that was exceeded, as text.
	excess string
}

var (
	errGone      = errors.New("the child is gone")
	errNoJob     = errors.New("there is no job")
	errImpatient = errors.New("two results of one job")
	errAsksMuch  = errors.New("the job asks too much")
)

func (d *desk[Q, R]) set(w *work) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work, d.due = w, w != nil
}

// beginAnswer returns the job, nil where there is none, and has its end wait for an answer.
func (d *desk[Q, R]) beginAnswer() *work {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.work != nil {
		d.work.asked.Add(1)
	}
	return d.work
}

// Take takes the result of one job and gives the next, when there is one.
func (d *desk[Q, R]) Take(done *Result[R], next *Order[Q]) error {
	d.mu.Lock()
	due := d.due
	d.due = false
	d.mu.Unlock()
	if !due {
		return errImpatient
	}
	d.child.rest(true)
	d.child.results <- *done
	select {
	case *next = <-d.child.orders:
		d.child.rest(false)
		return nil
	case <-d.child.broken:
		return errGone
	}
}

// Ask answers a question of the job. While that takes, the time of the job stands still. A job that asks too much ends: its template may take an error
// for an answer.
func (d *desk[Q, R]) Ask(question *Question, reply *Reply) error {
	w := d.beginAnswer()
	if w == nil {
		return errNoJob
	}
	defer w.asked.Done()
	if w.countQuestion() {
		d.child.hangUp()
		return errAsksMuch
	}
	answer := w.answers[question.Name]
	if answer == nil {
		reply.Problem = "it is not available here"
		return nil
	}
	w.clock.pause()
	defer w.clock.resume()
	content, err := w.answer(answer, question.Argument)
	if w.countContent(len(content)) {
		d.child.hangUp()
		return errAsksMuch
	}
	reply.Content = content
	if err != nil {
		reply.Problem = err.Error()
	}
	return nil
}

// countQuestion counts a question and reports whether it is one too many.
func (w *work) countQuestion() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.questions++
	if w.questions > w.limits.Questions {
		w.excess = fmt.Sprintf("%d times", w.limits.Questions)
	}
	return w.excess != ""
}

// countContent counts the bytes of an answer and reports whether they are too many.
func (w *work) countContent(size int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.content += int64(size)
	if w.content > w.limits.Content {
		w.excess = mebibytes(w.limits.Content) + " of answers"
	}
	return w.excess != ""
}

// asksMuch returns the limit of questions that was exceeded, if any.
func (w *work) asksMuch() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.excess
}

// answer asks an Answer. One that panics ends its own job, as a panic in the job itself does, not this process.
func (w *work) answer(answer Answer, argument []byte) (content []byte, err error) {
	w.mu.Lock()
	left := w.left
	w.mu.Unlock()
	if left <= 0 {
		return nil, fmt.Errorf("what the job reads takes longer than %s", w.limits.Answers)
	}
	began := time.Now()
	defer func() {
		if r := recover(); r != nil {
			err = problem(panicked(r))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.left -= time.Since(began)
	}()
	ctx, cancel := context.WithTimeout(w.ctx, left)
	defer cancel()
	return answer(ctx, argument)
}

// Reason is why a child ended before its job.
type Reason string

// Reasons of Ended.
const (
	// OutOfTime says that the job did not end within its time.
	OutOfTime Reason = "Time"
	// OutOfMemory says that the job used more than its memory.
	OutOfMemory Reason = "Memory"
	// TooDeep says that functions called each other without end.
	TooDeep Reason = "Depth"
	// TooMuchOutput says that the result was too large.
	TooMuchOutput Reason = "Output"
	// TooMuchAsked says that the job asked too many questions, or for too much.
	TooMuchAsked Reason = "Questions"
	// Died says that the process ended, and nothing of the others is known.
	Died Reason = "Died"
)

// Ended says why a child ended before its job. Only Died is not to be blamed on the job.
type Ended struct {
	Reason Reason
	// Limit that was exceeded, as text.
	Limit string
	// Step is what the job did last; empty when it did not say.
	Step string
}

// Error says what happened and what helps.
func (e *Ended) Error() string {
	at := ""
	if e.Step != "" {
		at = e.Step + ": "
	}
	switch e.Reason {
	case OutOfTime:
		return fmt.Sprintf("%sit did not end within %s; do less in it, and look for a loop without end", at, e.Limit)
	case OutOfMemory:
		return fmt.Sprintf("%sit used more than %s of memory; make smaller values, and look for a loop without end", at, e.Limit)
	case TooDeep:
		return at + "its calls are nested without end; look for something that calls itself"
	case TooMuchOutput:
		return fmt.Sprintf("%sits result is larger than %s; make less in one", at, e.Limit)
	case TooMuchAsked:
		return fmt.Sprintf("%sit asked for files, components or objects of a cluster more than %s; ask once, keep the answer in a variable, and look for a loop without end",
			at, e.Limit)
	}
	return at + "its process was ended from outside"
}

// outOfMemory is what the runtime of Go writes when the system refuses memory to it. Its garbage collector may also end by SIGSEGV then; in the code
// of a program that is a panic, which is told in other words.
var outOfMemory = []string{
	"out of memory", "cannot allocate", "cannot map pages", "failed to create new OS thread", "failed to reserve", "failed to allocate", "errno=12",
}

// cause finds out why the process has ended.
func (c *child[Q, R]) cause(w *work) error {
	e := &Ended{Step: c.last.at(), Reason: Died}
	c.mu.Lock()
	overfull := c.overfull
	c.mu.Unlock()
	code := c.command.ProcessState.ExitCode()
	switch {
	case overfull:
		e.Reason, e.Limit = TooMuchOutput, mebibytes(maxAnswer)
	case w.asksMuch() != "":
		e.Reason, e.Limit = TooMuchAsked, w.asksMuch()
	case c.last.contains("stack exceeds"):
		e.Reason = TooDeep
	case code == exitMemory || slices.ContainsFunc(outOfMemory, c.last.contains) || c.last.begins("SIGSEGV"):
		e.Reason, e.Limit = OutOfMemory, mebibytes(w.limits.Memory)
	}
	return e
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// clock is the time of a job, which stands still while the job waits for answers.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time
	pausing int
}

func newClock(limit time.Duration) *clock {
	return &clock{timer: time.NewTimer(limit), left: limit, since: time.Now()}
}

func (c *clock) over() <-chan time.Time { return c.timer.C }

func (c *clock) stop() { c.timer.Stop() }

// rest is how much is left.
func (c *clock) rest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pausing > 0 {
		return c.left
	}
	return c.left - time.Since(c.since)
}

// extend gives more time after it was over.
func (c *clock) extend(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.since = by, time.Now()
	if c.pausing == 0 {
		c.timer.Reset(by)
	}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pausing++; c.pausing == 1 {
		c.timer.Stop()
		c.left -= time.Since(c.since)
	}
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pausing--; c.pausing == 0 {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}
