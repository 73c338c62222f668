// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestC24DefaultReadiness(t *testing.T) {
	for name, test := range map[string]struct {
		object, lack string
	}{
		"pod ready":     {object: "{apiVersion: v1, kind: Pod, status: {conditions: [{type: Ready, status: 'True'}]}}"},
		"pod completed": {object: "{apiVersion: v1, kind: Pod, status: {conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}}"},
		"pod unready":   {object: "{apiVersion: v1, kind: Pod, status: {conditions: [{type: Ready, status: 'False', message: no probe}]}}", lack: "no probe"},
		"pod new":       {object: "{apiVersion: v1, kind: Pod}", lack: "condition Ready is not True"},

		"deployment ready":      {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}"},
		"deployment of nothing": {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}, status: {observedGeneration: 2}}"},
		"deployment unobserved": {object: "{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 3}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}", lack: "its controller has not seen generation 3 yet"},
		"deployment surging":    {object: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {replicas: 3, updatedReplicas: 2, availableReplicas: 2}}", lack: "status.replicas is 3, wanted 2"},
		"deployment updating":   {object: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {replicas: 2, updatedReplicas: 1, availableReplicas: 2}}", lack: "status.updatedReplicas is 1, wanted 2"},
		"deployment starting":   {object: "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {replicas: 2, updatedReplicas: 2, availableReplicas: 1}}", lack: "status.availableReplicas is 1, wanted 2"},

		"stateful set ready":      {object: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, status: {updatedReplicas: 2, availableReplicas: 2}}"},
		"stateful set default":    {object: "{apiVersion: apps/v1, kind: StatefulSet, status: {updatedReplicas: 1}}", lack: "status.availableReplicas is 0, wanted at least 1"},
		"stateful set updating":   {object: "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2}, status: {updatedReplicas: 1, availableReplicas: 2}}", lack: "status.updatedReplicas is 1, wanted at least 2"},
		"stateful set unobserved": {object: "{apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 1}}", lack: "its controller has not seen generation 1 yet"},

		"daemon set ready":       {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete}}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 3}}"},
		"daemon set missing":     {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: OnDelete}}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 2}}", lack: "status.currentNumberScheduled is 2, wanted at least 3"},
		"daemon set rolling":     {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 2}}"},
		"daemon set by percent":  {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 50%}}}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 2}}"},
		"daemon set rounds down": {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 50%}}}, status: {desiredNumberScheduled: 3, currentNumberScheduled: 1}}", lack: "status.currentNumberScheduled is 1, wanted at least 2"},
		"daemon set bad value":   {object: "{apiVersion: apps/v1, kind: DaemonSet, spec: {updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: many}}}, status: {desiredNumberScheduled: 1}}", lack: "status.currentNumberScheduled is 0, wanted at least 1"},

		"replica set ready":      {object: "{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2}, status: {readyReplicas: 2}}"},
		"replica set starting":   {object: "{apiVersion: apps/v1, kind: ReplicaSet, status: {readyReplicas: 0}}", lack: "status.readyReplicas is 0, wanted at least 1"},
		"replica set failing":    {object: "{apiVersion: apps/v1, kind: ReplicaSet, status: {readyReplicas: 1, conditions: [{type: ReplicaFailure, status: 'True', message: quota}]}}", lack: "replicas fail: quota"},
		"replica set recovered":  {object: "{apiVersion: apps/v1, kind: ReplicaSet, status: {readyReplicas: 1, conditions: [{type: ReplicaFailure, status: 'False'}]}}"},
		"controller ready":       {object: "{apiVersion: v1, kind: ReplicationController, spec: {replicas: 1}, status: {readyReplicas: 1}}"},
		"controller unobserved":  {object: "{apiVersion: v1, kind: ReplicationController, metadata: {generation: 1}, status: {readyReplicas: 1}}", lack: "its controller has not seen generation 1 yet"},
		"definition established": {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: Established, status: 'True'}]}}"},
		"definition new":         {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}", lack: "it is not established yet"},
		"definition refused":     {object: "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, status: {conditions: [{type: NamesAccepted, status: 'False', message: taken}]}}", lack: "its names are not accepted: taken"},
		"other kinds exist":      {object: "{apiVersion: v1, kind: ConfigMap}"},
		"kind of another group":  {object: "{apiVersion: example.com/v1, kind: Deployment, metadata: {generation: 3}}"},
		"status of another type": {object: "{apiVersion: apps/v1, kind: ReplicaSet, status: {readyReplicas: many, conditions: 7}}", lack: "status.readyReplicas is 0, wanted at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.lack, NotReady(parse(t, test.object)))
		})
	}
}

func TestRequirements(t *testing.T) {
	const object = `
status:
  phase: Done
  count: 2
  ratio: 0.5
  conditions: [{type: Ready, status: "True"}, {type: Healthy, status: "False"}]
  nested: {a: [1, {b: c}]}
  none: null
metadata: {annotations: {example.com/done: "yes"}}
`
	for requirement, expect := range map[string]bool{
		"{jsonPath: .status.phase, operator: exists}":                                                              true,
		"{jsonPath: status.phase, operator: exists}":                                                               true,
		"{jsonPath: '{.status.phase}', operator: exists}":                                                          true,
		"{jsonPath: .status.missing, operator: exists}":                                                            false,
		"{jsonPath: .missing.deep.field, operator: exists}":                                                        false,
		"{jsonPath: .status.missing, operator: '!'}":                                                               true,
		"{jsonPath: .status.phase, operator: '!'}":                                                                 false,
		"{jsonPath: .status.phase, operator: '=', values: [{value: Done}]}":                                        true,
		"{jsonPath: .status.phase, operator: '==', values: [{value: Running}]}":                                    false,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Running}]}":                                    true,
		"{jsonPath: .status.phase, operator: '!=', values: [{value: Done}]}":                                       false,
		"{jsonPath: .status.missing, operator: '!=', values: [{value: Done}]}":                                     false,
		"{jsonPath: .status.missing, operator: '==', values: [{value: Done}]}":                                     false,
		"{jsonPath: .status.phase, operator: in, values: [{value: a}, {value: Done}]}":                             true,
		"{jsonPath: .status.phase, operator: in, values: [{value: a}, {value: b}]}":                                false,
		"{jsonPath: .status.phase, operator: notin, values: [{value: a}, {value: b}]}":                             true,
		"{jsonPath: .status.phase, operator: notin, values: [{value: Done}]}":                                      false,
		"{jsonPath: .status.count, operator: ==, values: [{value: 2}]}":                                            true,
		"{jsonPath: .status.count, operator: ==, values: [{value: 2.0}]}":                                          true,
		"{jsonPath: .status.count, operator: ==, values: [{value: '2'}]}":                                          false,
		"{jsonPath: .status.ratio, operator: ==, values: [{value: 0.5}]}":                                          true,
		"{jsonPath: .status.nested, operator: ==, values: [{value: {a: [1, {b: c}]}}]}":                            true,
		"{jsonPath: .status.nested, operator: ==, values: [{value: {a: [1]}}]}":                                    false,
		"{jsonPath: '.status.conditions[?(@.type == ''Ready'')].status', operator: ==, values: [{value: 'True'}]}": true,
		"{jsonPath: '.status.conditions[?(@.type==\"Healthy\")].status', operator: ==, values: [{value: 'True'}]}": false,
		"{jsonPath: '.status.conditions[*].status', operator: in, values: [{value: 'True'}, {value: 'False'}]}":    true,
		"{jsonPath: '.status.conditions[*].status', operator: ==, values: [{value: 'True'}]}":                      false,
		"{jsonPath: '.spec.conditions[?(@.type == ''Ready'')].status', operator: exists}":                          false,
		"{jsonPath: '.metadata.annotations.example\\.com/done', operator: ==, values: [{value: 'yes'}]}":           true,
	} {
		t.Run(requirement, func(t *testing.T) {
			var spec managedresource.RequirementSpec
			require.NoError(t, yaml.Unmarshal([]byte(requirement), &spec))
			var document map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(object), &document))

			ok, err := fulfils(t.Context(), document, spec)

			require.NoError(t, err)
			assert.Equal(t, expect, ok)
		})
	}
}

func TestNoRequirementIsLookedAtAfterTheJob(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	_, err := fulfils(ctx, map[string]any{"a": "b"}, managedresource.RequirementSpec{JsonPath: ".a", Operator: "exists"})
	require.ErrorIs(t, err, context.Canceled)
}
