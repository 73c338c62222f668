// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"io"
	"net/http"
	"strings"
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

func startReplica(ctx context.Context, t *testing.T, p *platform.Platform, name string) *replica {
	t.Helper()
	r := &replica{health: landscape.FreeAddress(), metrics: landscape.FreeAddress()}
	var err error
	r.Process, err = landscape.Start(ctx, p.Cluster, name, landscape.AllRights, "controller", "--enable-leader-election",
		"--leader-election-lease-duration=6s", "--leader-election-renew-deadline=5s", "--leader-election-retry-period=500ms",
		"--health-addr="+r.health, "--metrics-addr="+r.metrics)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Kill9() })
	return r
}

// emptyInstallation deploys nothing, so it needs no deployer.
func emptyInstallation(name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ls-system", Annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"},
		},
		Spec: v1alpha1.InstallationSpec{Blueprint: v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{
			Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml": "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"}`)),
		}}},
	}
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
	_, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err, "outside the deadline: others may be building")
	ctx, cancel := context.WithTimeout(t.Context(), landscape.Patience)
	defer cancel()
	p := platform.New(t, platform.Options{LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}})
	require.NoError(t, p.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-system"}}))
	replicas := []*replica{startReplica(ctx, t, p, "first"), startReplica(ctx, t, p, "second")}

	require.NoError(t, p.Apply(ctx, emptyInstallation("before")))
	awaitSucceeded(ctx, t, p, "before")
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
	require.NoError(t, p.Client().List(ctx, leases, client.InNamespace("ls-system")))
	require.Len(t, leases.Items, 1)

	require.NoError(t, leader.Kill9())
	require.NoError(t, p.Apply(ctx, emptyInstallation("after")))
	start := time.Now()
	awaitSucceeded(ctx, t, p, "after")
	require.Less(t, time.Since(start), 30*time.Second)
}

func containsReconciles(metrics string) bool {
	return strings.Contains(metrics, `gotk_reconcile_duration_seconds_count{kind="Installation"`)
}

func awaitSucceeded(ctx context.Context, t *testing.T, p *platform.Platform, name string) {
	t.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ls-system"}}
	require.NoError(t, p.Await(ctx, inst, func() bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded }))
}
