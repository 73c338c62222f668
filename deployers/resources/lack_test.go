// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestOfAnObjectThatIsNotReadyOnlyWhatIsShownIsKept(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, object := range map[string]string{
		"the message of a condition": "{apiVersion: v1, kind: Pod, status: {conditions: [{type: Ready, status: 'False', message: " + long + "}]}}",
		"the cause of a Pod":         "{apiVersion: v1, kind: Pod, status: {conditions: [{type: PodScheduled, status: 'False', reason: " + long + "}]}}",
		"names that are refused": "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, " +
			"status: {conditions: [{type: NamesAccepted, status: 'False', message: " + long + "}]}}",
		"a name": "{apiVersion: v1, kind: Pod, metadata: {name: " + long + "}}",
	} {
		t.Run(name, func(t *testing.T) {
			live := parse(t, object)
			checks := &ReadinessChecks{Session: &Session{Cluster: &target.Cluster{}}}
			unready, progress, err := checks.Default(t.Context(), []Subject{{Resource: ReferenceTo(live), Live: live}})
			require.NoError(t, err)
			require.Len(t, unready, 1)
			assert.NotEmpty(t, unready[0].lack)
			assert.LessOrEqual(t, len(unready[0].lack), MaxReason)
			assert.LessOrEqual(t, len(progress.Waiting()), MaxReason)
		})
	}
}
