// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// Retries bridge a hiccup within a call; longer trouble is left to the back-off of the controller.
const (
	maxRetries = 4
	// firstDelay doubles with each retry and is spread by half of itself.
	firstDelay = 60 * time.Millisecond
	// maxBrokenTransfers is how often a transfer that broke in the middle is begun anew.
	maxBrokenTransfers = 3
)

// retryPolicy decides about single requests. It implements retry.Policy.
type retryPolicy struct{}

// Retry returns how long to wait, negative for no further try.
func (retryPolicy) Retry(attempt int, answer *http.Response, err error) (time.Duration, error) {
	if attempt >= maxRetries || !retryable(answer, err) {
		return -1, nil
	}
	wait := delay(attempt)
	if err != nil {
		return wait, nil
	}
	if asked := retryAfter(answer, time.Now()); asked > wait {
		wait = asked
	}
	if end, ok := answer.Request.Context().Deadline(); ok && time.Until(end) < wait {
		return -1, nil // the answer says more than a timeout would
	}
	return wait, nil
}

func retryable(answer *http.Response, err error) bool {
	if err != nil {
		return Interrupted(err)
	}
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// delay is exponential, with jitter that keeps a thousand callers apart.
func delay(attempt int) time.Duration {
	base := firstDelay << attempt
	return base + rand.N(base/2) // #nosec G404 -- only spreads the load
}

// retryAfter reads the header Retry-After, in seconds or as a date; zero if there is none.
func retryAfter(answer *http.Response, now time.Time) time.Duration {
	text := answer.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now)
	}
	return 0
}

// Interrupted tells, with false for nil, whether err is one of a connection that broke or did not answer, where the next may be better.
func Interrupted(err error) bool {
	for _, broken := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, broken) {
			return true
		}
	}
	var timing net.Error
	return errors.As(err, &timing) && timing.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}

// Again repeats a transfer that broke in the middle; a Permanent error of work ends it.
func Again(ctx context.Context, work func() error) error {
	for attempt := 0; ; attempt++ {
		err := work()
		if attempt >= maxBrokenTransfers || ctx.Err() != nil || errors.As(err, new(Permanent)) || !Interrupted(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(delay(attempt)):
		}
	}
}

// Permanent is an error that another try of the whole transfer does not help.
type Permanent struct{ error }

// Fatal makes an error Permanent.
func Fatal(err error) error { return Permanent{err} }

// Unwrap returns the error.
func (p Permanent) Unwrap() error { return p.error }
