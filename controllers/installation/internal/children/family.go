// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package children makes, observes and deletes the sub-installations and the Execution of an Installation, and gives them its job. It knows what they
// are to be, but neither where that comes from nor when a job starts. It promises nothing to others.
package children

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Keeper keeps the children of Installations.
type Keeper struct {
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Installations and Executions learn of the writes.
	Installations, Executions *kit.Consistency
}

// Family is an Installation with its children, as the cache has them.
type Family struct {
	*jobs.Alarm
	Inst      *v1alpha1.Installation
	Execution *v1alpha1.Execution
	// Foreign is somebody else's Execution with the name that ours would have.
	Foreign *v1alpha1.Execution
	// Children are the sub-installations by object name.
	Children map[string]*v1alpha1.Installation
}

// Run reports whether the Execution or a sub-installation is at work. The deletion of a sub-installation is none: it ends with that of
// this one, which deletes who holds it up.
func (f *Family) Run() bool {
	for _, child := range f.Children {
		if !child.Status.IsIdle() && !child.Status.Phase.IsDeletion() {
			return true
		}
	}
	return f.Execution != nil && !f.Execution.Status.IsIdle()
}

// SomeFailed reports whether the last job of a child has failed and no other runs.
func (f *Family) SomeFailed() bool {
	failed := func(child kit.JobObject) bool { return child.Job().IsIdle() && child.Job().Phase.IsFailed() }
	for _, child := range f.Children {
		if failed(child) {
			return true
		}
	}
	return f.Execution != nil && failed(f.Execution)
}

// InDeletion reports whether the deletion has reached the children, from where there is no way back. What the garbage collector has deleted
// still waits for leave.
func (f *Family) InDeletion() bool {
	for _, child := range f.Children {
		if !child.DeletionTimestamp.IsZero() && !kit.IsHeldBack(child, f.Inst) {
			return true
		}
	}
	return f.Execution != nil && !f.Execution.DeletionTimestamp.IsZero() && !kit.IsHeldBack(f.Execution, f.Inst)
}

// MoveShard brings the Execution and the sub-installations into the shard of the Installation, also while no job runs: the controllers of the
// shard that they were in may not be there any more.
func (k *Keeper) MoveShard(ctx context.Context, f *Family) error {
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		change := kit.FollowShard(f.Inst, f.Children[name])
		if change.Empty() {
			continue
		}
		if err := kit.PatchMetadata(ctx, k.Client, f.Children[name], change); err != nil {
			return err
		}
		k.Installations.Wrote(f.Children[name])
	}
	if f.Execution == nil || kit.FollowShard(f.Inst, f.Execution).Empty() {
		return nil
	}
	if err := kit.PatchMetadata(ctx, k.Client, f.Execution, kit.FollowShard(f.Inst, f.Execution)); err != nil {
		return err
	}
	k.Executions.Wrote(f.Execution)
	return nil
}
