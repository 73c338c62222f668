// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package programs

import "errors"

// MemoryGroup counts the memory of a process: on Linux only.
type MemoryGroup struct{}

var errNoGroup = errors.New("control groups need Linux")

// NewMemoryGroup fails.
func NewMemoryGroup(string) (*MemoryGroup, error) { return nil, errNoGroup }

// Contain fails.
func (g *MemoryGroup) Contain(Command) (Command, error) { return Command{}, errNoGroup }

// WorkingSet fails.
func (g *MemoryGroup) WorkingSet() (int64, error) { return 0, errNoGroup }

// Close does nothing.
func (g *MemoryGroup) Close() error { return nil }
