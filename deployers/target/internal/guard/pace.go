// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"context"
	"time"

	"golang.org/x/time/rate"
)

const (
	// PaceRate and PaceBurst are how many bytes of answers are read for one namespace, in a second and at once.
	PaceRate, PaceBurst = 2 << 20, 8 << 20
	// requestCost and eventCost are what a request, and an event of a watch, cost beyond their bytes: what it takes to decode and handle one.
	requestCost, eventCost = 16 << 10, 4 << 10
	// pacedLists is how many lists are read for one namespace at a time.
	pacedLists = 16
)

// Pace bounds what is read of the servers of one namespace: who sends faster is read slowly. Nil bounds nothing. It is safe for concurrent use.
type Pace struct {
	tokens *rate.Limiter
	lists  chan struct{}
}

// NewPace returns a pace that has read nothing yet, of so many bytes in a second, and at once.
func NewPace(perSecond, burst int) *Pace {
	return &Pace{tokens: rate.NewLimiter(rate.Limit(perSecond), burst), lists: make(chan struct{}, pacedLists)}
}

type paceKey struct{}

// WithPace makes the requests with the returned context keep to a pace: lists wait before they are sent, watches before each part of the answer.
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
	end = func() {}
	if p == nil {
		return end, nil
	}
	if kind != watchAnswer {
		select {
		case p.lists <- struct{}{}:
		case <-ctx.Done():
			return end, context.Cause(ctx)
		}
		end = func() { <-p.lists }
	}
	if err := p.wait(ctx); err != nil {
		end()
		return func() {}, err
	}
	p.charge(requestCost)
	return end, nil
}
