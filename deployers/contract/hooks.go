// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Hooks take part in the work on items. A Deployer may have them itself, and the program that serves it adds others by Options.Hooks; those of the
// Deployer run first. They have to return soon, because they hold a worker, and must not change the item. An error is one of the item, as errors of
// Deployer are: a job that has begun shows it and is tried again, or fails if the error says so. Where there is no job it is logged.
type Hooks interface {
	// ShouldReconcile decides whether an item that has no job to do, and whose last job was for its present spec, gets one of its own. It does
	// where one of the hooks answers without an abort; a nil result is no answer.
	ShouldReconcile(ctx context.Context, item *v1alpha1.DeployItem) (*HookResult, error)
	// BeforeReconcile comes before each call of Deployer.Ensure and Deployer.Delete. An abort holds that back: the job waits, and its time goes on.
	BeforeReconcile(ctx context.Context, item *v1alpha1.DeployItem) (*HookResult, error)
	// AfterReconcile comes when what such a call achieved is in the status.
	AfterReconcile(ctx context.Context, item *v1alpha1.DeployItem)
}

// HookResult is what a hook asks for.
type HookResult struct {
	// RequeueAfter asks for another look at the item after this time at the latest; 0 asks for none.
	RequeueAfter time.Duration
	// AbortReconcile asks to leave the item as it is.
	AbortReconcile bool
}

// NoHooks ask for nothing. Embed it to have some of the Hooks.
type NoHooks struct{}

// ShouldReconcile has no answer.
func (NoHooks) ShouldReconcile(context.Context, *v1alpha1.DeployItem) (*HookResult, error) {
	return nil, nil
}

// BeforeReconcile has no answer.
func (NoHooks) BeforeReconcile(context.Context, *v1alpha1.DeployItem) (*HookResult, error) {
	return nil, nil
}

// AfterReconcile does nothing.
func (NoHooks) AfterReconcile(context.Context, *v1alpha1.DeployItem) {}

// hooks run in their order.
type hooks []Hooks

// hooksOf returns those of a deployer, and of the program that serves it.
func hooksOf(deployer Deployer, options *Options) hooks {
	var all hooks
	if own, ok := deployer.(Hooks); ok {
		all = append(all, own)
	}
	if options.Hooks != nil {
		all = append(all, options.Hooks)
	}
	return all
}

// shouldReconcile reports whether an item gets a job of its own.
func (h hooks) shouldReconcile(ctx context.Context, s *scope) (begins bool, err error) {
	for _, hook := range h {
		answer, err := hook.ShouldReconcile(ctx, s.item)
		if err != nil {
			return false, fmt.Errorf("hook ShouldReconcile: %w", err)
		}
		if answer != nil {
			s.hookRequeue = sooner(s.hookRequeue, answer.RequeueAfter)
			begins = begins || !answer.AbortReconcile
		}
	}
	return begins, nil
}

// beforeReconcile returns what a job waits for where a hook holds the call back.
func (h hooks) beforeReconcile(ctx context.Context, s *scope) (held string, err error) {
	for _, hook := range h {
		answer, err := hook.BeforeReconcile(ctx, s.item)
		if err != nil {
			return "", fmt.Errorf("hook BeforeReconcile: %w", err)
		}
		if answer == nil {
			continue
		}
		s.hookRequeue = sooner(s.hookRequeue, answer.RequeueAfter)
		if answer.AbortReconcile {
			s.job.Hold()
			held = "a hook holds the job back"
		}
	}
	return held, nil
}

// afterReconcile runs the hooks that follow a call.
func (h hooks) afterReconcile(ctx context.Context, s *scope) {
	if !s.called.IsZero() {
		for _, hook := range h {
			hook.AfterReconcile(ctx, s.item)
		}
	}
}

// sooner returns the smaller of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
