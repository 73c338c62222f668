// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{LandscaperCRDs: true})) }

// counted is a client of the shared cluster that notes each request.
type counted struct {
	client.Client
	config *rest.Config

	mu       sync.Mutex
	requests []string
}

func (c *counted) RoundTrip(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	c.mu.Lock()
	c.requests = append(c.requests, request.Method+" "+request.URL.Path)
	c.mu.Unlock()
	return next.RoundTrip(request)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func countedAs(t *testing.T, config *rest.Config) *counted {
	t.Helper()
	c := &counted{config: rest.CopyConfig(config)}
	c.config.QPS = -1
	c.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) { return c.RoundTrip(request, next) })
	})
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, rbacv1.AddToScheme(scheme))
	require.NoError(t, AddToScheme(scheme))
	var err error
	c.Client, err = client.New(c.config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

func plainInstallation(namespace, name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.InstallationSpec{
		Blueprint: v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"x"}`))}},
	}}
}

// TestManyInstallationsNeedFewRequests: each kind is listed once, however many objects there are. What is not served is left out.
func TestManyInstallationsNeedFewRequests(t *testing.T) {
	cluster := platform.Shared(t).Cluster
	c, namespace := countedAs(t, cluster.RestConfig), cluster.Namespace(t)
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(20)
	for i := range 500 {
		group.Go(func() error { return c.Create(ctx, plainInstallation(namespace, fmt.Sprintf("i%03d", i))) })
	}
	require.NoError(t, group.Wait())
	_, err := Read(t.Context(), c, namespace) // a fresh API server asks for patience once
	require.NoError(t, err)
	reader := countedAs(t, cluster.RestConfig)
	began := time.Now()

	s, err := Read(t.Context(), reader, namespace)

	require.NoError(t, err)
	t.Logf("read in %s, shown in %s", time.Since(began), func() time.Duration {
		began := time.Now()
		ListTable(s.Select("Installation", ListOptions{Now: began}), ListOptions{Now: began}).Lines(80, false)
		TreeTable(s.Tree(TreeOptions{Now: began}), true).Lines(80, false)
		return time.Since(began)
	}())
	assert.Len(t, s.Installations.Items, 500)
	assert.Empty(t, s.Withheld)
	var lists int
	for _, request := range reader.requests {
		assert.True(t, strings.HasPrefix(request, "GET "), request)
		if strings.Contains(request, "/namespaces/") || strings.HasSuffix(request, "/environments") || strings.HasSuffix(request, "/deployerregistrations") || strings.HasSuffix(request, "/leases") {
			lists++
		}
	}
	assert.Equal(t, 10, lists, "%v", reader.requests)
	assert.LessOrEqual(t, len(reader.requests), 2*len(Kinds), "%v", reader.requests)
}

// TestWhoeverMayOnlyViewSeesInstallations has the rights that the project adds to the role view.
func TestWhoeverMayOnlyViewSeesInstallations(t *testing.T) {
	cluster := platform.Shared(t).Cluster
	c, namespace := countedAs(t, cluster.RestConfig), cluster.Namespace(t)
	require.NoError(t, c.Create(t.Context(), plainInstallation(namespace, "shop")))
	people, err := os.ReadFile("../config/rbac/people.yaml")
	require.NoError(t, err)
	require.NoError(t, cluster.ApplyYAML(t.Context(), string(people)))
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "landscaper:aggregate-to-view"}
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: namespace}}
	require.NoError(t, c.Create(t.Context(), binding))
	config, err := cluster.NewUser(namespace)
	require.NoError(t, err)
	viewer := countedAs(t, config)
	var s *Snapshot
	require.Eventually(t, func() bool { // the API server learns of bindings by and by
		s, err = Read(t.Context(), viewer, namespace)
		return err == nil && len(s.Installations.Items) == 1
	}, time.Minute, 100*time.Millisecond)

	assert.Contains(t, s.Withheld, "DeployItem")
	assert.Contains(t, s.Withheld, "Target")
	assert.NotContains(t, s.Withheld, "TargetSync")
	assert.Len(t, s.Tree(TreeOptions{Now: clock}), 1)
	assert.Contains(t, s.Why(s.Find("Installation", namespace, "shop"), clock).Chain[0].Notes,
		"You may not list Executions and DeployItems, so what is below it is not seen. The role edit may.")
}

func TestWatchShowsEachChange(t *testing.T) {
	cluster := platform.Shared(t).Cluster
	c, namespace := countedAs(t, cluster.RestConfig), cluster.Namespace(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	environment := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: namespace}} // is in no namespace
	environment.Spec.Namespace, environment.Spec.HostTarget.Type = "ls-system", "landscaper.gardener.cloud/kubernetes-cluster"
	environment.Spec.LandscaperClusterRestConfig.Host = "https://landscaper.example.com"
	require.NoError(t, c.Create(ctx, environment))
	snapshots, err := Watch(ctx, c.config, c, namespace)
	require.NoError(t, err)
	require.Empty(t, (<-snapshots).Installations.Items)

	require.NoError(t, c.Create(ctx, plainInstallation(namespace, "shop")))

	for snapshot := range snapshots {
		if len(snapshot.Installations.Items) == 1 {
			assert.NotNil(t, snapshot.Find("Environment", "", namespace))
			break
		}
	}
	require.NoError(t, ctx.Err())
	stop()
	for range snapshots { // until it is closed
	}
}
