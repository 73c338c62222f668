// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestWhetherADeploymentRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		wanted *int32
		status appsv1.DeploymentStatus
		want   string
	}{
		"all run":              {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 2, AvailableReplicas: 2}, ""},
		"one by default":       {nil, appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 1, AvailableReplicas: 1}, ""},
		"none wanted":          {new(int32(0)), appsv1.DeploymentStatus{ObservedGeneration: 3}, "is scaled to 0"},
		"a spec not seen":      {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 2, UpdatedReplicas: 2, AvailableReplicas: 2}, "has a spec that its controller has not seen yet"},
		"a roll-out under way": {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 1, AvailableReplicas: 2}, "has 1 updated replicas of 2"},
		"one not available":    {new(int32(2)), appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: 2, AvailableReplicas: 1}, "has 1 available replicas of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: tc.wanted}, Status: tc.status}
			deployment.Generation = 3
			assert.Equal(t, tc.want, problemOf(deployment))
		})
	}
}

func TestAProblemHasToLast(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		shown       v1alpha1.LsHealthCheckStatus
		problem     string
		lasts       time.Duration
		status      v1alpha1.LsHealthCheckStatus
		description string
	}{
		"none, at first":    {"", "", 0, v1alpha1.LsHealthCheckStatusOk, "ok"},
		"none any more":     {v1alpha1.LsHealthCheckStatusFailed, "", 0, v1alpha1.LsHealthCheckStatusOk, "ok"},
		"at first":          {"", "down", 0, v1alpha1.LsHealthCheckStatusInit, "down"},
		"too short":         {v1alpha1.LsHealthCheckStatusOk, "down", 59 * time.Second, v1alpha1.LsHealthCheckStatusOk, "as it was"},
		"long enough":       {v1alpha1.LsHealthCheckStatusOk, "down", time.Minute, v1alpha1.LsHealthCheckStatusFailed, "down"},
		"after a restart":   {v1alpha1.LsHealthCheckStatusFailed, "down", 0, v1alpha1.LsHealthCheckStatusFailed, "down"},
		"still, from start": {v1alpha1.LsHealthCheckStatusInit, "down", time.Minute, v1alpha1.LsHealthCheckStatusFailed, "down"},
	} {
		t.Run(name, func(t *testing.T) {
			shown := &v1alpha1.LsHealthCheck{Status: tc.shown, Description: "as it was"}
			status, description := outcome(shown, tc.problem, now.Add(-tc.lasts), now, time.Minute)
			assert.Equal(t, tc.status, status)
			assert.Equal(t, tc.description, description)
		})
	}
}
