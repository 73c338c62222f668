// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pool runs jobs in children. The first one starts with the first job; from then on one is ready before it is asked for, as long as there
// is room. It is safe for concurrent use.
type Pool[Q, R any] struct {
	program *Program[Q, R]
	limits  Limits

	mu sync.Mutex
	// idle children are ready; the last one was used last.
	idle []*child[Q, R]
	// children counts those that have not ended, starting those of them that are not ready yet.
	children, starting int
	// running counts the jobs of each owner, long those of them that are long.
	running, long map[string]int
	waiting       []*waiter[Q, R]
	closed        bool
	shown         measured
}

// waiter is a job without a child. Its channel has room for the one value that it gets.
type waiter[Q, R any] struct {
	owner string
	// isLong says that the job is known to be long.
	isLong bool
	given  chan seat[Q, R]
}

// seat is a child for one job, or why there is none.
type seat[Q, R any] struct {
	child *child[Q, R]
	err   error
}

// NewPool returns a Pool. No child is started.
func NewPool[Q, R any](program *Program[Q, R], limits Limits) *Pool[Q, R] {
	return &Pool[Q, R]{program: program, limits: limits.orElse(DefaultLimits()), running: map[string]int{}, long: map[string]int{}}
}

// Job says for whom a request is run.
type Job struct {
	// Owner is the tenant. Jobs of two owners never share a child at the same time, and the one that has fewer running comes first.
	Owner string
	// Answers are what the job may ask the parent, by name.
	Answers map[string]Answer
	// Limits of this job where they are other than those of the Pool; Children, Memory and Idle do not count.
	Limits Limits
	// Took is told how much of Time a job has taken that came to its end: what it was on a processor, or less where that was in parallel. Nil is nobody.
	Took func(time.Duration)
}

// ErrNotStarted is in the chain of errors of children that could not be started. Trying again may help.
var ErrNotStarted = errors.New("the child process for it could not be started")

// errClosed says that the pool is closed.
var errClosed = errors.New("the pool of child processes is closed")

// Run runs a request in a child. It waits for one as long as the context lives. What a child does that was ended from outside before it said
// anything is begun once more, so answers must bear being asked twice. Errors are those of the context, *Ended when the child did not
// survive the job, and what the program returned.
func (p *Pool[Q, R]) Run(ctx context.Context, job Job, request Q) (R, error) {
	response, err := p.attempt(ctx, job, request)
	var ended *Ended
	if errors.As(err, &ended) && ended.Reason == Died && ended.Step == "" && ctx.Err() == nil {
		// The child may have been gone before the job reached it, which shows no earlier than this.
		return p.attempt(ctx, job, request)
	}
	return response, err
}

// unlock shows what has changed.
func (p *Pool[Q, R]) unlock() {
	p.shown.show(p.program.name, measured{processes: p.children - p.starting, running: sum(p.running), waiting: len(p.waiting)})
	p.mu.Unlock()
}

// sum adds up what all owners have.
func sum(counts map[string]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// less counts one less of an owner.
func less(counts map[string]int, owner string) {
	if counts[owner]--; counts[owner] == 0 {
		delete(counts, owner)
	}
}

func (p *Pool[Q, R]) attempt(ctx context.Context, job Job, request Q) (R, error) {
	w := &waiter[Q, R]{owner: job.Owner, given: make(chan seat[Q, R], 1)}
	result, err := p.seated(ctx, w, job, request)
	if errors.Is(err, errPutBack) {
		w.isLong = true
		result, err = p.seated(ctx, w, job, request)
	}
	if err == nil && result.Problem != "" {
		err = problem(result.Problem)
	}
	return result.Response, err
}

// errPutBack says that a job turned out to be long while there were as many of those as there may be.
var errPutBack = errors.New("the job waits until fewer long ones are running")

// seated runs a request in the child that it waits for.
func (p *Pool[Q, R]) seated(ctx context.Context, w *waiter[Q, R], job Job, request Q) (Result[R], error) {
	taken, err := p.acquire(ctx, w)
	if err != nil {
		return Result[R]{}, err
	}
	began := time.Now()
	result, err := taken.perform(ctx, job, job.Limits.orElse(p.limits), request, func() bool { return p.lengthen(w) })
	if !errors.Is(err, errPutBack) {
		countJob(p.program.name, time.Since(began), err)
	}
	p.release(taken, w, err == nil && !result.Spent && !w.isLong)
	return result, err
}

// lengthen counts a running job among the long ones and reports whether it may go on.
func (p *Pool[Q, R]) lengthen(w *waiter[Q, R]) bool {
	p.mu.Lock()
	defer p.unlock()
	if w.isLong {
		return true
	}
	if !p.hasRoomForLong(w.owner) {
		return false
	}
	w.isLong = true
	p.long[w.owner]++
	return true
}

// hasRoomForLong reports whether one more long job of an owner may run. One child is left for short jobs, whoever has the others, and another one for long
// jobs of owners that have none.
func (p *Pool[Q, R]) hasRoomForLong(owner string) bool {
	most := max(p.limits.Children-1, 1)
	if p.long[owner] > 0 {
		most--
	}
	return sum(p.long) < most
}

// Close ends all children that have no job, and refuses further jobs.
func (p *Pool[Q, R]) Close() {
	p.mu.Lock()
	defer p.unlock()
	p.closed = true
	for _, c := range p.idle {
		c.kill()
	}
	p.idle = nil
	p.fail(errClosed)
}

func (p *Pool[Q, R]) acquire(ctx context.Context, w *waiter[Q, R]) (*child[Q, R], error) {
	p.mu.Lock()
	if p.closed {
		p.unlock()
		return nil, errClosed
	}
	p.waiting = append(p.waiting, w)
	p.dispatch()
	p.unlock()
	select {
	case s := <-w.given:
		return s.child, s.err
	case <-ctx.Done():
		p.leave(w)
		return nil, context.Cause(ctx)
	}
}

// leave gives up waiting, and gives back a child that came at the same moment.
func (p *Pool[Q, R]) leave(w *waiter[Q, R]) {
	p.mu.Lock()
	p.waiting = slices.DeleteFunc(p.waiting, func(other *waiter[Q, R]) bool { return other == w })
	p.unlock()
	select {
	case s := <-w.given:
		if s.child != nil {
			p.release(s.child, w, true)
		}
	default:
	}
}

// release gives a child back; one that is not usable ends.
func (p *Pool[Q, R]) release(c *child[Q, R], w *waiter[Q, R], usable bool) {
	p.mu.Lock()
	defer p.unlock()
	less(p.running, w.owner)
	if w.isLong {
		less(p.long, w.owner)
	}
	if usable && !p.closed {
		p.rest(c)
	} else {
		c.kill()
	}
	p.dispatch()
}

// rest keeps a child for the next job, and ends it when none comes. One that has ended meanwhile is of no use.
func (p *Pool[Q, R]) rest(c *child[Q, R]) {
	if c.isGone() {
		return
	}
	p.idle = append(p.idle, c)
	c.retire = time.AfterFunc(p.limits.Idle, func() {
		p.mu.Lock()
		defer p.unlock()
		if p.remove(c) {
			c.kill()
		}
	})
}

// remove takes a child from those that are idle and reports whether it was there.
func (p *Pool[Q, R]) remove(c *child[Q, R]) bool {
	at := slices.Index(p.idle, c)
	if at < 0 {
		return false
	}
	p.idle = slices.Delete(p.idle, at, at+1)
	return true
}

// dispatch hands idle children to those that wait, and starts as many as are needed and one more.
func (p *Pool[Q, R]) dispatch() {
	for len(p.idle) > 0 {
		next := p.next()
		if next < 0 {
			break
		}
		w := p.waiting[next]
		p.waiting = slices.Delete(p.waiting, next, next+1)
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		c.retire.Stop()
		p.running[w.owner]++
		if w.isLong {
			p.long[w.owner]++
		}
		w.given <- seat[Q, R]{child: c}
	}
	busy := p.children - p.starting - len(p.idle)
	wanted := busy + len(p.waiting)
	if wanted > 0 {
		wanted++
	}
	for p.children < min(wanted, p.limits.Children) && !p.closed {
		p.children++
		p.starting++
		go p.start()
	}
}

// next returns the first that waits among those whose owner has the fewest jobs running, -1 when nobody may have a child now.
func (p *Pool[Q, R]) next() int {
	found := -1
	isLast := sum(p.running)+1 >= p.limits.Children && p.limits.Children > 1
	for i, w := range p.waiting {
		own := p.running[w.owner]
		if own > 0 && isLast || w.isLong && !p.hasRoomForLong(w.owner) {
			continue
		}
		if found < 0 || own < p.running[p.waiting[found].owner] {
			found = i
		}
	}
	return found
}

// start makes one child ready.
func (p *Pool[Q, R]) start() {
	c, err := startChild(p.program.name, p.limits.Memory, p.ended)
	p.mu.Lock()
	defer p.unlock()
	p.starting--
	switch {
	case err != nil:
		p.failed(err)
	case p.closed:
		c.kill()
	default:
		p.rest(c)
		p.dispatch()
	}
}

// failed counts a child that could not be started. Those that wait go on while there are others, which will be free; the next job tries again.
func (p *Pool[Q, R]) failed(err error) {
	p.children--
	if p.children == 0 {
		p.fail(err)
	}
}

// ended is called when the process of a child is gone.
func (p *Pool[Q, R]) ended(c *child[Q, R]) {
	p.mu.Lock()
	defer p.unlock()
	p.children--
	p.remove(c)
	p.dispatch()
}

// fail ends the waiting of all.
func (p *Pool[Q, R]) fail(err error) {
	for _, w := range p.waiting {
		w.given <- seat[Q, R]{err: err}
	}
	p.waiting = nil
}
