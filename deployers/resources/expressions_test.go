// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestStatusOfOtherKinds(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		state  status.Status
	}{
		"no status":             {"{apiVersion: example.com/v1, kind: Thing}", status.CurrentStatus},
		"status of its own":     {"{apiVersion: example.com/v1, kind: Thing, status: {phase: Broken}}", status.CurrentStatus},
		"ready":                 {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: [{type: Ready, status: 'True'}]}}", status.CurrentStatus},
		"not ready":             {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: [{type: Ready, status: 'False'}]}}", status.InProgressStatus},
		"reconciling":           {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: [{type: Reconciling, status: 'True'}]}}", status.InProgressStatus},
		"stalled":               {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: [{type: Stalled, status: 'True'}]}}", status.FailedStatus},
		"not observed":          {"{apiVersion: example.com/v1, kind: Thing, metadata: {generation: 2}, status: {observedGeneration: 1}}", status.InProgressStatus},
		"stalled before":        {"{apiVersion: example.com/v1, kind: Thing, metadata: {generation: 2}, status: {observedGeneration: 1, conditions: [{type: Stalled, status: 'True'}]}}", status.InProgressStatus},
		"job running":           {"{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', active: 1}}", status.InProgressStatus},
		"job complete":          {"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}", status.CurrentStatus},
		"job failed":            {"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True'}]}}", status.FailedStatus},
		"config":                {"{apiVersion: v1, kind: ConfigMap}", status.CurrentStatus},
		"claim":                 {"{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", status.InProgressStatus},
		"conditions not a list": {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: 7}}", status.InProgressStatus},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.state, resultByStatus(t.Context(), parse(t, test.object)).Status)
		})
	}
}

const thing = "{apiVersion: example.com/v1, kind: Thing, metadata: {name: one, generation: 2}, spec: {size: 3}, " +
	"status: {observedGeneration: 2, phase: Good, conditions: [{type: Ready, status: 'True'}]}}"

func TestExpressions(t *testing.T) {
	for name, test := range map[string]struct {
		check  managedresource.HealthCheck
		object string
		state  status.Status
	}{
		"current":      {managedresource.HealthCheck{Current: "status.phase == 'Good'"}, thing, status.CurrentStatus},
		"none is true": {managedresource.HealthCheck{Current: "status.phase == 'Better'"}, thing, status.InProgressStatus},
		"failed":       {managedresource.HealthCheck{Current: "true", Failed: "spec.size > 2"}, thing, status.FailedStatus},
		"in progress comes first": {managedresource.HealthCheck{
			Current: "true", Failed: "true", InProgress: "status.conditions.exists(c, c.type == 'Ready')"}, thing, status.InProgressStatus},
		"as Flux documents it": {managedresource.HealthCheck{
			Current: "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True' && metadata.generation == status.observedGeneration)"}, thing, status.CurrentStatus},
		"searching":              {managedresource.HealthCheck{Current: "status.phase.matches('^G') && status.phase.indexOf('d') == 3"}, thing, status.CurrentStatus},
		"no status yet":          {managedresource.HealthCheck{Current: "status.phase == 'Good'"}, "{apiVersion: example.com/v1, kind: Thing}", status.InProgressStatus},
		"has":                    {managedresource.HealthCheck{Current: "!has(status.other)"}, thing, status.CurrentStatus},
		"not observed":           {managedresource.HealthCheck{Current: "true"}, strings.Replace(thing, "generation: 2", "generation: 3", 1), status.InProgressStatus},
		"answer is no bool":      {managedresource.HealthCheck{Current: "status.phase"}, thing, status.InProgressStatus},
		"version does not count": {managedresource.HealthCheck{Current: "true"}, strings.Replace(thing, "/v1", "/v2", 1), status.CurrentStatus},
	} {
		t.Run(name, func(t *testing.T) {
			test.check.APIVersion, test.check.Kind = "example.com/v1", "Thing"
			rules, err := compileExpressions("healthChecks", []managedresource.HealthCheck{test.check})
			require.NoError(t, err)

			verdict, err := rules[schema.GroupKind{Group: "example.com", Kind: "Thing"}].of(t.Context(), parse(t, test.object))

			require.NoError(t, err)
			assert.Equal(t, test.state, verdict.Status, verdict.Message)
		})
	}
}

func TestExpressionsThatCannotBeUsedAreNamed(t *testing.T) {
	for text, problem := range map[string]string{
		"status.phase ==":                 "healthChecks[0].failed: is not a CEL expression: ERROR: <input>:1:16",
		strings.Repeat("a", 2049):         "healthChecks[0].failed: is not a CEL expression: ERROR",
		strings.Repeat("(", 600) + "true": "is not a CEL expression",
	} {
		t.Run(text[:min(len(text), 40)], func(t *testing.T) {
			_, err := compileExpressions("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: "true", Failed: text}})
			require.ErrorContains(t, err, problem)
		})
	}
}

func TestAnExpressionThatTakesTooManyStepsIsNamed(t *testing.T) {
	items := make([]any, 3000)
	for i := range items {
		items[i] = int64(i)
	}
	for name, text := range map[string]string{
		"nested loops": "items.all(a, items.all(b, items.all(c, a + b + c >= 0)))",
		"made lists":   "items.map(a, items.map(b, items)).size() == 0",
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := compileExpressions("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: text}})
			require.NoError(t, err)

			verdict, err := rules[schema.GroupKind{Kind: "ConfigMap"}].of(t.Context(), &unstructured.Unstructured{Object: map[string]any{"items": items}})

			if err == nil { // a busy machine needs the time for fewer steps
				assert.Contains(t, verdict.Message, "interrupted")
				return
			}
			assert.EqualError(t, err, "healthChecks[0].current: costs more than an expression may; make it simpler")
		})
	}
}
