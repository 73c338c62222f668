// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestTargetNameOfTheAnnotationComesFirst(t *testing.T) {
	item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Target: &v1alpha1.DeployItemTarget{Name: "spec"}}}
	assert.Equal(t, "spec", targetName(item))
	item.Annotations = map[string]string{v1alpha1.DeployerTargetNameAnnotation: "annotation"}
	assert.Equal(t, "annotation", targetName(item))
}

func interrupted(item *v1alpha1.DeployItem) {
	item.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationInterrupt}
}

func TestWhoseTestAnnotationIsGuarded(t *testing.T) {
	item := &v1alpha1.DeployItem{}
	assert.False(t, isGuarded(item))
	conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "an interrupt is kept in Git")
	assert.False(t, isGuarded(item))
	conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonLoopGuard, "the test annotation is kept in Git")
	assert.True(t, isGuarded(item))
}

// TestWhatAnItemIsReadyFor changes one thing of an item whose last job has succeeded.
func TestWhatAnItemIsReadyFor(t *testing.T) {
	for name, tc := range map[string]struct {
		change                     func(item *v1alpha1.DeployItem)
		repeat, atRest, isDeleting bool
	}{
		"nothing":         {change: func(*v1alpha1.DeployItem) {}, repeat: true, atRest: true},
		"its spec":        {change: func(item *v1alpha1.DeployItem) { item.Generation++ }},
		"a job":           {change: func(item *v1alpha1.DeployItem) { item.Status.JobID = "2" }},
		"no job so far":   {change: func(item *v1alpha1.DeployItem) { item.Status.JobID, item.Status.JobIDFinished = "", "" }},
		"never picked up": {change: func(item *v1alpha1.DeployItem) { item.Status.LastReconcileTime = nil }},
		"its last job":    {change: func(item *v1alpha1.DeployItem) { item.Status.Phase = v1alpha1.PhaseFailed }, repeat: true},
		"a deletion":      {change: func(item *v1alpha1.DeployItem) { item.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, isDeleting: true},
		"a test request": {change: func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}
		}, repeat: true},
		"an interrupt": {change: interrupted, atRest: true},
		"the last job of another type": {change: func(item *v1alpha1.DeployItem) {
			item.Status.Deployer = &v1alpha1.DeployerInformation{Type: "former"}
		}},
		"the last job of its type": {change: func(item *v1alpha1.DeployItem) {
			item.Spec.Type, item.Status.Deployer = "same", &v1alpha1.DeployerInformation{Type: "same"}
		}, repeat: true, atRest: true},
		"the last job of a deployer that names no type": {change: func(item *v1alpha1.DeployItem) {
			item.Spec.Type, item.Status.Deployer = "same", &v1alpha1.DeployerInformation{}
		}, repeat: true, atRest: true},
		"an interrupt of an item of an Execution": {change: func(item *v1alpha1.DeployItem) {
			interrupted(item)
			item.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Execution", Controller: new(true)}}
		}, repeat: true, atRest: true},
		"an interrupt that Flux keeps": {change: func(item *v1alpha1.DeployItem) {
			interrupted(item)
			conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "it is kept in Git")
		}, repeat: true, atRest: true},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Generation, item.Status.ObservedGeneration, item.Status.JobID, item.Status.JobIDFinished = 1, 1, "1", "1"
			item.Status.Phase, item.Status.LastReconcileTime = v1alpha1.PhaseSucceeded, &metav1.Time{Time: time.Now()}
			tc.change(item)
			assert.Equal(t, tc.repeat, mayRepeat(item))
			assert.Equal(t, tc.atRest, isAtRest(item))
			assert.Equal(t, tc.isDeleting, isDeleting(item))
		})
	}
}

func TestOnlyDeletionsGiveUp(t *testing.T) {
	item := &v1alpha1.DeployItem{}
	item.Spec.OnDelete = &v1alpha1.OnDeleteConfig{TargetGone: &v1alpha1.TargetGone{After: metav1.Duration{Duration: time.Hour}}}
	assert.Zero(t, goneAfter(item))
	item.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	assert.Equal(t, time.Hour, goneAfter(item))
	item.Spec.OnDelete.TargetGone = nil
	assert.Zero(t, goneAfter(item))
}
