// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
)

const (
	// PaceRate and PaceBurst are how many bytes of answers are read for one namespace, in a second and at once.
	PaceRate, PaceBurst = 2 << 20, 8 << 20
	// ListsRate and ListsBurst are how many bytes of lists the jobs of one namespace read, in a second and at once.
	ListsRate, ListsBurst = 8 << 20, 32 << 20
	// KindsRate and KindsBurst are what answers about kinds may cost one namespace, in a second and at once: their bytes, and what valuesCost and objectCost say.
	KindsRate, KindsBurst = 16 << 20, 32 << 20
	// valuesCost and objectCost are what a value, and an object beyond that, cost in an answer about kinds: an empty object takes less decoded, a null three times
	// as much at most.
	valuesCost, objectCost = 64, 192
	// requestCost and eventCost are what a request, and an event of a watch, cost beyond their bytes: what it takes to decode and handle one.
	requestCost, eventCost = 16 << 10, 4 << 10
	// pacedLists and pacedKinds are how many lists, and answers about kinds, are read for one namespace at a time.
	pacedLists, pacedKinds = 16, 4
	// kindsPatience is how long an answer about kinds waits for its turn, and kindsTime how long it may take then, in which others wait.
	kindsPatience, kindsTime = 20 * time.Second, 10 * time.Second
)

// ErrPaced says that an answer about kinds was not read because those of the namespace came faster than they are read.
var ErrPaced = errors.New("what the targets of a namespace say about their kinds is read at a pace, and it was not the turn of this answer in time")

// Pace bounds what is read of the servers of one namespace: who sends faster is read slowly. Nil bounds nothing. It is safe for concurrent use.
type Pace struct {
	tokens       *rate.Limiter
	lists, kinds chan struct{}
}

// NewPace returns a pace that has read nothing yet, of so many bytes in a second, and at once.
func NewPace(perSecond, burst int) *Pace {
	return &Pace{
		tokens: rate.NewLimiter(rate.Limit(perSecond), burst), lists: make(chan struct{}, pacedLists), kinds: make(chan struct{}, pacedKinds),
	}
}

// NewOpenPace returns a pace that any number of requests may keep to at a time: none has to wait for a server that does not answer another.
func NewOpenPace(perSecond, burst int) *Pace {
	return &Pace{tokens: rate.NewLimiter(rate.Limit(perSecond), burst)}
}

type paceKey struct{}

// WithPace makes the requests with the returned context keep to a pace: lists wait before they are sent, watches before each part of the answer, and answers
// about kinds before they are read, so that a server that does not answer holds up nobody.
func WithPace(ctx context.Context, pace *Pace) context.Context {
	return context.WithValue(ctx, paceKey{}, pace)
}

func paceOf(ctx context.Context) *Pace {
	pace, _ := ctx.Value(paceKey{}).(*Pace)
	return pace
}

// charge notes what was read. It may be more than there is: then wait waits.
func (p *Pace) charge(bytes int) {
	if p != nil {
		p.tokens.ReserveN(time.Now(), min(bytes, p.tokens.Burst()))
	}
}

// wait waits until what was read before is paid. It returns why a context has ended or will end before.
func (p *Pace) wait(ctx context.Context) error {
	if p == nil || p.tokens.WaitN(ctx, 0) == nil {
		return nil
	}
	return cmp.Or(context.Cause(ctx), context.DeadlineExceeded)
}

// begin waits until one more request may be sent. The returned function ends it.
func (p *Pace) begin(ctx context.Context, kind answerKind) (end func(), err error) {
	switch {
	case p == nil || kind.isAboutKinds():
		return func() {}, nil
	case kind == watchAnswer:
		return p.enter(ctx, nil)
	}
	return p.enter(ctx, p.lists)
}

// beginKinds waits until one more answer about kinds may be read. The returned function ends it.
func (p *Pace) beginKinds(ctx context.Context) (end func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	waiting, cancel := context.WithTimeout(ctx, kindsPatience)
	defer cancel()
	end, err = p.enter(waiting, p.kinds)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return end, ErrPaced
	}
	return end, err
}

// enter takes one of so many places, none where places is nil, and waits until what was read before is paid.
func (p *Pace) enter(ctx context.Context, places chan struct{}) (end func(), err error) {
	end = func() {}
	if places != nil {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return end, context.Cause(ctx)
		}
		end = func() { <-places }
	}
	if err := p.wait(ctx); err != nil {
		end()
		return func() {}, err
	}
	p.charge(requestCost)
	return end, nil
}

// costOfKinds returns what a part of an answer about kinds costs.
func costOfKinds(part []byte) int {
	return len(part) + valuesCost*bytes.Count(part, []byte(",")) + objectCost*bytes.Count(part, []byte("{"))
}
