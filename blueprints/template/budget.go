// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flux-landscaper/flux-landscaper/blueprints/internal/bounded"
)

// Budget limits one execution of a template. Zero fields mean the defaults of DefaultBudget.
type Budget struct {
	// Time is how long the execution may take by the clock on the wall. Steps end a loop long before; Time has to suffice for an honest
	// template in a process that hardly gets a processor.
	Time time.Duration
	// OutputBytes is how large the output may be. Values inside the template may take four times, all values together 32 times as much.
	OutputBytes int
	// Depth is how deep templates and includes may call each other.
	Depth int
	// FileBytes is how large the template and each file that it reads may be.
	FileBytes int
	// Steps is how many loop rounds and calls the execution may take.
	Steps int
}

// DefaultBudget returns the limits that apply where none are given.
func DefaultBudget() Budget {
	return Budget{Time: 20 * time.Second, OutputBytes: 4 << 20, Depth: 100, FileBytes: 1 << 20, Steps: 250_000}
}

func (b Budget) orDefault() Budget {
	d := DefaultBudget()
	if b.Time <= 0 {
		b.Time = d.Time
	}
	b.OutputBytes = positive(b.OutputBytes, d.OutputBytes)
	b.Depth = positive(b.Depth, d.Depth)
	b.FileBytes = positive(b.FileBytes, d.FileBytes)
	b.Steps = positive(b.Steps, d.Steps)
	return b
}

func positive(value, fallback int) int {
	if value > 0 {
		return value
	}
	return fallback
}

func (b Budget) valueBytes() int64 { return 4 * int64(b.OutputBytes) }
func (b Budget) workBytes() int64  { return 32 * int64(b.OutputBytes) }

// ErrBudget is in the chain of every error of a template that exceeded its Budget.
var ErrBudget = errors.New("template exceeds its budget")

func overBudget(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrBudget)
}

// ticksPerClock is how many steps pass between two looks at the clock.
const ticksPerClock = 64

// meter counts what one execution uses.
type meter struct {
	ctx    context.Context
	budget Budget
	steps  int
	depth  int
	work   int64
}

// tick counts a step and notices the end of the time.
func (m *meter) tick() error {
	m.steps++
	if m.steps > m.budget.Steps {
		return overBudget("it takes more than %d steps; loop over less", m.budget.Steps)
	}
	if m.steps%ticksPerClock == 0 && m.ctx.Err() != nil {
		return m.timeUp()
	}
	return nil
}

func (m *meter) timeUp() error {
	return overBudget("it runs longer than %s; do less in one template", m.budget.Time)
}

func (m *meter) enter() error {
	m.depth++
	if m.depth > m.budget.Depth {
		return overBudget("templates call each other more than %d levels deep; look for a template or include that calls itself", m.budget.Depth)
	}
	return m.tick()
}

func (m *meter) leave() { m.depth-- }

// spend accounts for new bytes.
func (m *meter) spend(bytes int64) error {
	m.work += bytes
	if m.work > m.budget.workBytes() {
		return overBudget("its values take more than %d bytes together; build less text in one template", m.budget.workBytes())
	}
	return nil
}

// afford refuses a single value that would become larger than allowed.
func (m *meter) afford(bytes int64) error {
	if bytes < 0 || bytes > m.budget.valueBytes() {
		return overBudget("a value would be larger than %d bytes", m.budget.valueBytes())
	}
	return nil
}

// running caps the executions that have not ended: a library call cannot be stopped from outside, so an execution that is over its
// time is left behind and ends by itself.
var running = bounded.NewPool(32)

// withMeter runs f, waits at most for the time of the budget and turns a panic into an error.
func withMeter[T any](ctx context.Context, budget Budget, f func(*meter) (T, error)) (T, error) {
	return withMeterIn(ctx, running, budget, f)
}

func withMeterIn[T any](ctx context.Context, pool *bounded.Pool, budget Budget, f func(*meter) (T, error)) (T, error) {
	m := &meter{budget: budget}
	thrown := func(err error) bool { return errors.Is(err, ErrBudget) }
	out, err := bounded.Run(ctx, pool, budget.Time, thrown, func(ctx context.Context) (T, error) {
		m.ctx = ctx
		return f(m)
	})
	if errors.Is(err, bounded.ErrTime) {
		return out, m.timeUp()
	}
	if errors.Is(err, bounded.ErrBusy) {
		return out, overBudget("%v", err)
	}
	return out, err
}
