// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestUnknownObjectIsCreatedWithOneRequest(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")

	applied := b.apply("", nil, manage(object))

	assert.Equal(t, []string{"POST"}, b.sent())
	live := b.live(object)
	assert.Equal(t, b.Owner.Item, live.GetLabels()[v1alpha1.ManifestDeployItemLabel])
	assert.Equal(t, []managedresource.ManagedResourceStatus{managed(managedresource.ManagePolicy, live)}, applied.Managed)
}

func TestKnownUnchangedObjectIsOnlyRead(t *testing.T) {
	for name, memory := range map[string]*resources.Memory{"with memory": resources.NewMemory(0), "without memory": nil} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Memory = memory
			known := b.apply("", nil, manage(b.configMap("one", "a", "1"))).Managed
			b.sent()

			b.apply("", known, manage(b.configMap("one", "a", "1")))

			assert.Equal(t, []string{"GET"}, b.sent())
		})
	}
}

// podTemplate has many defaults and no controller that writes to it.
const podTemplate = `
apiVersion: v1
kind: PodTemplate
metadata: {name: web, namespace: %[1]s}
template:
  metadata: {labels: {app: web}}
  spec: {containers: [{name: web, image: example.com/web, ports: [{containerPort: 80}]}]}
`

func TestServerDefaultsCauseNoWrite(t *testing.T) {
	for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "merge"} {
		t.Run(string(strategy), func(t *testing.T) {
			b := newBench(t)
			known := b.apply(strategy, nil, manage(b.object(podTemplate))).Managed
			b.sent()

			b.apply(strategy, known, manage(b.object(podTemplate)))

			assert.Equal(t, []string{"GET"}, b.sent())
		})
	}
}

func TestForeignChangeIsPutBack(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	known := b.apply("", nil, manage(object)).Managed
	b.change(object, "data: {a: changed}")

	b.apply("", known, manage(object))

	assert.Equal(t, map[string]string{"a": "1"}, data(b.live(object)))
}

// deploymentRevision is the annotation in which the Deployment controller counts roll-outs.
const deploymentRevision = "deployment.kubernetes.io/revision"

func TestRevisionOfDeploymentIsKept(t *testing.T) {
	b := newBench(t)
	object := b.object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %[1]s, annotations: {v: '1'}},
spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: example.com/web}]}}}}`)
	known := b.apply("", nil, manage(object)).Managed
	waitFor(t, object, func(live *unstructured.Unstructured) bool { return live.GetAnnotations()[deploymentRevision] == "1" })
	object.SetAnnotations(map[string]string{"v": "2"})

	applied := b.apply("", known, manage(object))

	assert.Equal(t, "1", applied.Subjects[0].Live.GetAnnotations()[deploymentRevision])
}

func TestRemovedFieldIsRemoved(t *testing.T) {
	for _, strategy := range []managedresource.UpdateStrategy{"update", "patch"} {
		t.Run(string(strategy), func(t *testing.T) {
			b := newBench(t)
			both := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: '1', b: '2'}}")
			known := b.apply(strategy, nil, manage(both)).Managed

			b.apply(strategy, known, manage(b.configMap("one", "a", "1")))

			assert.Equal(t, map[string]string{"a": "1"}, data(b.live(both)))
		})
	}
}

func TestStrategies(t *testing.T) {
	const before = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s, labels: {theirs: x}}, data: {a: old, empty: "", theirs: x}}`
	const manifest = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: new, empty: filled, b: added}}`
	for strategy, expect := range map[managedresource.UpdateStrategy]map[string]string{
		"":               {"a": "new", "empty": "filled", "b": "added"},
		"update":         {"a": "new", "empty": "filled", "b": "added"},
		"patch":          {"a": "new", "empty": "filled", "b": "added"},
		"merge":          {"a": "old", "empty": "filled", "b": "added", "theirs": "x"},
		"mergeOverwrite": {"a": "new", "empty": "filled", "b": "added", "theirs": "x"},
	} {
		t.Run("strategy "+string(strategy), func(t *testing.T) {
			b := newBench(t)
			b.put(b.object(before))

			b.apply(strategy, nil, manage(b.object(manifest)))

			live := b.live(b.object(manifest))
			assert.Equal(t, expect, data(live))
			assert.True(t, b.Owner.Labelled(live), "label injected")
		})
	}
}

func TestUpdateKeepsWhatTheServerHoldsOnTo(t *testing.T) {
	job := `
apiVersion: batch/v1
kind: Job
metadata: {name: one, namespace: %[1]s, annotations: {v: "VERSION"}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: one, image: example.com/one}]}
`
	service := `{apiVersion: v1, kind: Service, metadata: {name: one, namespace: %[1]s, annotations: {v: "VERSION"}}, spec: {ports: [{port: 80}]}}`
	account := `{apiVersion: v1, kind: ServiceAccount, metadata: {name: one, namespace: %[1]s, annotations: {v: "VERSION"}}}`
	for name, manifest := range map[string]string{"Job": job, "Service": service, "ServiceAccount": account} {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "merge", "mergeOverwrite"} {
			t.Run(name+" "+string(strategy), func(t *testing.T) {
				b := newBench(t)
				known := b.apply(strategy, nil, manage(b.version(manifest, "1"))).Managed
				if name == "ServiceAccount" {
					b.change(b.version(manifest, "1"), "secrets: [{name: token}]")
				}

				b.apply(strategy, known, manage(b.version(manifest, "2")))

				live := b.live(b.version(manifest, "2"))
				want := map[bool]string{true: "1", false: "2"}[strategy == "merge"]
				assert.Equal(t, want, live.GetAnnotations()["v"])
				if name == "ServiceAccount" {
					secrets, _, _ := unstructured.NestedSlice(live.Object, "secrets")
					assert.Len(t, secrets, 1)
				}
			})
		}
	}
}

func TestListsOfCustomKindsComeAfterTheirDefinition(t *testing.T) {
	b := newBench(t)
	group := b.namespace + ".example.com"
	crd := b.object(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.` + group + `}
spec:
  group: ` + group + `
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
	thing := b.object("{apiVersion: " + group + "/v1, kind: Thing, metadata: {name: one, namespace: %[1]s}, spec: {size: 1}}")
	t.Cleanup(func() { _ = platform.Shared(t).Client().Delete(background(), crd) })
	desired := []resources.Desired{manage(thing), manage(crd)}

	first, err := b.Apply(t.Context(), desired, resources.ApplyOptions{})
	require.NoError(t, err)
	if !first.Progress.Done() {
		assert.Contains(t, first.Progress.Waiting(), "CustomResourceDefinition things."+group+" is not established yet")
		require.Len(t, first.Progress.Watch, 1)
		waitFor(t, crd, func(live *unstructured.Unstructured) bool { return resources.HasCondition(live, "Established", "True") })
		first = b.apply("", first.Managed, desired...)
	}

	require.Len(t, first.Managed, 2)
	assert.Equal(t, "CustomResourceDefinition", first.Managed[0].Resource.Kind)
	assert.True(t, b.exists(thing))
}

func TestErrorsNameTheObjectAndAreCollected(t *testing.T) {
	b := newBench(t)
	good := b.configMap("good", "a", "1")
	applied, err := b.Apply(t.Context(), []resources.Desired{
		manage(b.object("{apiVersion: example.com/v1, kind: Nothing, metadata: {name: one, namespace: %[1]s}}")),
		manage(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: Not-Valid, namespace: %[1]s}}")),
		manage(good),
	}, resources.ApplyOptions{})

	assert.ErrorContains(t, err, "Nothing "+b.namespace+"/one")
	assert.ErrorContains(t, err, "kind Nothing of apiVersion example.com/v1 is not known to target test; install its CustomResourceDefinition")
	assert.ErrorContains(t, err, "ConfigMap "+b.namespace+"/Not-Valid")
	assert.True(t, protocol.IsUnrecoverable(err), "a definition may come, and no other name")
	assert.Len(t, applied.Managed, 1)
	assert.True(t, b.exists(good))
}

// silent is a target that answers no question for its kinds.
type silent struct{ meta.RESTMapper }

func (silent) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("no answer")
}

func TestATargetThatDoesNotTellItsKindsIsAskedOnce(t *testing.T) {
	b := newBench(t)
	cluster := *b.Cluster
	cluster.Mapper, b.Cluster = silent{}, &cluster
	good, other := manage(b.configMap("one", "a", "1")), manage(b.configMap("two", "a", "1"))

	applied, err := b.Apply(t.Context(), []resources.Desired{good, other}, resources.ApplyOptions{})

	require.ErrorIs(t, err, resources.ErrUnanswered)
	assert.Equal(t, 1, strings.Count(err.Error(), resources.ErrUnanswered.Error()))
	assert.Empty(t, applied.Refused, "nothing is wrong with the objects")
	assert.Empty(t, applied.Managed)
	assert.Empty(t, b.sent())
}

func TestNamespacedObjectWithoutNamespaceIsMisconfigured(t *testing.T) {
	b := newBench(t)
	_, err := b.Apply(t.Context(), []resources.Desired{manage(parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"))}, resources.ApplyOptions{})
	assert.ErrorContains(t, err, "metadata.namespace is empty")
	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
}

func TestDefaultNamespaceIsUsed(t *testing.T) {
	b := newBench(t)
	_, err := b.Apply(t.Context(), []resources.Desired{manage(parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"))},
		resources.ApplyOptions{DefaultNamespace: b.namespace})
	require.NoError(t, err)
	assert.True(t, b.exists(b.configMap("one", "a", "1")))
}

func TestMissingPermissionIsUnauthorized(t *testing.T) {
	b := newBench(t)
	config, err := platform.Shared(t).NewUser("nobody-" + b.namespace)
	require.NoError(t, err)
	b.Cluster = b.open(config)

	_, err = b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "1"))}, resources.ApplyOptions{})

	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorUnauthorized}, protocol.CodesOf(err))
	assert.ErrorContains(t, err, "ConfigMap "+b.namespace+"/one")
}

func TestRefusalByAdmissionIsRecoverable(t *testing.T) {
	b := newBench(t)
	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.object(
		"{apiVersion: v1, kind: Pod, metadata: {name: one, namespace: %[1]s}, spec: {serviceAccountName: later, containers: [{name: one, image: example.com/one}]}}"))}, resources.ApplyOptions{})
	assert.ErrorContains(t, err, "forbidden")
	assert.False(t, protocol.IsUnrecoverable(err))
}

func TestSecretContentIsNotInErrors(t *testing.T) {
	b := newBench(t)
	secret := b.object("{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: %[1]s}, type: kubernetes.io/dockerconfigjson, data: {.dockerconfigjson: dG9wLXNlY3JldA==}}")
	_, err := b.Apply(t.Context(), []resources.Desired{manage(secret)}, resources.ApplyOptions{})
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "top-secret")
	assert.NotContains(t, err.Error(), "dG9wLXNlY3JldA")
	assert.ErrorContains(t, err, ".dockerconfigjson")
}

func TestTerminatingObjectIsWaitedFor(t *testing.T) {
	b := newBench(t)
	object := b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s, finalizers: [example.com/hold]}, data: {a: old}}")
	b.put(object)
	require.NoError(t, platform.Shared(t).Client().Delete(t.Context(), object.DeepCopy()))

	applied, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "new"))}, resources.ApplyOptions{})

	require.NoError(t, err)
	assert.Contains(t, applied.Progress.Waiting(), "is being deleted, held by example.com/hold")
	require.Len(t, applied.Progress.Watch, 1)
	assert.Equal(t, "one", applied.Progress.Watch[0].Name)
	b.change(object, "metadata: {finalizers: null}")
	b.apply("", nil, manage(b.configMap("one", "a", "new")))
}

func TestAnnotateBeforeCreateStaysOnTheObject(t *testing.T) {
	b := newBench(t)
	desired := resources.Desired{Policy: "manage", Object: b.configMap("one", "a", "1"), AnnotateBeforeCreate: map[string]string{"once": "yes"}}
	known := b.apply("", nil, desired).Managed
	desired.Object = b.configMap("one", "a", "2")

	b.apply("", known, desired)

	assert.Equal(t, "yes", b.live(desired.Object).GetAnnotations()["once"])
}

func TestUpdateKeepsFinalizersOfOthers(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	known := b.apply("", nil, manage(object)).Managed
	b.change(object, "metadata: {finalizers: [example.com/hold]}")

	b.apply("", known, manage(b.configMap("one", "a", "2")))

	assert.Equal(t, []string{"example.com/hold"}, b.live(object).GetFinalizers())
	b.change(object, "metadata: {finalizers: null}")
}

func TestKnownObjectThatIsGoneIsCreated(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	known := []managedresource.ManagedResourceStatus{managed("manage", object)}
	b.apply("", known, manage(object))
	assert.True(t, b.exists(object))
}

func TestServiceAccountsComeBeforeWhatNamesThem(t *testing.T) {
	b := newBench(t)
	account := b.object("{apiVersion: v1, kind: ServiceAccount, metadata: {name: user, namespace: %[1]s}}")
	objects := []resources.Desired{manage(account)}
	for _, name := range []string{"a", "b", "c", "d"} {
		objects = append(objects, manage(b.configMap(name, "k", "v")))
	}

	applied := b.apply("", nil, objects...)

	require.Len(t, applied.Managed, len(objects))
	assert.Equal(t, "ServiceAccount", applied.Managed[0].Resource.Kind)
	for _, subject := range applied.Subjects {
		order, err := resourceversion.CompareResourceVersion(applied.Subjects[0].Live.GetResourceVersion(), subject.Live.GetResourceVersion())
		require.NoError(t, err)
		assert.LessOrEqual(t, order, 0, subject.Resource)
	}
}

func TestLaterOfEqualObjectsCounts(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, manage(b.configMap("one", "a", "first")), manage(b.configMap("one", "a", "second")))
	assert.Len(t, applied.Managed, 1)
	assert.Equal(t, "second", data(b.live(b.configMap("one", "a", "x")))["a"])
}
