// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{ControllerManager: true}))
}

// bench is a session on a real API server that counts its requests.
type bench struct {
	*resources.Session
	Memory    *resources.Memory
	Health    resources.Health
	t         *testing.T
	namespace string
	mu        sync.Mutex
	requests  []string
	// before is called with each request before it is sent, if set.
	before func(*http.Request)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	p := platform.Shared(t)
	b := &bench{t: t, namespace: p.Namespace(t)}
	b.Memory = resources.NewMemory(0)
	b.Session = &resources.Session{
		Cluster: b.open(p.RestConfig), Owner: resources.Owner{Item: "item-" + b.namespace, UID: "uid-" + "of-item"},
		Checkpoint: func(string) error { return nil },
	}
	b.forget()
	return b
}

func (b *bench) open(config *rest.Config) *target.Cluster {
	b.t.Helper()
	return b.openFor(b.t, config)
}

func (b *bench) openFor(t testing.TB, config *rest.Config) *target.Cluster {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Wrap(func(base http.RoundTripper) http.RoundTripper { return &counter{bench: b, base: base} })
	pool, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	mapper, err := apiutil.NewDynamicRESTMapper(config, pool)
	require.NoError(t, err)
	client, err := crclient.New(config, crclient.Options{HTTPClient: pool, Mapper: mapper})
	require.NoError(t, err)
	dyn, err := dynamic.NewForConfigAndClient(config, pool)
	require.NoError(t, err)
	return &target.Cluster{Name: "test", Config: config, Client: client, Dynamic: dyn, Mapper: mapper}
}

type counter struct {
	bench *bench
	base  http.RoundTripper
}

// RoundTrip notes the request and sends it.
func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	c.bench.mu.Lock()
	c.bench.requests = append(c.bench.requests, request.Method)
	before := c.bench.before
	c.bench.mu.Unlock()
	if before != nil {
		before(request)
	}
	return c.base.RoundTrip(request)
}

// sent returns the methods of the requests since the last call.
func (b *bench) sent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := b.requests
	b.requests = nil
	return sent
}

// forget lets the mapper learn the kinds that the tests use and forgets the requests for that.
func (b *bench) forget() {
	for _, ref := range []managedresource.ResourceReference{
		{APIVersion: "v1", Kind: "ConfigMap"}, {APIVersion: "apps/v1", Kind: "Deployment"}, {APIVersion: "batch/v1", Kind: "Job"},
	} {
		_, err := resources.Lookup(b.t.Context(), b.Cluster, resources.GVKOf(ref))
		require.NoError(b.t, err)
	}
	b.sent()
}

// object reads YAML; %[1]s stands for the namespace.
func (b *bench) object(text string) *unstructured.Unstructured {
	b.t.Helper()
	return parse(b.t, fmt.Sprintf(text+"%.0[1]s", b.namespace))
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(raw))
	return object
}

func (b *bench) configMap(name, key, value string) *unstructured.Unstructured {
	return b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: %[1]s}, data: {" + key + ": '" + value + "'}}")
}

func (b *bench) apply(strategy managedresource.UpdateStrategy, known []managedresource.ManagedResourceStatus, desired ...resources.Desired) resources.Applied {
	b.t.Helper()
	applied, err := b.Apply(b.t.Context(), desired, resources.ApplyOptions{Strategy: strategy, Known: known})
	require.NoError(b.t, err)
	require.True(b.t, applied.Progress.Done(), applied.Progress.Waiting())
	return applied
}

// put creates an object behind the back of the session.
func (b *bench) put(object *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	created := object.DeepCopy()
	require.NoError(b.t, platform.Shared(b.t).Client().Create(b.t.Context(), created))
	return created
}

// live reads an object behind the back of the session.
func (b *bench) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	b.t.Helper()
	found := object.DeepCopy()
	require.NoError(b.t, platform.Shared(b.t).Client().Get(b.t.Context(), crclient.ObjectKeyFromObject(object), found))
	return found
}

// change merges a patch behind the back of the session.
func (b *bench) change(object *unstructured.Unstructured, patch string, subresources ...string) *unstructured.Unstructured {
	b.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(patch))
	require.NoError(b.t, err)
	changed := object.DeepCopy()
	merge := crclient.RawPatch("application/merge-patch+json", raw)
	client := platform.Shared(b.t).Client()
	if len(subresources) > 0 {
		require.NoError(b.t, client.SubResource(subresources[0]).Patch(context.Background(), changed, merge))
		return changed
	}
	require.NoError(b.t, client.Patch(context.Background(), changed, merge))
	return changed
}

func (b *bench) exists(object *unstructured.Unstructured) bool {
	b.t.Helper()
	err := platform.Shared(b.t).Client().Get(b.t.Context(), crclient.ObjectKeyFromObject(object), object.DeepCopy())
	if resources.IsGone(err) {
		return false
	}
	require.NoError(b.t, err)
	return true
}

func (b *bench) awaitGone(object *unstructured.Unstructured) {
	b.t.Helper()
	require.NoError(b.t, platform.Shared(b.t).AwaitGone(b.t.Context(), object.DeepCopy()))
}

func manage(object *unstructured.Unstructured) resources.Desired {
	return resources.Desired{Policy: managedresource.ManagePolicy, Object: object}
}

func withPolicy(policy managedresource.ManifestPolicy, object *unstructured.Unstructured) resources.Desired {
	return resources.Desired{Policy: policy, Object: object}
}

func managed(policy managedresource.ManifestPolicy, object *unstructured.Unstructured) managedresource.ManagedResourceStatus {
	return managedresource.ManagedResourceStatus{Policy: policy, Resource: resources.ReferenceTo(object)}
}

func data(object *unstructured.Unstructured) map[string]string {
	values, _, _ := unstructured.NestedStringMap(object.Object, "data")
	return values
}

// version reads YAML with VERSION replaced.
func (b *bench) version(text, version string) *unstructured.Unstructured {
	return b.object(strings.ReplaceAll(text, "VERSION", version))
}

func background() context.Context { return context.Background() }

// waitFor watches an object until it is as wanted.
func waitFor(t *testing.T, object *unstructured.Unstructured, done func(*unstructured.Unstructured) bool) {
	t.Helper()
	live := object.DeepCopy()
	require.NoError(t, platform.Shared(t).Await(t.Context(), live, func() bool { return done(live) }))
}

// Apply is apply.Objects with the memory of the bench.
func (b *bench) Apply(ctx context.Context, desired []resources.Desired, options resources.ApplyOptions) (resources.Applied, error) {
	options.Memory = b.Memory
	return resources.Apply(ctx, b.Session, desired, options)
}

func (b *bench) Delete(ctx context.Context, managed []managedresource.ManagedResourceStatus,
	groups []managedresource.DeletionGroupDefinition) (resources.Progress, error) {
	return resources.Delete(ctx, b.Session, managed, groups)
}

func (b *bench) DefaultReadiness(ctx context.Context, subjects []resources.Subject) ([]resources.Subject, resources.Progress, error) {
	return (&resources.ReadinessChecks{Session: b.Session, Health: b.Health}).Default(ctx, subjects)
}
