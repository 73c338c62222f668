// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestJudge(t *testing.T) {
	const holds = 45 * time.Second
	was := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Status: status, Reason: reason}
	}
	connected, lost := was(metav1.ConditionTrue, reasonConnected), was(metav1.ConditionFalse, reasonUnreachable)
	tests := map[string]struct {
		seen  sighting
		was   *metav1.Condition
		wants verdict
	}{
		"renewed just now":             {sighting{"2", now, true}, lost, verdict{metav1.ConditionTrue, reasonConnected, holds}},
		"renewed a while ago":          {sighting{"2", now.Add(-44 * time.Second), true}, connected, verdict{metav1.ConditionTrue, reasonConnected, time.Second}},
		"renewed too long ago":         {sighting{"2", now.Add(-holds), true}, connected, verdict{metav1.ConditionFalse, reasonUnreachable, 0}},
		"nothing known at the start":   {sighting{"", now, false}, nil, verdict{metav1.ConditionUnknown, reasonUnknown, holds}},
		"an old Lease at the start":    {sighting{"1", now, false}, nil, verdict{metav1.ConditionUnknown, reasonUnknown, holds}},
		"was connected before":         {sighting{"1", now, false}, connected, verdict{metav1.ConditionTrue, reasonConnected, holds}},
		"was lost before":              {sighting{"1", now, false}, lost, verdict{metav1.ConditionFalse, reasonUnreachable, holds}},
		"the grace is over":            {sighting{"1", now.Add(-holds), false}, connected, verdict{metav1.ConditionFalse, reasonUnreachable, 0}},
		"there was never an agent":     {sighting{"", now.Add(-holds), false}, nil, verdict{metav1.ConditionFalse, reasonNoAgent, 0}},
		"still there was never one":    {sighting{"", now.Add(-holds), false}, was(metav1.ConditionFalse, reasonNoAgent), verdict{metav1.ConditionFalse, reasonNoAgent, 0}},
		"somebody deleted the Lease":   {sighting{"", now.Add(-holds), false}, connected, verdict{metav1.ConditionFalse, reasonUnreachable, 0}},
		"still without the Lease":      {sighting{"", now.Add(-holds), false}, lost, verdict{metav1.ConditionFalse, reasonUnreachable, 0}},
		"the Lease has just been lost": {sighting{"", now, false}, connected, verdict{metav1.ConditionTrue, reasonConnected, holds}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.wants, judge(test.seen, holds, test.was, now)) })
	}
}

// lease is the Lease of an agent that was created an hour ago.
func lease(version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
}

func TestOnlyAChangeOfAnOldLeaseIsASignOfLife(t *testing.T) {
	a := &agents{}
	assert.False(t, a.see("e", lease("1"), now).renewed, "it may be old")
	assert.False(t, a.see("e", lease("1"), now.Add(time.Second)).renewed)
	assert.Equal(t, sighting{"2", now.Add(2 * time.Second), true}, a.see("e", lease("2"), now.Add(2*time.Second)))
	assert.Equal(t, sighting{"2", now.Add(2 * time.Second), true}, a.see("e", lease("2"), now.Add(3*time.Second)))
	assert.False(t, a.see("e", &coordinationv1.Lease{}, now.Add(4*time.Second)).renewed, "its deletion is none")
	assert.True(t, a.see("e", lease("5"), now.Add(5*time.Second)).renewed, "a new one is")
}

func TestALeaseThatWasCreatedJustNowIsASignOfLife(t *testing.T) {
	for name, c := range map[string]struct {
		age   time.Duration
		wants sighting
	}{
		"just now":                    {0, sighting{"1", now, true}},
		"by a clock that is ahead":    {-time.Hour, sighting{"1", now, true}},
		"within its duration":         {44 * time.Second, sighting{"1", now.Add(-44 * time.Second), true}},
		"as long ago as its duration": {45 * time.Second, sighting{"1", now, false}},
	} {
		t.Run(name, func(t *testing.T) {
			created := lease("1")
			created.CreationTimestamp = metav1.NewTime(now.Add(-c.age))
			a := &agents{}
			assert.Equal(t, c.wants, a.see("e", created, now))
			assert.Equal(t, c.wants, a.see("e", created, now.Add(time.Minute)), "it is not new for ever")
		})
	}
}

func TestSelectors(t *testing.T) {
	own := v1alpha1.Requirement{Key: v1alpha1.EnvironmentAnnotation, Operator: "=", Values: []string{"e"}}
	notReserved := v1alpha1.Requirement{Key: v1alpha1.DeployerOnlyAnnotation, Operator: "!"}
	given := []v1alpha1.TargetSelector{{Targets: []v1alpha1.ObjectReference{{Name: "t"}}}, {Annotations: []v1alpha1.Requirement{own}}}
	tests := map[string]struct {
		given        []v1alpha1.TargetSelector
		registration string
		wants        []v1alpha1.TargetSelector
	}{
		"default":          {nil, "mock", []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{own}}}},
		"given":            {given, "mock", given},
		"default for helm": {nil, "helm", []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{own, notReserved}}}},
		"given for helm": {given, "helm", []v1alpha1.TargetSelector{
			{Targets: given[0].Targets, Annotations: []v1alpha1.Requirement{notReserved}}, {Annotations: []v1alpha1.Requirement{own, notReserved}},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
			env.Spec.TargetSelectors = test.given
			assert.Equal(t, test.wants, selectors(env, test.registration))
			assert.Equal(t, test.given, env.Spec.TargetSelectors, "the cache is not changed")
		})
	}
}

func TestWhatAnEnvironmentSaysIsNoExpression(t *testing.T) {
	const injected = "(( landscaperCluster.spec.config ))"
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "e"}, Spec: v1alpha1.EnvironmentSpec{Namespace: injected}}
	env.Spec.TargetSelectors = []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{{Key: "k", Operator: "=", Values: []string{injected}}}}}
	spec, err := describe(env, &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, []string{injected})
	require.NoError(t, err)
	cluster := map[string]any{"spec": map[string]any{"config": "token"}}

	got, err := templating.ImportMappings(t.Context(), spec.ImportDataMappings, map[string]any{"landscaperCluster": cluster}, nil)

	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"releaseName": "r-e", "identity": "r-e", "releaseNamespace": injected, "watchNamespaces": []any{injected},
		"targetSelectors": []any{map[string]any{"annotations": []any{map[string]any{"key": "k", "operator": "=", "values": []any{injected}}}}},
	}, got)
}

func TestTheNamespaceOfAnEnvironmentIsAName(t *testing.T) {
	for namespace, allowed := range map[string]bool{"ls-system": true, "": false, "a b": false, "n\n- name: pod\n  type: landscaper.gardener.cloud/container": false} {
		err := checkSpec(t.Context(), &scope{env: &v1alpha1.Environment{Spec: v1alpha1.EnvironmentSpec{Namespace: namespace}}})
		if allowed {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "spec.namespace: ")
	}
}

func TestBindings(t *testing.T) {
	key := pair.Key{Registration: "r", Environment: "e"}
	tests := map[string]struct {
		namespaces []string
		name       string
		types      []string
		wants      []string
	}{
		"everywhere":         {nil, "r", nil, []string{"ClusterRoleBinding//r-e landscaper:deployer"}},
		"nowhere":            {[]string{}, "r", nil, nil},
		"in some namespaces": {[]string{"a", "b"}, "r", nil, []string{"RoleBinding/a/r-e landscaper:deployer", "RoleBinding/b/r-e landscaper:deployer"}},
		"helm by its type": {nil, "r", []string{v1alpha1.HelmDeployItemType}, []string{
			"ClusterRoleBinding//r-e landscaper:deployer", "ClusterRoleBinding//r-e-helm landscaper:deployer-helm"}},
		"container by its name": {[]string{"a"}, "container", nil, []string{
			"RoleBinding/a/r-e landscaper:deployer", "RoleBinding/a/r-e-container landscaper:deployer-container"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: test.name}}
			registration.Spec.DeployItemTypes = test.types
			var got []string
			for _, binding := range bindings(key, registration, "home", test.namespaces) {
				got = append(got, place(binding)+" "+roleRef(binding).Name)
				assert.Equal(t, key.Labels(), binding.GetLabels())
			}
			assert.Equal(t, test.wants, got)
		})
	}
}

func TestLimit(t *testing.T) {
	const key = v1alpha1.AllowedNamespacesAnnotation
	tests := map[string]struct {
		wanted      []string
		annotations map[string]string
		wants       []string
		refused     bool
	}{
		"nobody says anything":     {nil, nil, nil, false},
		"the Environment says":     {[]string{"a"}, nil, []string{"a"}, false},
		"everything is allowed":    {nil, map[string]string{key: "*"}, nil, false},
		"of everything one":        {[]string{"a"}, map[string]string{key: "b,*"}, []string{"a"}, false},
		"all that is allowed":      {nil, map[string]string{key: "a, b,,a "}, []string{"a", "b"}, false},
		"nothing is allowed":       {nil, map[string]string{key: ""}, []string{}, false},
		"nothing is wanted":        {[]string{}, map[string]string{key: "a"}, []string{}, false},
		"one of two is allowed":    {[]string{"a", "c"}, map[string]string{key: "a,b"}, []string{"a"}, true},
		"its own namespace always": {[]string{"home"}, map[string]string{key: ""}, []string{"home"}, false},
		"a star of the agent":      {[]string{"*"}, map[string]string{key: "a"}, []string{}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env := &v1alpha1.Environment{Spec: v1alpha1.EnvironmentSpec{Namespaces: test.wanted}}
			s := &scope{env: env}
			s.limit(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "home", Annotations: test.annotations}})
			assert.Equal(t, test.wants, s.namespaces)
			assert.Equal(t, test.refused, len(s.problems) > 0)
		})
	}
}

func TestDeployersTakeTheWayOfTheAgent(t *testing.T) {
	content, err := kubeconfig(&v1alpha1.ClusterRestConfig{
		Host: "https://h:1", APIPath: "/p", ServerName: "s", CAData: []byte("a"), ProxyURL: "http://proxy.example.com:3128",
	}, "n", "secret")
	require.NoError(t, err)
	var held struct{ Kubeconfig string }
	require.NoError(t, json.Unmarshal(content.RawMessage, &held))
	config, err := clientcmd.Load([]byte(held.Kubeconfig))
	require.NoError(t, err)
	cluster := config.Clusters["landscaper"]
	assert.Equal(t, "https://h:1/p", cluster.Server)
	assert.Equal(t, "s", cluster.TLSServerName)
	assert.Equal(t, []byte("a"), cluster.CertificateAuthorityData)
	assert.Equal(t, "http://proxy.example.com:3128", cluster.ProxyURL)
}

func TestUsableToken(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	good := func() *v1alpha1.Target {
		content, err := kubeconfig(&v1alpha1.ClusterRestConfig{Host: "https://h"}, "n", "secret")
		require.NoError(t, err)
		target := &v1alpha1.Target{Spec: v1alpha1.TargetSpec{Configuration: content}}
		target.Annotations = map[string]string{renewAnnotation: now.Add(time.Hour).Format(time.RFC3339), accountAnnotation: "1"}
		return target
	}
	tests := map[string]struct {
		change func(*v1alpha1.Target)
		wants  string
	}{
		"good":                 {func(*v1alpha1.Target) {}, "secret"},
		"due":                  {func(o *v1alpha1.Target) { o.Annotations[renewAnnotation] = now.Format(time.RFC3339) }, ""},
		"nobody knows when":    {func(o *v1alpha1.Target) { delete(o.Annotations, renewAnnotation) }, ""},
		"of a former account":  {func(o *v1alpha1.Target) { o.Annotations[accountAnnotation] = "0" }, ""},
		"nothing in it":        {func(o *v1alpha1.Target) { o.Spec.Configuration = nil }, ""},
		"something else in it": {func(o *v1alpha1.Target) { *o.Spec.Configuration = v1alpha1.NewAnyJSON([]byte(`{"kubeconfig":"x"}`)) }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := good()
			test.change(target)
			token, _ := usableToken(target, account, now)
			assert.Equal(t, test.wants, token)
		})
	}
}
