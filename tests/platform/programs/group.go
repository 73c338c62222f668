// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// Group is programs that end together. It is safe for concurrent use.
type Group struct {
	mu        sync.Mutex
	processes []*Process
}

// Start starts a program and adds it.
func (g *Group) Start(command Command) (*Process, error) {
	p, err := Start(command)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = append(g.processes, p)
	return p, nil
}

// All returns the programs in the order of their start.
func (g *Group) All() []*Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.processes)
}

// Forget drops a program that has ended.
func (g *Group) Forget(gone *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = slices.DeleteFunc(g.processes, func(p *Process) bool { return p == gone })
}

// Take returns the programs, and drops all.
func (g *Group) Take() []*Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.processes
	g.processes = nil
	return taken
}

// StopAll stops programs side by side.
func StopAll(processes []*Process, grace time.Duration) error {
	results := make([]error, len(processes))
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() { results[i] = p.Stop(grace) })
	}
	wg.Wait()
	return errors.Join(results...)
}
