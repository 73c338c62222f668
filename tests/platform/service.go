// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	readyInterval = 20 * time.Millisecond
	readyTimeout  = 2 * time.Minute // for a loaded machine; an idle one needs seconds
	startAttempts = 4
)

// errEnded means that a program ended while somebody waited for it.
var errEnded = errors.New("the program ended")

// seldomCollected lets the heaps of servers grow to nine times what is live, up to 2 GiB: short-lived servers on a small machine have more memory
// to spare than processor time.
var seldomCollected = []string{"GOGC=800", "GOMEMLIMIT=2GiB"}

// A service is a component that listens on loopback ports of its own choice.
type service struct {
	component binaries.Component
	ports     int
	env       []string
	args      func(addresses []string) ([]string, error)
	ready     func(addresses []string) probe
}

// A probe returns nil once the right program answers.
type probe func(context.Context) error

// serve starts the service on free ports and waits until it is ready. Somebody else may take a port in between; then
// the program ends, or its probe says that a stranger answers, and serve tries other ports.
func (c *Cluster) serve(ctx context.Context, s service) error {
	var err error
	for range startAttempts {
		if err = c.tryServe(ctx, s); !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

func (c *Cluster) tryServe(ctx context.Context, s service) error {
	addresses, err := programs.FreeAddresses(s.ports)
	if err != nil {
		return err
	}
	args, err := s.args(addresses)
	if err != nil {
		return err
	}
	p, err := c.run(s.component, slices.Concat(seldomCollected, s.env), args...)
	if err != nil {
		return err
	}
	if err := awaitReady(ctx, p, s.ready(addresses)); err != nil {
		c.started.Forget(p)
		return errors.Join(err, p.Kill9())
	}
	return nil
}

// awaitReady asks until ready succeeds. It fails as soon as the program ends, or after readyTimeout, with the end of the
// program's log.
func awaitReady(ctx context.Context, p *programs.Process, ready probe) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, readyInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, errEnded
		}
		last = ready(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w (last answer: %v)\n%s", p.Name(), err, last, p.LogTail(15))
	}
	return nil
}

// answers returns a probe for status 200 from a GET of url.
func answers(client *http.Client, url string) probe {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, response.Status)
		}
		return nil
	}
}

// allOf returns a probe that succeeds when every one of probes does.
func allOf(probes ...probe) probe {
	return func(ctx context.Context) error {
		for _, ready := range probes {
			if err := ready(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
