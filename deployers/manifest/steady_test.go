// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// obstacles keep Secrets out of the namespace of a test; TARGET stands for that namespace. Objects is what has to be created.
var obstacles = map[string]string{
	"quota": `{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: TARGET}, spec: {hard: {count/secrets: "0"}}}`,
	"admission policy": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: TARGET}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TARGET}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}]
  validations: [{expression: "false", message: no secrets here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: TARGET}
spec: {policyName: TARGET, validationActions: [Deny]}`,
	"dead webhook": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: TARGET}
webhooks:
- name: dead.example.com
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: 1
  admissionReviewVersions: [v1]
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: TARGET}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets]}]`,
	"missing rights": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: TARGET, namespace: TARGET}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: TARGET, namespace: TARGET}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: TARGET}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: TARGET}]`,
}

// objectsOf reads YAML documents with TARGET replaced.
func (s *served) objectsOf(text, target string) []*unstructured.Unstructured {
	s.t.Helper()
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split(text, "---\n") {
		object := &unstructured.Unstructured{}
		require.NoError(s.t, yaml.Unmarshal([]byte(strings.ReplaceAll(document, "TARGET", target)), &object.Object))
		objects = append(objects, object)
	}
	return objects
}

// raise creates an obstacle until the test ends.
func (s *served) raise(text, target string) {
	s.t.Helper()
	for _, object := range s.objectsOf(text, target) {
		require.NoError(s.t, s.p.Client().Create(s.t.Context(), object))
		s.t.Cleanup(func() { _ = s.p.Client().Delete(context.Background(), object) })
	}
}

// awaitObstacle waits until the obstacle keeps Secrets out.
func (s *served) awaitObstacle(target string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		probe := s.objectsOf("{apiVersion: v1, kind: Secret, metadata: {generateName: probe-, namespace: TARGET}}", target)[0]
		return s.p.Client().Create(s.t.Context(), probe, client.DryRunAll) != nil
	}, pace.Within(10*time.Second), 100*time.Millisecond)
}

// both are a ConfigMap and a Secret.
const both = header + `manifests:
- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: TARGET}, data: {v: VALUE}}}
- {manifest: {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: TARGET}, stringData: {v: VALUE}}}
`

// calm is how long nothing may be written to objects that stand still.
const calm = 3 * time.Second

// standsStill watches an item and the objects of a namespace for a while.
func (s *served) standsStill(item *v1alpha1.DeployItem, target string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), calm)
	defer cancel()
	maps := &unstructured.UnstructuredList{}
	maps.SetAPIVersion("v1")
	maps.SetKind("ConfigMapList")
	events := make(chan string, 100)
	for list, namespace := range map[client.ObjectList]string{&v1alpha1.DeployItemList{}: item.Namespace, maps: target} {
		require.NoError(s.t, s.p.Client().List(ctx, list, client.InNamespace(namespace)))
		from := &client.ListOptions{Namespace: namespace, Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		watcher, err := s.p.Client().Watch(ctx, list, from)
		require.NoError(s.t, err)
		defer watcher.Stop()
		go forward(ctx, watcher, events)
	}
	<-ctx.Done()
	assert.Empty(s.t, drain(events))
}

// forward reports changes.
func forward(ctx context.Context, watcher watch.Interface, events chan<- string) {
	for {
		select {
		case <-ctx.Done():
			return
		case event, isOpen := <-watcher.ResultChan():
			if !isOpen {
				return
			}
			if object, ok := event.Object.(client.Object); ok && event.Type != watch.Bookmark {
				events <- string(event.Type) + " " + object.GetName()
			}
		}
	}
}

func drain(events chan string) (all []string) {
	for {
		select {
		case event := <-events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func (s *served) edit(item *v1alpha1.DeployItem, config string) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Spec.Configuration = s.config(config)
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), item, client.MergeFrom(base)))
	s.begin(item)
}

// fail waits for the end of a job that fails.
func (s *served) fail(item *v1alpha1.DeployItem) {
	s.t.Helper()
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
	require.Equal(s.t, v1alpha1.PhaseFailed, item.Status.Phase)
}

func (s *served) vanish(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.p.Client().Delete(s.t.Context(), item))
	s.begin(item)
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(s.t, s.p.AwaitGone(ctx, item))
}

func (s *served) has(kind, namespace, name string) bool {
	s.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind(kind)
	err := s.p.Client().Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object)
	require.NoError(s.t, client.IgnoreNotFound(err))
	return err == nil
}

// lead makes the Target of the items lead where a connection leads, and returns the function that undoes it.
func (s *served) lead(config *rest.Config) func() {
	s.t.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.t, err)
	content, err := json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	require.NoError(s.t, err)
	object := &v1alpha1.Target{}
	require.NoError(s.t, s.p.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "cluster"}, object))
	before := *object.Spec.Configuration
	set := func(content v1alpha1.AnyJSON) {
		base := object.DeepCopy()
		object.Spec.Configuration = &content
		require.NoError(s.t, s.p.Client().Patch(s.t.Context(), object, client.MergeFrom(base)))
	}
	set(v1alpha1.NewAnyJSON(content))
	return func() { set(before) }
}

// closeAPI makes the Target lead to an address where nobody listens.
func (s *served) closeAPI() func() {
	s.t.Helper()
	closed := rest.CopyConfig(s.p.RestConfig)
	closed.Host = "https://127.0.0.1:1"
	return s.lead(closed)
}

// useUser makes the Target use the credentials of a user without groups.
func (s *served) useUser(name string) {
	s.t.Helper()
	user, err := s.p.NewUser(name)
	require.NoError(s.t, err)
	s.lead(user)
}

// failBefore returns an item whose job has failed before an obstacle on the target, and its namespace there.
func failBefore(t *testing.T, obstacle string) (s *served, target string, item *v1alpha1.DeployItem) {
	t.Helper()
	s = serve(t)
	target = s.p.Namespace(t)
	s.raise(obstacles[obstacle], target)
	if obstacle == "missing rights" {
		s.useUser(target)
	} else {
		s.awaitObstacle(target)
	}
	item = s.createFor(strings.NewReplacer("TARGET", target, "VALUE", "'1'").Replace(both), 2*time.Second)
	s.fail(item)
	return s, target, item
}

func TestSteadyWhenTheTargetRefusesOneKind(t *testing.T) {
	for name := range obstacles {
		t.Run(name, func(t *testing.T) {
			s, target, item := failBefore(t, name)
			s.standsStill(item, target)
			assert.True(t, s.has("ConfigMap", target, "a"))

			s.edit(item, strings.ReplaceAll(manifests("2", "b"), "NS", target))
			s.finish(item)
			assert.False(t, s.has("ConfigMap", target, "a"))
			assert.True(t, s.has("ConfigMap", target, "b"))
			s.standsStill(item, target)

			s.vanish(item)
			assert.False(t, s.has("ConfigMap", target, "b") || s.has("Secret", target, "s"))
		})
	}
}

func TestSteadyDeletionAfterAFailure(t *testing.T) {
	for name := range obstacles {
		t.Run(name, func(t *testing.T) {
			s, target, item := failBefore(t, name)

			s.vanish(item)

			assert.False(t, s.has("ConfigMap", target, "a") || s.has("Secret", target, "s"))
		})
	}
}

func TestD13ItemThatNeverReachedItsTargetIsDeletedWithoutIt(t *testing.T) {
	for name, end := range map[string]func(s *served, item *v1alpha1.DeployItem){
		"after the job failed": func(s *served, item *v1alpha1.DeployItem) { s.fail(item) },
		"while the job runs": func(s *served, item *v1alpha1.DeployItem) {
			s.await(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			s.closeAPI()
			timeout := 4 * time.Second
			if name == "while the job runs" {
				timeout = time.Hour
			}
			item := s.createFor(manifests("1", "a"), timeout)
			end(s, item)
			s.vanish(item)
		})
	}
}

func TestSteadyWhenTheTargetIsClosedAfterASuccess(t *testing.T) {
	s := serve(t)
	item := s.createFor(manifests("1", "a"), 2*time.Second)
	s.finish(item)
	open := s.closeAPI()
	s.edit(item, manifests("2", "a", "b"))
	s.fail(item)
	s.standsStill(item, s.namespace)
	s.edit(item, manifests("3", "c"))
	s.fail(item)
	open()
	s.begin(item)
	s.finish(item)
	assert.False(t, s.has("ConfigMap", s.namespace, "a") || s.has("ConfigMap", s.namespace, "b"))
	s.vanish(item)
	assert.False(t, s.has("ConfigMap", s.namespace, "c"))
}
