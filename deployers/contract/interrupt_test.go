// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// asked is a hook that answers whether an item gets a job of its own.
type asked struct {
	NoHooks
	answer func() (*HookResult, error)
}

func (a asked) ShouldReconcile(context.Context, *v1alpha1.DeployItem) (*HookResult, error) {
	return a.answer()
}

// hook adds such a hook.
func (d *desk) hook(answer func() (*HookResult, error)) {
	d.r.hooks = append(d.r.hooks, asked{answer: answer})
}

// repeats makes a hook ask for a job whenever the item has none.
func (d *desk) repeats() {
	d.hook(func() (*HookResult, error) { return &HookResult{}, nil })
}

// TestWhatAnInterruptMeansToADeployer has an interrupt on an idle item. The controller ends jobs by it and takes it off; a deployer begins no job of the
// item's own that it would end, and leaves to the controller what the status says of it.
func TestWhatAnInterruptMeansToADeployer(t *testing.T) {
	known := func(item *v1alpha1.DeployItem) {
		conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "it is kept in Git")
	}
	for name, tc := range map[string]struct {
		operation string
		made      []func(*v1alpha1.DeployItem)
		status    func(*v1alpha1.DeployItem)
		begins    bool
	}{
		"no operation":                        {begins: true},
		"an interrupt":                        {operation: v1alpha1.OperationInterrupt},
		"an interrupt that Git keeps":         {operation: v1alpha1.OperationInterrupt, status: known, begins: true},
		"an interrupt that has just left Git": {status: known, begins: true},
		"an interrupt of an Execution's item": {operation: v1alpha1.OperationInterrupt, made: []func(*v1alpha1.DeployItem){controlled}, begins: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &scripted{}, tc.made...)
			require.NoError(t, d.api.Create(t.Context(), &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "execution", UID: "execution"}}))
			d.succeed()
			ended := d.item().Status.JobID
			if tc.operation != "" {
				d.operate(tc.operation)
			}
			if tc.status != nil {
				d.change(tc.status)
			}
			before := conditions.Get(d.item(), protocol.OperationInGitCondition)
			d.repeats()

			for range 3 {
				d.pass()
			}

			item := d.item()
			assert.Equal(t, tc.begins, item.Status.JobID != ended)
			assert.Equal(t, tc.operation, item.Annotations[v1alpha1.OperationAnnotation])
			assert.Equal(t, before, conditions.Get(item, protocol.OperationInGitCondition))
		})
	}
}
