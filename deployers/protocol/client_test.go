// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// wire records the last request for each method and path: the form of answer that it asks for, and its body.
type wire struct {
	http.RoundTripper

	mu     sync.Mutex
	asked  map[string]string
	bodies map[string]string
}

// RoundTrip sends a request on.
func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := ""
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		sent = string(raw)
	}
	w.mu.Lock()
	w.asked[request.Method+" "+request.URL.Path] = request.Header.Get("Accept")
	w.bodies[request.Method+" "+request.URL.Path] = sent
	w.mu.Unlock()
	return w.RoundTripper.RoundTrip(request)
}

// pair returns a client of this package, one that gets whole answers, and what the first asks for.
func pair(t *testing.T) (c, whole client.Client, asked *wire, namespace string) {
	t.Helper()
	p := platform.Shared(t)
	asked = &wire{asked: map[string]string{}, bodies: map[string]string{}}
	config := rest.CopyConfig(p.RestConfig)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		asked.RoundTripper = next
		return asked
	})
	c, err := NewClient(config, client.Options{Scheme: p.Client().Scheme()})
	require.NoError(t, err)
	return c, p.Client(), asked, p.Namespace(t)
}

// objects returns an object of each kind that is written with a short answer.
func objects(namespace string) map[string]client.Object {
	at := metav1.ObjectMeta{Namespace: namespace, Name: "one", Labels: map[string]string{"a": "b"}}
	return map[string]client.Object{
		"installations": &v1alpha1.Installation{ObjectMeta: at, Spec: v1alpha1.InstallationSpec{Blueprint: v1alpha1.BlueprintDefinition{
			Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.AnyJSON{RawMessage: json.RawMessage(`{"blueprint.yaml":"{}"}`)}},
		}}},
		"executions":  &v1alpha1.Execution{ObjectMeta: at},
		"deployitems": &v1alpha1.DeployItem{ObjectMeta: at, Spec: v1alpha1.DeployItemSpec{Type: "example.com/none"}},
		"dataobjects": &v1alpha1.DataObject{ObjectMeta: at, Data: v1alpha1.AnyJSON{RawMessage: json.RawMessage(`{"a":1}`)}},
		"targets":     &v1alpha1.Target{ObjectMeta: at, Spec: v1alpha1.TargetSpec{Type: "example.com/none"}},
	}
}

func TestWritesAreAnsweredWithMetadata(t *testing.T) {
	c, whole, asked, namespace := pair(t)
	for resource, object := range objects(namespace) {
		t.Run(resource, func(t *testing.T) {
			require.NoError(t, c.Create(t.Context(), object))
			assert.NotEmpty(t, object.GetUID())
			created := object.GetResourceVersion()

			object.SetAnnotations(map[string]string{"changed": "true"})
			require.NoError(t, c.Update(t.Context(), object))
			assert.NotEqual(t, created, object.GetResourceVersion())
			assert.Empty(t, object.GetManagedFields())

			path := "/apis/landscaper.gardener.cloud/v1alpha1/namespaces/" + namespace + "/" + resource
			assert.Contains(t, asked.asked["POST "+path], "as=PartialObjectMetadata")
			assert.Contains(t, asked.asked["PUT "+path+"/one"], "as=PartialObjectMetadata")

			stored := object.DeepCopyObject().(client.Object)
			require.NoError(t, whole.Get(t.Context(), client.ObjectKeyFromObject(object), stored))
			stored.SetManagedFields(nil)
			stored.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
			assert.EqualExportedValues(t, stored, object)
		})
	}
}

// TestAStatusIsWrittenAsByOthers compares with a client that sends and gets whole objects.
func TestAStatusIsWrittenAsByOthers(t *testing.T) {
	c, whole, asked, namespace := pair(t)
	var written []*v1alpha1.Execution
	for name, writer := range map[string]client.Client{"by-this": c, "by-another": whole} {
		execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"a": "b"}, Finalizers: []string{v1alpha1.Finalizer},
		}, Spec: v1alpha1.ExecutionSpec{DeployItems: []v1alpha1.DeployItemTemplate{{
			Name: "item", Type: "example.com/none", Configuration: &runtime.RawExtension{Raw: []byte(`{"a":"b"}`)},
		}}}}
		require.NoError(t, whole.Create(t.Context(), execution))
		for _, job := range []string{"first", "second"} {
			execution.Status.JobID, execution.Status.Phase = job, v1alpha1.PhaseProgressing
			execution.ManagedFields = nil
			require.NoError(t, writer.Status().Update(t.Context(), execution, client.FieldOwner("same")))
		}
		assert.Equal(t, "second", execution.Status.JobID)
		stored := &v1alpha1.Execution{}
		require.NoError(t, whole.Get(t.Context(), client.ObjectKeyFromObject(execution), stored))
		assert.Equal(t, execution.ResourceVersion, stored.ResourceVersion)
		stored.ObjectMeta = metav1.ObjectMeta{
			Labels: stored.Labels, Finalizers: stored.Finalizers, Generation: stored.Generation, ManagedFields: stored.ManagedFields,
		}
		for i := range stored.ManagedFields {
			stored.ManagedFields[i].Time = nil
		}
		written = append(written, stored)
	}
	assert.Equal(t, written[0], written[1])
	request := "PUT /apis/landscaper.gardener.cloud/v1alpha1/namespaces/" + namespace + "/executions/by-this/status"
	assert.Contains(t, asked.asked[request], "as=PartialObjectMetadata")
	assert.Contains(t, asked.bodies[request], `"spec":{`, "mutating admission of others sees the object")
}

func TestPatchesOfMetadataAreAnsweredWithIt(t *testing.T) {
	tests := map[string]struct {
		patch  func(item *v1alpha1.DeployItem) string
		typed  types.PatchType
		brief  bool
		labels map[string]string
		kind   string
	}{
		"of this version": {func(item *v1alpha1.DeployItem) string {
			return `{"metadata":{"resourceVersion":"` + item.ResourceVersion + `","labels":{"c":"d"}}}`
		}, types.MergePatchType, true, map[string]string{"a": "b", "c": "d"}, "example.com/none"},
		"of any version": {func(*v1alpha1.DeployItem) string {
			return `{"metadata":{"labels":{"c":"d"}}}`
		}, types.MergePatchType, false, map[string]string{"a": "b", "c": "d"}, "example.com/none"},
		"of the spec too": {func(item *v1alpha1.DeployItem) string {
			return `{"metadata":{"resourceVersion":"` + item.ResourceVersion + `"},"spec":{"type":"example.com/other"}}`
		}, types.MergePatchType, false, map[string]string{"a": "b"}, "example.com/other"},
		"another form": {func(*v1alpha1.DeployItem) string {
			return `[{"op":"add","path":"/metadata/labels/c","value":"d"}]`
		}, types.JSONPatchType, false, map[string]string{"a": "b", "c": "d"}, "example.com/none"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, whole, asked, namespace := pair(t)
			item := objects(namespace)["deployitems"].(*v1alpha1.DeployItem)
			require.NoError(t, c.Create(t.Context(), item))
			item.Status.Phase = v1alpha1.PhaseProgressing // ahead of what is stored
			require.NoError(t, c.Patch(t.Context(), item, client.RawPatch(test.typed, []byte(test.patch(item)))))
			path := "PATCH /apis/landscaper.gardener.cloud/v1alpha1/namespaces/" + namespace + "/deployitems/one"
			assert.Equal(t, test.brief, strings.Contains(asked.asked[path], "as=PartialObjectMetadata"))
			assert.Equal(t, test.labels, item.Labels)
			assert.EqualValues(t, test.kind, item.Spec.Type)
			stored := &v1alpha1.DeployItem{}
			require.NoError(t, whole.Get(t.Context(), client.ObjectKeyFromObject(item), stored))
			assert.Equal(t, stored.ResourceVersion, item.ResourceVersion)
		})
	}
}

func TestErrorsAreThoseOfTheAPIServer(t *testing.T) {
	c, _, _, namespace := pair(t)
	item := objects(namespace)["deployitems"].(*v1alpha1.DeployItem)
	require.NoError(t, c.Create(t.Context(), item))
	old, created := item.DeepCopy(), item.ResourceVersion
	item.Annotations = map[string]string{"changed": "true"}
	require.NoError(t, c.Update(t.Context(), item))
	replaced := item.DeepCopy()
	replaced.UID = types.UID("another")
	invalid := item.DeepCopy()
	invalid.Status.Conditions = []metav1.Condition{{Type: "?", Status: "Maybe"}}

	tests := map[string]struct {
		err  error
		is   func(error) bool
		says string
	}{
		"there already":           {c.Create(t.Context(), objects(namespace)["deployitems"]), apierrors.IsAlreadyExists, "deployitems"},
		"an old version":          {c.Update(t.Context(), old.DeepCopy()), apierrors.IsConflict, "the object has been modified"},
		"a status of old version": {c.Status().Update(t.Context(), old), apierrors.IsConflict, "the object has been modified"},
		"another of the name":     {c.Status().Update(t.Context(), replaced), apierrors.IsConflict, "Precondition failed: UID"},
		"a status that is none":   {c.Status().Update(t.Context(), invalid), apierrors.IsInvalid, "status.conditions[0].type"},
		"gone": {c.Status().Update(t.Context(), &v1alpha1.DeployItem{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "gone", ResourceVersion: "1"},
		}), apierrors.IsNotFound, "deployitems.landscaper.gardener.cloud \"gone\" not found"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.True(t, test.is(test.err), "%v", test.err)
			assert.ErrorContains(t, test.err, test.says)
		})
	}
	assert.Equal(t, created, old.ResourceVersion, "a write that failed changes nothing of the object")
}

func TestOtherWritesGoTheWayOfAll(t *testing.T) {
	c, _, asked, namespace := pair(t)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}}
	require.NoError(t, c.Create(t.Context(), config))
	config.Data = map[string]string{"a": "b"}
	require.NoError(t, c.Update(t.Context(), config))
	assert.Contains(t, asked.asked, "PUT /api/v1/namespaces/"+namespace+"/configmaps/one")
	for request, accept := range asked.asked {
		assert.NotContains(t, accept, "PartialObjectMetadata", request)
	}
}
