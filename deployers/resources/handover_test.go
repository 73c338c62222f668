// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// landscape lets the session read these DeployItems.
func (b *bench) landscape(items ...*v1alpha1.DeployItem) {
	b.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(b.t, v1alpha1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, item := range items {
		builder = builder.WithObjects(item)
	}
	b.DeployItems, b.Owner.Namespace = builder.Build(), "landscapes"
}

// previousOwner is a DeployItem of a type with a configuration; NS stands for the namespace on the target.
func (b *bench) previousOwner(kind, config string) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: "another", Namespace: "landscapes", UID: "another"}}
	item.Spec.Type = kind
	if config != "" {
		item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(strings.ReplaceAll(config, "NS", b.namespace))}
	}
	return item
}

func (b *bench) manifestOwner(manifests string) *v1alpha1.DeployItem {
	return b.previousOwner(v1alpha1.ManifestDeployItemType, `{"manifests": [`+manifests+`]}`)
}

// chartOwner is an item of the helm deployer whose last job recorded these resources.
func (b *bench) chartOwner(recorded string) *v1alpha1.DeployItem {
	item := b.previousOwner(v1alpha1.HelmDeployItemType, "{}")
	item.Generation, item.Status.ObservedGeneration = 2, 2
	item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = "1", "1", v1alpha1.PhaseSucceeded
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(strings.ReplaceAll(`{"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1",
		"kind": "ProviderStatus", `+recorded+`}`, "NS", b.namespace))}
	return item
}

func atWork(item *v1alpha1.DeployItem) *v1alpha1.DeployItem {
	item.Status.JobID = "2"
	return item
}

func deleted(item *v1alpha1.DeployItem) *v1alpha1.DeployItem {
	now := metav1.Now()
	item.DeletionTimestamp, item.Finalizers = &now, []string{"example.com/hold"}
	return item
}

const sharedManifest = `{"manifest": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared", "namespace": "NS"}}}`

const sharedRecord = `{"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "shared", "namespace": "NS"}}`

func TestObjectIsTakenOverOnceItsOwnerHasLetGo(t *testing.T) {
	other := strings.ReplaceAll(sharedManifest, "shared", "other")
	for name, test := range map[string]struct {
		owner func(b *bench) *v1alpha1.DeployItem
		taken bool
	}{
		"owner is gone":     {func(*bench) *v1alpha1.DeployItem { return nil }, true},
		"manifests have it": {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(other + "," + sharedManifest) }, false},
		"manifests have it in a list": {func(b *bench) *v1alpha1.DeployItem {
			return b.manifestOwner(`{"manifest": {"apiVersion": "v1", "kind": "List", "items": [` + strings.TrimSuffix(strings.TrimPrefix(sharedManifest, `{"manifest": `), "}") + `]}}`)
		}, false},
		"manifests have it no longer": {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(other) }, true},
		"manifests keep it": {func(b *bench) *v1alpha1.DeployItem {
			return b.manifestOwner(`{"policy": "keep", ` + sharedManifest[1:])
		}, false},
		"manifests ignore it": {func(b *bench) *v1alpha1.DeployItem {
			return b.manifestOwner(`{"policy": "ignore", ` + sharedManifest[1:])
		}, true},
		"manifests cannot be read":   {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner("7") }, false},
		"owner has no configuration": {func(b *bench) *v1alpha1.DeployItem { return b.previousOwner(v1alpha1.ManifestDeployItemType, "") }, false},
		"owner is being deleted":     {func(b *bench) *v1alpha1.DeployItem { return deleted(b.manifestOwner(sharedManifest)) }, true},
		"chart is being deleted":     {func(b *bench) *v1alpha1.DeployItem { return deleted(atWork(b.chartOwner(`"managedResources": []`))) }, true},
		"owner of another type":      {func(b *bench) *v1alpha1.DeployItem { return b.previousOwner("example.com/other", "{}") }, false},
		"chart has it":               {func(b *bench) *v1alpha1.DeployItem { return b.chartOwner(`"managedResources": [` + sharedRecord + `]`) }, false},
		"chart has it no longer":     {func(b *bench) *v1alpha1.DeployItem { return b.chartOwner(`"managedResources": []`) }, true},
		"chart left it somewhere": {func(b *bench) *v1alpha1.DeployItem {
			return b.chartOwner(`"inventory": {"sites": [{"cluster": {"target": "t"}, "resources": [` + sharedRecord + `]}]}`)
		}, false},
		"chart is being deployed":     {func(b *bench) *v1alpha1.DeployItem { return atWork(b.chartOwner(`"managedResources": []`)) }, false},
		"chart record cannot be read": {func(b *bench) *v1alpha1.DeployItem { return b.chartOwner(`"managedResources": 7`) }, false},
		"chart is to be deployed anew": {func(b *bench) *v1alpha1.DeployItem {
			item := b.chartOwner(`"managedResources": []`)
			item.Generation++
			return item
		}, false},
	} {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "merge", "mergeOverwrite"} {
			t.Run(fmt.Sprintf("%s, %s", name, strategy), func(t *testing.T) {
				b := newBench(t)
				if owner := test.owner(b); owner != nil {
					b.landscape(owner)
				} else {
					b.landscape()
				}
				b.checkHandover(strategy, test.taken)
			})
		}
	}
}

// checkHandover applies an object that another item owned and expects that it is the session's then, or that it is left alone.
func (b *bench) checkHandover(strategy managedresource.UpdateStrategy, taken bool) {
	b.t.Helper()
	shared := b.configMap("shared", "a", "1")
	b.markAs(shared, resources.Owner{Item: "another", Namespace: "landscapes", UID: "another"})
	b.put(shared)

	applied, err := b.Apply(b.t.Context(), []resources.Desired{manage(b.configMap("shared", "a", "1"))}, resources.ApplyOptions{Strategy: strategy})

	require.Equal(b.t, !taken, err != nil, "%v", err)
	live := b.live(shared)
	assert.Equal(b.t, taken, b.Owner.Proven(live))
	assert.Equal(b.t, taken, b.Owner.ClaimOf(live) == resources.Own)
	assert.Equal(b.t, taken, len(applied.Managed) == 1)
	_, err = b.Delete(b.t.Context(), applied.Managed, nil)
	require.NoError(b.t, err)
	assert.Equal(b.t, !taken, b.exists(shared))
}

func TestOwnerWithALongNameIsFound(t *testing.T) {
	for name, gone := range map[string]bool{"exists": false, "is gone": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			owner := b.manifestOwner(sharedManifest)
			owner.Name = strings.Repeat("long-", 20) + "name"
			shared := b.configMap("shared", "a", "1")
			b.markAs(shared, resources.Owner{Item: owner.Name, Namespace: owner.Namespace, UID: owner.UID})
			b.put(shared)
			b.landscape(owner)
			if gone {
				b.landscape()
			}

			_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("shared", "a", "1"))}, resources.ApplyOptions{})

			assert.Equal(t, gone, err == nil, "%v", err)
		})
	}
}

func TestOwnerThatCannotBeReadIsNotGone(t *testing.T) {
	b := newBench(t)
	b.landscape()
	reads := 0
	b.DeployItems = interceptor.NewClient(b.DeployItems.(crclient.WithWatch), interceptor.Funcs{
		Get: func(context.Context, crclient.WithWatch, crclient.ObjectKey, crclient.Object, ...crclient.GetOption) error {
			reads++
			return errors.New("no answer")
		},
	})
	for _, name := range []string{"one", "two"} {
		object := b.configMap(name, "a", "1")
		b.markAs(object, resources.Owner{Item: "another", Namespace: "landscapes", UID: "another"})
		b.put(object)
	}

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "1")), manage(b.configMap("two", "a", "1"))}, resources.ApplyOptions{})

	require.ErrorContains(t, err, "belongs to DeployItem another of namespace landscapes")
	require.ErrorContains(t, err, "no answer")
	assert.Equal(t, 1, reads, "an owner is read once in a call")
}

// TestOwnersOfOtherNamespacesAreNotAskedFor has marks that anybody can write: neither the answer nor the requests tell whether the item exists.
func TestOwnersOfOtherNamespacesAreNotAskedFor(t *testing.T) {
	b := newBench(t)
	b.landscape()
	b.DeployItems = interceptor.NewClient(b.DeployItems.(crclient.WithWatch), interceptor.Funcs{
		Get: func(context.Context, crclient.WithWatch, crclient.ObjectKey, crclient.Object, ...crclient.GetOption) error {
			return errors.New("no such answer")
		},
		List: func(context.Context, crclient.WithWatch, crclient.ObjectList, ...crclient.ListOption) error {
			return errors.New("no such answer")
		},
	})
	for _, owner := range []string{"another", strings.Repeat("z", resources.MaxLabelValue)} {
		object := b.configMap("of-"+owner[:2], "a", "1")
		b.markAs(object, resources.Owner{Item: owner, Namespace: "another-tenant", UID: "another"})
		b.put(object)

		_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("of-"+owner[:2], "a", "1"))}, resources.ApplyOptions{})

		require.ErrorContains(t, err, "belongs to DeployItem "+owner+" of namespace another-tenant")
		require.NotContains(t, err.Error(), "no such answer")
	}
}

// TestForgedMarksCostOneListOfMetadata has marks that name items with long names, each another one.
func TestForgedMarksCostOneListOfMetadata(t *testing.T) {
	b := newBench(t)
	b.landscape()
	lists := 0
	b.DeployItems = interceptor.NewClient(b.DeployItems.(crclient.WithWatch), interceptor.Funcs{
		List: func(ctx context.Context, c crclient.WithWatch, list crclient.ObjectList, options ...crclient.ListOption) error {
			assert.IsType(t, &metav1.PartialObjectMetadataList{}, list)
			lists++
			return c.List(ctx, list, options...)
		},
	})
	var desired []resources.Desired
	for i := range 32 {
		object := b.configMap(fmt.Sprint("forged-", i), "a", "1")
		desired = append(desired, manage(object.DeepCopy()))
		b.markAs(object, resources.Owner{Item: fmt.Sprintf("%s%03d", strings.Repeat("z", resources.MaxLabelValue-3), i), Namespace: "landscapes", UID: "another"})
		b.put(object)
	}

	_, err := b.Apply(t.Context(), desired, resources.ApplyOptions{})

	require.NoError(t, err)
	assert.Equal(t, 1, lists)
}

// TestWhatIsAbandonedIsTakenOverByEveryPolicy has objects whose owner is going to delete them: to leave them alone would be to lose them.
func TestWhatIsAbandonedIsTakenOverByEveryPolicy(t *testing.T) {
	for name, test := range map[string]struct {
		owner func(b *bench) *v1alpha1.DeployItem
		mark  managedresource.ManifestPolicy
		taken bool
	}{
		"let go":          {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner("") }, "manage", true},
		"being deleted":   {func(b *bench) *v1alpha1.DeployItem { return deleted(b.manifestOwner(sharedManifest)) }, "manage", true},
		"chart let go":    {func(b *bench) *v1alpha1.DeployItem { return b.chartOwner(`"managedResources": []`) }, "manage", true},
		"held":            {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner(sharedManifest) }, "manage", false},
		"let go and kept": {func(b *bench) *v1alpha1.DeployItem { return b.manifestOwner("") }, "keep", false},
		"ignored": {func(b *bench) *v1alpha1.DeployItem {
			return b.manifestOwner(`{"policy": "ignore", ` + sharedManifest[1:])
		}, "manage", false},
		"owner is gone": {func(*bench) *v1alpha1.DeployItem { return nil }, "manage", false},
		"deleted without uninstall": {func(b *bench) *v1alpha1.DeployItem {
			item := deleted(b.manifestOwner(sharedManifest))
			item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
			return item
		}, "manage", false},
	} {
		for _, policy := range []managedresource.ManifestPolicy{"fallback", "immutable"} {
			t.Run(name+", "+string(policy), func(t *testing.T) {
				b := newBench(t)
				b.landscape()
				if owner := test.owner(b); owner != nil {
					b.landscape(owner)
				}
				shared := b.configMap("shared", "a", "1")
				resources.Owner{Item: "another", Namespace: "landscapes", UID: "another"}.Mark(shared, test.mark)
				before := b.put(shared)

				applied, err := b.Apply(t.Context(), []resources.Desired{withPolicy(policy, b.configMap("shared", "a", "2"))}, resources.ApplyOptions{})

				require.NoError(t, err)
				live := b.live(shared)
				assert.Equal(t, before.GetUID(), live.GetUID())
				assert.Equal(t, test.taken, b.Owner.Proven(live))
				assert.Equal(t, test.taken, len(applied.Managed) == 1)
				assert.Equal(t, map[bool]string{true: "2", false: "1"}[test.taken && policy == "fallback"], data(live)["a"])
				b.delete(applied.Managed, nil)
				assert.Equal(t, !test.taken, b.exists(shared))
			})
		}
	}
}

func TestHandedOverObjectIsLeftByItsFormerOwner(t *testing.T) {
	b := newBench(t)
	former := &resources.Session{Cluster: b.Cluster, Owner: resources.Owner{Item: "another", Namespace: "landscapes", UID: "another"}, Checkpoint: b.Checkpoint}
	before, err := resources.Apply(t.Context(), former, []resources.Desired{manage(b.configMap("shared", "a", "1"))}, resources.ApplyOptions{})
	require.NoError(t, err)
	b.landscape(b.manifestOwner(""))
	b.Owner.Namespace = "landscapes"
	b.apply("", nil, manage(b.configMap("shared", "a", "1")))

	progress, err := resources.Delete(t.Context(), former, before.Managed, nil)

	require.NoError(t, err)
	assert.True(t, progress.Done())
	assert.True(t, b.exists(b.configMap("shared", "a", "1")))
}
