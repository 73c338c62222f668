// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// overtaking is a client before each write of which, to one Installation, somebody edits that.
func (s *stage) overtaking(c client.WithWatch, name string, edit func(n int64)) client.WithWatch {
	var edits atomic.Int64
	meet := func(obj client.Object) {
		if _, ok := obj.(*v1alpha1.Installation); ok && obj.GetName() == name {
			edit(edits.Add(1))
		}
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			meet(obj)
			return c.Patch(ctx, obj, patch, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			meet(obj)
			return c.SubResource(sub).Update(ctx, obj, opts...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			meet(obj)
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	})
}

// respecify gives an Installation another blueprint and asks for a job, as a person does who edits it without pause.
func (s *stage) respecify(name string, n int64) {
	leaf := s.leaf(name, fmt.Sprintf("v%d", n))
	patch := fixture.JSONOf(object{
		"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}},
		"spec":     object{"blueprint": leaf.Spec.Blueprint},
	})
	_ = s.client.Patch(s.ctx, leaf, client.RawPatch(types.MergePatchType, []byte(patch))) // the next edit says the same
}

// TestASpecThatChangesWithTheEndOfAJobStartsAnother edits the spec right before the end of a job is written.
func TestASpecThatChangesWithTheEndOfAJobStartsAnother(t *testing.T) {
	s := newStage(t)
	s.stop()
	s.create(s.leaf("one", "v0"))
	s.annotate("one", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.start()
	execution := s.execution("one", "")
	s.quiet()
	s.stop()
	var once atomic.Bool
	s.meddle = func(c client.WithWatch) client.WithWatch {
		return s.overtaking(c, "one", func(n int64) {
			if once.CompareAndSwap(false, true) {
				edit(s, &v1alpha1.Installation{ObjectMeta: s.named("one")}, func(inst *v1alpha1.Installation) { inst.Spec = s.leaf("one", "v1").Spec })
			}
		})
	}
	first := s.finish(execution, v1alpha1.PhaseSucceeded)
	s.start()
	s.succeed("one", first)
	require.True(t, once.Load())
	versions := s.seen.of(s, s.installation("one", func(*v1alpha1.Installation) bool { return true }))
	for _, inst := range versions {
		assert.False(t, inst.Status.IsIdle() && inst.Status.JobID == first, "the next job is queued with the end of the first")
	}
}

// TestJobsEndWhileAPersonEdits edits an Installation every 20 ms from outside.
func TestJobsEndWhileAPersonEdits(t *testing.T) {
	s := newStage(t)
	s.create(fixture.Following(s.leaf("one", "v0")))
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for n := int64(1); ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				s.respecify("one", n)
			}
		}
	}()
	defer func() { stop(); <-done }()
	former := ""
	for range 5 {
		job := s.finish(s.execution("one", former), v1alpha1.PhaseSucceeded)
		s.installation("one", func(inst *v1alpha1.Installation) bool { return inst.Status.JobIDFinished == job })
		former = job
	}
}
