// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// replica is one of several controllers that elect a leader.
type replica struct {
	*programs.Process
	health, metrics string
}

func startReplica(ctx context.Context, t *testing.T, c *platform.Cluster, name string) *replica {
	t.Helper()
	r := &replica{health: landscape.FreeAddress(), metrics: landscape.FreeAddress()}
	var err error
	r.Process, err = landscape.Start(ctx, c, name, landscape.AllRights, "controller", "--enable-leader-election",
		"--leader-election-lease-duration=6s", "--leader-election-renew-deadline=5s", "--leader-election-retry-period=500ms",
		"--health-addr="+r.health, "--metrics-addr="+r.metrics)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Kill9() })
	return r
}

// emptyCluster is a second cluster in which nothing of ours runs but what the test starts that holds it. It is started once.
type emptyCluster struct {
	*platform.Cluster
	// ctx ends with the patience of the test.
	ctx context.Context
	// namespace is that of the test.
	namespace string
}

var empty struct {
	sync.Mutex
	cluster *platform.Cluster
}

// newEmptyCluster waits until no other test holds the cluster.
func newEmptyCluster(t *testing.T) *emptyCluster {
	t.Helper()
	_, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err, "outside the deadline: others may be building")
	shared := platform.Shared(t)
	empty.Lock()
	t.Cleanup(empty.Unlock)
	if empty.cluster == nil {
		cluster, err := shared.SecondCluster(context.Background(), "empty", platform.Options{
			LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
		})
		require.NoError(t, err)
		empty.cluster = cluster
	}
	ctx, cancel := context.WithTimeout(t.Context(), landscape.Patience)
	t.Cleanup(cancel)
	require.NoError(t, empty.cluster.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-system"}}))
	require.NoError(t, empty.cluster.Client().DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace("ls-system")), "of former tests")
	return &emptyCluster{Cluster: empty.cluster, ctx: ctx, namespace: empty.cluster.Namespace(t)}
}

// install makes an Installation that deploys nothing, so it needs no deployer.
func (c *emptyCluster) install(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, c.Apply(c.ctx, &v1alpha1.Installation{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: c.namespace, Annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"},
		},
		Spec: v1alpha1.InstallationSpec{Blueprint: v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{
			Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml": "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"}`)),
		}}},
	}))
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url) // a loopback address that the test chose
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestLeaderElectionAndEndpoints(t *testing.T) {
	t.Parallel()
	c := newEmptyCluster(t)
	replicas := []*replica{startReplica(c.ctx, t, c.Cluster, "first"), startReplica(c.ctx, t, c.Cluster, "second")}

	c.install(t, "before")
	c.awaitSucceeded(t, "before")
	leader, other := replicas[0], replicas[1]
	require.Eventually(t, func() bool {
		if _, text := get(t, "http://"+leader.metrics+"/metrics"); containsReconciles(text) {
			return true
		}
		leader, other = other, leader
		return false
	}, landscape.Patience, tick, "the leader records the duration of reconciliations")
	_, standby := get(t, "http://"+other.metrics+"/metrics")
	require.False(t, containsReconciles(standby), "the other replica does not reconcile")
	for _, path := range []string{"/healthz", "/readyz"} {
		code, text := get(t, "http://"+leader.health+path)
		require.Equal(t, http.StatusOK, code, text)
	}
	leases := &coordinationv1.LeaseList{}
	require.NoError(t, c.Client().List(c.ctx, leases, client.InNamespace("ls-system")))
	require.Len(t, leases.Items, 1)

	require.NoError(t, leader.Kill9())
	c.install(t, "after")
	start := time.Now()
	c.awaitSucceeded(t, "after")
	require.Less(t, time.Since(start), 30*time.Second)
}

func containsReconciles(metrics string) bool {
	return strings.Contains(metrics, `gotk_reconcile_duration_seconds_count{kind="Installation"`)
}

func (c *emptyCluster) awaitSucceeded(t *testing.T, name string) {
	t.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace}}
	require.NoError(t, c.Await(c.ctx, inst, func() bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded }))
}
