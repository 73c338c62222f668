// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// named is the metadata of an object that Flux applies.
func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "n", Name: name, Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}}
}

func byHand(object client.Object) client.Object {
	object.SetLabels(nil)
	return object
}

// going is an object in deletion that its finalizer holds.
func going(object client.Object) client.Object {
	object.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
	return held(object)
}

func held(object client.Object) client.Object {
	object.SetFinalizers([]string{v1alpha1.InUseFinalizer})
	return object
}

func secret(name string) client.Object    { return &corev1.Secret{ObjectMeta: named(name)} }
func configMap(name string) client.Object { return &corev1.ConfigMap{ObjectMeta: named(name)} }

func target(name, secret string) client.Object {
	object := &v1alpha1.Target{ObjectMeta: named(name)}
	if secret != "" {
		object.Spec.SecretRef = &v1alpha1.LocalSecretReference{Name: secret}
	}
	return object
}

func contextNaming(name, secret, config string) client.Object {
	object := &v1alpha1.Context{ObjectMeta: named(name)}
	object.RegistryPullSecrets = []v1alpha1.LocalObjectReference{{Name: secret}}
	object.OCMConfig = &v1alpha1.LocalObjectReference{Name: config}
	return object
}

func item(targetName, contextName, config string) client.Object {
	object := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "item"}}
	object.Spec.Target, object.Spec.Context = &v1alpha1.DeployItemTarget{Name: targetName}, contextName
	if config != "" {
		object.Spec.Configuration = &runtime.RawExtension{Raw: []byte(config)}
	}
	return object
}

// settled reconciles every object, as the controllers do at their start, and returns which are there and have the finalizer.
func settled(t *testing.T, objects ...client.Object) map[string]bool {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	builder = builder.WithIndex(&v1alpha1.Installation{}, importIndex, targetImportsOf)
	for _, kind := range users {
		builder = builder.WithIndex(&v1alpha1.DeployItem{}, kind.index, kind.namesOf).WithIndex(kind.make(), contentIndex, contentsOf)
	}
	c := builder.Build()
	r := &Reconciler{Client: c, metadata: c, Backoff: queue.NewBackoff(time.Millisecond, time.Second)}
	for range 2 {
		for _, object := range objects {
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
			for _, kind := range users {
				_, err := (&protector{Reconciler: r, kind: kind}).Reconcile(t.Context(), request)
				require.NoError(t, err)
			}
			for _, kind := range contents {
				_, err := (&releaser{Reconciler: r, kind: kind}).Reconcile(t.Context(), request)
				require.NoError(t, err)
			}
		}
	}
	found := map[string]bool{}
	for _, object := range objects {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err == nil {
			found[object.GetName()] = isProtected(object)
		}
	}
	return found
}

func TestE10ProtectionFollowsTheSecretOfATarget(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []client.Object
		want    map[string]bool
	}{
		"in use": {
			[]client.Object{target("t", "new"), secret("new"), item("t", "", "")}, map[string]bool{"t": true, "new": true, "item": false},
		},
		"changed from another": {
			[]client.Object{held(target("t", "new")), secret("new"), held(secret("old")), item("t", "", "")},
			map[string]bool{"t": true, "new": true, "old": false, "item": false},
		},
		"changed, and the other pruned": {
			[]client.Object{held(target("t", "new")), secret("new"), going(secret("old")), item("t", "", "")},
			map[string]bool{"t": true, "new": true, "item": false},
		},
		"pruned with the Target in use": {
			[]client.Object{going(target("t", "s")), going(secret("s")), item("t", "", "")}, map[string]bool{"t": true, "s": true, "item": false},
		},
		"pruned, nothing uses it": {[]client.Object{going(target("t", "s")), going(secret("s"))}, map[string]bool{}},
		"another Target names it": {
			[]client.Object{going(target("t", "s")), going(secret("s")), held(target("u", "s")), item("u", "", "")},
			map[string]bool{"u": true, "s": true, "item": false},
		},
		"protected before its Target": {
			[]client.Object{held(secret("s")), target("t", "s"), item("t", "", "")}, map[string]bool{"t": true, "s": true, "item": false},
		},
		"made by hand": {
			[]client.Object{byHand(target("t", "s")), byHand(secret("s")), item("t", "", "")}, map[string]bool{"t": false, "s": false, "item": false},
		},
		"secret made by hand": {
			[]client.Object{target("t", "s"), byHand(secret("s")), item("t", "", "")}, map[string]bool{"t": true, "s": false, "item": false},
		},
		"secret missing": {[]client.Object{target("t", "s"), item("t", "", "")}, map[string]bool{"t": true, "item": false}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, settled(t, tc.objects...)) })
	}
}

// importer is an Installation that imports the Target t.
func importer(finalizers ...string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "importer", Finalizers: finalizers}}
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: "t"}}
	return inst
}

func TestTargetsThatARootImportsAreProtected(t *testing.T) {
	nested, inList, inMap := importer(v1alpha1.Finalizer), importer(v1alpha1.Finalizer), importer(v1alpha1.Finalizer)
	nested.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: "parent", UID: "uid", Controller: new(true),
	}}
	inList.Spec.Imports.Targets[0] = v1alpha1.TargetImport{Name: "clusters", Targets: []string{"other", "t"}}
	inMap.Spec.Imports.Targets[0] = v1alpha1.TargetImport{Name: "clusters", TargetMap: map[string]string{"one": "t"}}
	for name, tc := range map[string]struct {
		installation *v1alpha1.Installation
		want         map[string]bool
	}{
		"at work":                       {importer(v1alpha1.Finalizer), map[string]bool{"t": true, "s": true, "importer": false}},
		"one of a list":                 {inList, map[string]bool{"t": true, "s": true, "importer": false}},
		"one of a map":                  {inMap, map[string]bool{"t": true, "s": true, "importer": false}},
		"nothing begun yet":             {importer(), map[string]bool{"importer": false}},
		"nested, in the parent's scope": {nested, map[string]bool{"importer": false}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, settled(t, going(target("t", "s")), going(secret("s")), tc.installation))
		})
	}
}

func TestTargetsOfOtherShardsAreLeftAlone(t *testing.T) {
	object := held(target("t", ""))
	object.GetLabels()[protocol.ShardLabel] = "one"
	selector, err := labels.Parse("!" + protocol.ShardLabel)
	require.NoError(t, err)
	p := &protector{Reconciler: &Reconciler{Shard: protocol.Shard{Selector: selector}, Backoff: queue.NewBackoff(time.Millisecond, time.Second)}, kind: users[0]}
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	writes := 0
	p.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(going(object)).Build(), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			writes++
			return nil
		},
	})

	_, err = p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})

	require.NoError(t, err)
	assert.Zero(t, writes)
}

func TestE23SecondaryTargetsAreProtected(t *testing.T) {
	config := `{"deletionGroups":[{"customResourceGroup":{"targetName":"group","deleteAllResources":true}}],
		"exports":{"exports":[{"key":"a","targetName":"export"}]},"readinessChecks":{"custom":[{"name":"c","targetName":"check"}]}}`
	found := settled(t, target("group", ""), target("export", ""), target("check", ""), target("other", ""), item("own", "", config))
	assert.Equal(t, map[string]bool{"group": true, "export": true, "check": true, "other": false, "item": false}, found)
}

func TestTargetsOfAConfiguration(t *testing.T) {
	var many strings.Builder
	for i := range 2 * maxSecondary {
		fmt.Fprintf(&many, `{"targetName":"t%d"},`, i)
	}
	for name, test := range map[string]struct {
		config string
		want   int
	}{
		"anywhere":          {`{"a":[{"targetName":"one"},{"b":{"targetName" : "two"}}]}`, 2},
		"twice":             {`{"a":[{"targetName":"one"},{"targetName":"one"}]}`, 1},
		"in a text":         {`{"a":"\"targetName\":\"one\""}`, 0},
		"something else":    {`{"targetName":{"name":"one"},"otherTargetName":"two"}`, 0},
		"more than is read": {`{"a":[` + many.String() + `{}]}`, maxSecondary},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, targetsOf(item("", "", test.config)), test.want)
		})
	}
}

func TestE23ContextsAreProtected(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []client.Object
		want    map[string]bool
	}{
		"in use": {
			[]client.Object{contextNaming("c", "pull", "ocm"), secret("pull"), configMap("ocm"), item("t", "c", "")},
			map[string]bool{"c": true, "pull": true, "ocm": true, "item": false},
		},
		"the default": {
			[]client.Object{contextNaming("default", "pull", "ocm"), secret("pull"), item("t", "", "")}, map[string]bool{"default": true, "pull": true, "item": false},
		},
		"not in use": {
			[]client.Object{contextNaming("c", "pull", "ocm"), secret("pull"), item("t", "other", "")}, map[string]bool{"c": false, "pull": false, "item": false},
		},
		"pruned in use": {
			[]client.Object{going(contextNaming("c", "pull", "ocm")), going(secret("pull")), going(configMap("ocm")), item("t", "c", "")},
			map[string]bool{"c": true, "pull": true, "ocm": true, "item": false},
		},
		"pruned after the last item": {
			[]client.Object{going(contextNaming("c", "pull", "ocm")), going(secret("pull")), going(configMap("ocm"))}, map[string]bool{},
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, settled(t, tc.objects...)) })
	}
}
