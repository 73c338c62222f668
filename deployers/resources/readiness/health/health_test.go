// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	require.NoError(t, object.UnmarshalJSON(raw))
	return object
}

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
			assert.Equal(t, test.state, ByStatus(t.Context(), parse(t, test.object)).Status)
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
			checks, err := Compile("healthChecks", []managedresource.HealthCheck{test.check})
			require.NoError(t, err)

			verdict, err := checks.Of(t.Context(), parse(t, test.object))

			require.NoError(t, err)
			assert.Equal(t, test.state, verdict.Status, verdict.Message)
		})
	}
}

func TestExpressionsThatCannotBeUsedAreNamed(t *testing.T) {
	for text, problem := range map[string]string{
		"status.phase ==":                                   "healthChecks[0].failed: is not a CEL expression",
		"'a'.replace('', 'b') == ''":                        "uses the function replace",
		"['a'].join('b') == ''":                             "uses the function join",
		"'%s'.format(['a']) == ''":                          "uses the function format",
		"sets.contains([1], [1])":                           "uses the function sets.contains",
		"[1].all(x, [x].all(y, ''.replace('', '')==''))":    "uses the function replace",
		strings.Repeat("a", maxLength+1):                    "has 2049 characters",
		strings.Repeat("(", 200) + strings.Repeat(")", 200): "is not a CEL expression",
	} {
		t.Run(text[:min(len(text), 40)], func(t *testing.T) {
			_, err := Compile("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: "true", Failed: text}})
			require.ErrorContains(t, err, problem)
		})
	}
}

// long has lists and texts that costly expressions can work on.
func long() *unstructured.Unstructured {
	items := make([]any, 3000)
	for i := range items {
		items[i] = int64(i)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"items": items, "text": strings.Repeat("a", 1<<20)}}
}

// TestValuesWithoutEndAreNotCompared asks expressions that make a value of billions of parts out of a few lists that hold each other.
func TestValuesWithoutEndAreNotCompared(t *testing.T) {
	const eight = "[a,a,a,a,a,a,a,a]"
	folded := "[[1]]" + strings.Repeat(".map(a, "+eight+")", 12)
	nested := "[[1]].all(a, "
	for range 11 {
		nested += "[" + eight + "].all(a, "
	}
	for name, text := range map[string]string{
		"equal":       folded + " == " + folded,
		"not equal":   folded + " != " + folded,
		"element":     "[1] in " + folded,
		"in nesting":  nested + "a == a" + strings.Repeat(")", 12),
		"in maps":     "[[1]]" + strings.Repeat(".map(a, {'a': a, 'b': a, 'c': a, 'd': a})", 20) + ".all(a, a == a)",
		"in optional": "[[1]]" + strings.Repeat(".map(a, [optional.of(a), optional.of(a), optional.of(a)])", 20) + ".all(a, a == a)",
		"key":         "{'a': 1}[" + folded + "] == 1",
	} {
		t.Run(name, func(t *testing.T) {
			checks, err := Compile("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: text}})
			require.NoError(t, err)
			answered := make(chan *status.Result, 1)
			go func() {
				verdict, _ := checks.Of(context.WithoutCancel(t.Context()), long())
				answered <- verdict
			}()

			select {
			case verdict := <-answered:
				assert.Equal(t, status.InProgressStatus, verdict.Status)
			case <-time.After(time.Minute):
				t.Fatal("the expression is not answered")
			}
		})
	}
}

func TestComparisonsOfListsHaveACost(t *testing.T) {
	for text, costly := range map[string]bool{
		"items == items":                                           false,
		"items.all(i, items == items)":                             true,
		"items.all(i, 5000 in items || i >= 0)":                    true,
		"items.map(i, items).size() == 0":                          true,
		"{'a': items} == {'a': items} && items != [1]":             false,
		"[7] in items || !(items in items)":                        false,
		"items.filter(i, i in [1, 2, 3]).size() == 3":              false,
		"optional.of(items) == optional.of(items)":                 false,
		"optional.none() != optional.of(items) && 'a' in {'a': 1}": false,
	} {
		t.Run(text, func(t *testing.T) {
			checks, err := Compile("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: text}})
			require.NoError(t, err)

			verdict, err := checks.Of(t.Context(), long())

			switch {
			case costly && err == nil:
				assert.Contains(t, verdict.Message, "interrupted", "a busy machine needs the time for fewer steps")
			case costly:
				require.ErrorIs(t, err, ErrTooCostly)
			default:
				require.NoError(t, err)
				assert.Equal(t, status.CurrentStatus, verdict.Status, verdict.Message)
			}
		})
	}
}

func TestCostlyExpressionsEndTheirObjectsAndNobodyElses(t *testing.T) {
	for name, test := range map[string]struct {
		text   string
		costly bool
	}{
		"nested loops":  {"items.all(a, items.all(b, items.all(c, a + b + c >= 0)))", true},
		"growing texts": {"items.map(i, text + text + text).size() == 0", true},
		"long search":   {"text.matches('(a*)*b')", true},
		"long index":    {"text.indexOf(text + 'b') == 0", false},
		"many items":    {"items.map(i, text.split('')).size() == 0", true},
	} {
		t.Run(name, func(t *testing.T) {
			checks, err := Compile("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: test.text}})
			require.NoError(t, err)
			began := time.Now()

			verdict, err := checks.Of(t.Context(), long())

			if test.costly && err == nil {
				assert.Contains(t, verdict.Message, "interrupted", "a busy machine needs the time for fewer steps")
			} else if test.costly {
				require.ErrorIs(t, err, ErrTooCostly)
				require.ErrorContains(t, err, "healthChecks[0].current")
			} else {
				require.NoError(t, err)
				assert.Equal(t, status.InProgressStatus, verdict.Status)
			}
			assert.Less(t, time.Since(began), pace.Within(2*time.Second))
		})
	}
}

func FuzzExpressions(f *testing.F) {
	for _, seed := range []string{"status.phase == 'Good'", "items.all(a, items.all(b, a == b))", "text.matches('a*')", "has(a.b) ? 1 : {}", "text + text",
		"'é'.indexOf('') == 0", "optional.of(1).hasValue()", "duration('1h') > duration('1m')", "bytes(text)", "[[1]][0][0] == dyn(1)"} {
		f.Add(seed)
	}
	object := long()
	f.Fuzz(func(t *testing.T, text string) {
		checks, err := Compile("healthChecks", []managedresource.HealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: text}})
		if err != nil {
			return
		}
		began := time.Now()
		_, _ = checks.Of(t.Context(), object)
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("%q took %s", text, took)
		}
	})
}
