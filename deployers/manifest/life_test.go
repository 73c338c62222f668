// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Audit: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

const header = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nkind: ProviderConfiguration\n"

// life is one DeployItem with the deployer that serves it. What the contract package does with the item is done here by hand, so
// that a test decides where the process dies.
type life struct {
	t         testing.TB
	namespace string
	deployer  *Deployer
	item      *contract.Item
}

func newLife(t testing.TB) *life {
	t.Helper()
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	item := &v1alpha1.DeployItem{}
	item.Name, item.Namespace, item.UID = namespace, "landscapes", "uid-of-item"
	item.Status.JobID = "job-0"
	return &life{t: t, namespace: namespace, deployer: New(), item: &contract.Item{
		DeployItem: item, Target: open(t, p.RestConfig), Memory: map[string]any{},
		Checkpoint: func(string) error { return nil },
		Record: func(_ context.Context, status *runtime.RawExtension) error {
			item.Status.ProviderStatus = status
			return nil
		},
	}}
}

func open(t testing.TB, config *rest.Config) *target.Cluster {
	t.Helper()
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

// configure gives the item a configuration, NS stands for the namespace, and starts a new job.
func (l *life) configure(text string) {
	l.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "NS", l.namespace)))
	require.NoError(l.t, err)
	l.item.DeployItem.Spec.Configuration = &runtime.RawExtension{Raw: raw}
	l.item.DeployItem.Generation++
	l.item.DeployItem.Status.JobID += "+"
	l.item.Memory = map[string]any{}
	l.plan()
}

// plan records what the deployer sets out to do, as the contract does when it picks a job up.
func (l *life) plan() {
	if planned := l.deployer.Plan(l.item.DeployItem, l.leadsTo()); planned != nil {
		l.item.DeployItem.Status.ProviderStatus = planned
	}
}

// leadsTo returns where the Target of the item leads.
func (l *life) leadsTo() (to managedresource.ClusterReference) {
	l.t.Helper()
	if l.item.Target == nil {
		return to
	}
	identity, err := l.item.Target.Identity(l.t.Context())
	require.NoError(l.t, err)
	return managedresource.ClusterReference{Target: l.item.Target.Name, UID: identity.UID, Address: identity.Address}
}

// die loses what is only in memory.
func (l *life) die() {
	l.deployer = New()
	l.item.Memory = map[string]any{}
}

// ensure calls the deployer and stores the status, as a living process does.
func (l *life) ensure() (contract.Outcome, error) {
	l.t.Helper()
	outcome, err := l.deployer.Ensure(l.t.Context(), l.item)
	l.store(outcome)
	return outcome, err
}

func (l *life) store(outcome contract.Outcome) {
	if outcome.ProviderStatus != nil {
		l.item.DeployItem.Status.ProviderStatus = outcome.ProviderStatus
	}
}

func (l *life) succeed() contract.Outcome {
	l.t.Helper()
	outcome, err := l.ensure()
	require.NoError(l.t, err)
	require.True(l.t, outcome.Done, outcome.Waiting)
	return outcome
}

// remove asks for the deletion of the item.
func (l *life) remove() (contract.Outcome, error) {
	l.t.Helper()
	l.item.DeployItem.Generation++
	l.item.Memory = map[string]any{}
	outcome, err := l.deployer.Delete(l.t.Context(), l.item)
	l.store(outcome)
	return outcome, err
}

func (l *life) vanish() {
	l.t.Helper()
	outcome, err := l.remove()
	require.NoError(l.t, err)
	require.True(l.t, outcome.Done, outcome.Waiting)
}

// recorded returns the managed resources of the status.
func (l *life) recorded() []string {
	l.t.Helper()
	status, err := api.DecodeStatus(l.item.DeployItem.Status.ProviderStatus.Raw)
	require.NoError(l.t, err)
	var names []string
	for _, m := range status.ManagedResources {
		names = append(names, m.Resource.Name)
	}
	return names
}

func (l *life) configMap(name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName(name)
	object.SetNamespace(l.namespace)
	return object
}

func (l *life) exists(name string) bool {
	l.t.Helper()
	err := platform.Shared(l.t).Client().Get(l.t.Context(), crclient.ObjectKey{Namespace: l.namespace, Name: name}, l.configMap(name))
	if crclient.IgnoreNotFound(err) != nil {
		require.NoError(l.t, err)
	}
	return err == nil
}

func (l *life) live(name string) *unstructured.Unstructured {
	l.t.Helper()
	object := l.configMap(name)
	require.NoError(l.t, platform.Shared(l.t).Client().Get(l.t.Context(), crclient.ObjectKeyFromObject(object), object))
	return object
}

func (l *life) patch(object *unstructured.Unstructured, patch string) {
	l.t.Helper()
	require.NoError(l.t, platform.Shared(l.t).Client().Patch(l.t.Context(), object, crclient.RawPatch("application/merge-patch+json", []byte(patch))))
}

// manifests returns a configuration of ConfigMaps that hold a value.
func manifests(value string, names ...string) string {
	if len(names) == 0 {
		return header + "manifests: []\n"
	}
	text := header + "manifests:\n"
	for _, name := range names {
		text += fmt.Sprintf("- {policy: manage, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: NS}, data: {v: '%s'}}}\n", name, value)
	}
	return text
}

// awaitServiceAccount waits for the service account that every Pod needs.
func (l *life) awaitServiceAccount() {
	l.t.Helper()
	account := l.configMap("default")
	account.SetKind("ServiceAccount")
	require.NoError(l.t, platform.Shared(l.t).Await(l.t.Context(), account, func() bool { return account.GetUID() != "" }))
}
